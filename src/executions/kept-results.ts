/**
 * The kept bytes of what runs made: until when they stay, how much they take, and how they are read again. Where their
 * share is used up, or the disk is needed, the oldest go first, and those that are in a crate before all others. The row
 * says that they are gone before they are. How they are written is in `result-keeper.ts`; the rows are those of
 * executions.
 */
import { read } from 'node:fs';
import { promisify } from 'node:util';
import type { Database } from '../database/database.ts';
import { isWorkcrateError } from '../errors.ts';
import type { Caller } from '../identity.ts';
import type { Log } from '../observability/log.ts';
import {
  joinComponents,
  openBelow,
  parseName,
  rootPath,
  type OpenFile,
  type TreeEntry,
} from '../paths/paths.ts';
import { getResultsFolder, type Sandbox, type Workspace } from '../sandbox/sandbox.ts';
import { listWorkspaces, type Workspaces } from '../workspaces/workspaces.ts';
import type { Execution } from './fields.ts';
import { createKeptQuota } from './kept-quota.ts';
import type { ResultFile } from './made-results.ts';
import { createResultKeeper, keptFolderBytes, removeKept, type ResultKeeper } from './result-keeper.ts';
import { executionIdForm } from './store.ts';

export interface KeptResultsOptions {
  readonly database: Database;
  readonly places: Pick<Workspaces, 'find'>;
  readonly sandbox: Pick<Sandbox, 'limits'> | string;
  /** The most bytes of one run. */
  readonly keepBytes: number;
  /** Whether code runs. */
  readonly isBusy: () => boolean;
  readonly log: Log;
}

/** A run with kept bytes, as its row has it. */
export interface RunWithKept {
  readonly id: string;
  readonly owner: string;
  readonly kept_bytes: number;
}

/** Reads the bytes of a result; what is read has to be compared with its hash. */
export type ReadResult = (signal: AbortSignal) => AsyncIterable<Uint8Array>;

export type KeptResults = ReturnType<typeof createKeptResults>;

const droppedAtOnce = 50;
const orphansEveryMs = 3_600_000;
const knownAtOnce = 200;

export function createKeptResults(options: KeptResultsOptions) {
  const { database, places, sandbox, keepBytes, isBusy, log } = options;
  const countKept = (owner: string): Promise<number> => sumKeptBytes(database, owner);
  const quota =
    typeof sandbox === 'string'
      ? null
      : createKeptQuota({ diskBytes: sandbox.limits.diskBytes, countKept, dropOldest, isBusy, log });
  const claims = new Map<string, Disposable>();
  let orphansAt = -Infinity;

  async function removeFiles(rows: readonly Pick<RunWithKept, 'id' | 'owner'>[]): Promise<void> {
    for (const { id, owner } of rows) {
      const place = await places.find(owner);
      if (place !== null) await removeKept(place, id);
    }
  }

  async function drop(rows: readonly RunWithKept[]): Promise<void> {
    for (const row of rows) {
      // Another server may have dropped them, or a run may be swept: whoever changes the row removes the bytes.
      const [gone] = await database.query(
        'UPDATE executions SET kept_bytes = 0 WHERE id = ? AND kept_bytes > 0 RETURNING id',
        row.id,
      );
      if (gone === undefined) continue;
      await removeFiles([row]);
      log.info('execution.kept_results_dropped', { id: row.id, user: row.owner, bytes: row.kept_bytes });
    }
  }

  /** The oldest, until so many bytes are free again. */
  async function dropOldest(owner: string | null, bytes: number): Promise<void> {
    for (let left = bytes; left > 0;) {
      const rows = await listOldest(database, owner);
      if (rows.length === 0) return;
      for (const row of rows) {
        if (left <= 0) return;
        await drop([row]);
        left -= row.kept_bytes;
      }
    }
  }

  return {
    /** Code is about to run. */
    watch: (place: Workspace): void => quota?.watch(place),

    /** Does something that needs the disk; where that is full, older results go, and it is done once more. */
    async withRoom<T>(place: Workspace, bytes: number, act: () => Promise<T>): Promise<T> {
      try {
        return await act();
      } catch (error) {
        if (!isWorkcrateError(error, 'storage_full') || quota === null) throw error;
        await quota.makeRoom(place, bytes);
        return act();
      }
    },

    /** For the results of one run, of these sizes. */
    async startKeeping(
      place: Workspace,
      { id, owner }: Pick<Execution, 'id' | 'owner'>,
      sizes: readonly number[],
    ): Promise<ResultKeeper> {
      const most = Math.max(0, Math.min(keepBytes, (quota?.shareBytes ?? 0) - keptFolderBytes));
      // What can never be kept drives out nothing.
      const wanted = Math.min(
        most,
        sizes.reduce((sum, size) => (size <= most ? sum + size : sum), 0),
      );
      if (wanted === 0) return createResultKeeper(place, id, most);
      const claim = (await quota?.claim(owner, place, wanted + keptFolderBytes)) ?? null;
      if (claim !== null) claims.set(id, claim);
      return createResultKeeper(place, id, claim === null ? null : most);
    },

    /** The row of a run has its end, and says what is kept. */
    noteEnded({ id }: Pick<Execution, 'id'>): void {
      claims.get(id)?.[Symbol.dispose]();
      claims.delete(id);
    },

    /** Removes the bytes of runs whose rows are gone, or never said that there are any. */
    removeFiles,

    ...createKeptReader({ database, places }),

    /** Makes room where it is needed, and removes bytes that a crash has left without a row. */
    async sweep(): Promise<void> {
      const [oldest] = await listOldest(database, null);
      const place = oldest === undefined ? null : await places.find(oldest.owner);
      if (place !== null) await quota?.makeRoom(place, 0);
      if (performance.now() - orphansAt < orphansEveryMs) return;
      orphansAt = performance.now();
      await removeOrphans({ database, places, log });
    },

    async [Symbol.asyncDispose](): Promise<void> {
      await quota?.[Symbol.asyncDispose]();
    },
  };
}

/** What those need who pack results: it needs no sandbox, and no server. */
export function createKeptReader({ database, places }: Pick<KeptResultsOptions, 'database' | 'places'>) {
  return {
    /** The bytes of a result of the caller's run, as they were when it ended; null where they are not kept, or gone. */
    async findResult({ user }: Caller, id: string, file: ResultFile): Promise<ReadResult | null> {
      if (file.sha256 === null) return null;
      if (file.size === 0) return readNothing;
      const place = file.kept && (await places.find(user));
      if (place === null || !hasBytes(place, id, file)) return null;
      return (signal) => readKept(place, id, file, signal);
    },

    /** These runs of the caller are in a crate now: their bytes go first. */
    async notePacked({ user }: Caller, ids: readonly string[]): Promise<void> {
      if (ids.length === 0) return;
      const some = ids.map(() => '?').join(', ');
      await database.query(
        `UPDATE executions SET kept_since = 0 WHERE owner = ? AND kept_bytes > 0 AND id IN (${some})`,
        user,
        ...ids,
      );
    },
  };
}

function listOldest(database: Database, owner: string | null): Promise<RunWithKept[]> {
  return database.query<RunWithKept & Record<string, string | number>>(
    `SELECT id, owner, kept_bytes FROM executions WHERE kept_bytes > 0${owner === null ? '' : ' AND owner = ?'}
     ORDER BY kept_since, id LIMIT ${droppedAtOnce}`,
    ...(owner === null ? [] : [owner]),
  );
}

async function sumKeptBytes(database: Database, owner: string): Promise<number> {
  const [row] = await database.query<{ bytes: number }>(
    'SELECT CAST(COALESCE(SUM(kept_bytes), 0) AS BIGINT) AS bytes FROM executions WHERE owner = ? AND kept_bytes > 0',
    owner,
  );
  return row?.bytes ?? 0;
}

const readNothing: ReadResult = async function* () {};

const openKept = (place: Workspace, id: string, { kept }: ResultFile): OpenFile =>
  openBelow(getResultsFolder(place)).open(joinComponents(parseName(id), parseName(String(kept!.part))));

function hasBytes(place: Workspace, id: string, file: ResultFile): boolean {
  try {
    using opened = openKept(place, id, file);
    return opened.stats.size >= file.kept!.at + file.size;
  } catch (error) {
    if (isWorkcrateError(error, 'path_not_found') || isWorkcrateError(error, 'path_refused')) return false;
    throw error;
  }
}

const readAt = promisify(read);
const readChunkBytes = 256 * 1024;

async function* readKept(
  place: Workspace,
  id: string,
  file: ResultFile,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  using opened = openKept(place, id, file);
  for (let done = 0; done < file.size;) {
    signal.throwIfAborted();
    // A new buffer each time, since the consumer may keep several.
    const piece = Buffer.allocUnsafe(Math.min(readChunkBytes, file.size - done));
    const { bytesRead } = await readAt(opened.fd, piece, 0, piece.length, file.kept!.at + done);
    if (bytesRead === 0) return;
    done += bytesRead;
    yield piece.subarray(0, bytesRead);
  }
}

/** A run that is under way, on whichever server, may be writing them. */
async function removeOrphans({
  database,
  places,
  log,
}: Pick<KeptResultsOptions, 'database' | 'places' | 'log'>): Promise<void> {
  let count = 0;
  for (const { owner } of await listWorkspaces(database)) {
    const place = await places.find(owner);
    if (place === null) continue;
    const ids = listKept(place);
    for (let at = 0; at < ids.length; at += knownAtOnce) {
      const some = ids.slice(at, at + knownAtOnce);
      const known = await findKnown(database, some);
      for (const id of some.filter((one) => !known.has(one))) {
        await removeKept(place, id);
        count++;
      }
    }
  }
  if (count > 0) log.warn('execution.kept_results_without_row', { count });
}

async function findKnown(database: Database, ids: readonly string[]): Promise<Set<string>> {
  const rows = await database.query<{ id: string }>(
    `SELECT id FROM executions WHERE id IN (${ids.map(() => '?').join(', ')}) AND (kept_bytes > 0 OR reason = 'running')`,
    ...ids,
  );
  return new Set(rows.map(({ id }) => id));
}

/** More than these are looked at an hour later. */
const maxFoldersAtOnce = 20_000;

/** The runs of which something is kept. */
function listKept(place: Workspace): string[] {
  try {
    const bounds = { mostEntries: maxFoldersAtOnce, mostDepth: 0, mostBytes: 4 * 1024 ** 2 };
    const entries: Iterable<TreeEntry> = openBelow(getResultsFolder(place)).tree(rootPath, bounds);
    return [...entries].flatMap(({ path }) => (path !== null && executionIdForm.test(path) ? [path] : []));
  } catch (error) {
    if (isWorkcrateError(error, 'path_not_found') || isWorkcrateError(error, 'path_refused')) return [];
    throw error;
  }
}
