/**
 * The kept bytes of what runs made: until when they stay, how much they take, and how they are read again. Where their
 * share is used up, or the disk is needed, the oldest go first, and those that are in a crate before all others. The row
 * says that they are gone before they are. Small files of a run go one behind the
 * other into one file, so that ten thousand of them take one inode; nothing is synced, since a reader compares the hash.
 */
import { read, fchmodSync, writeSync } from 'node:fs';
import { promisify } from 'node:util';
import type { Database } from '../../ports/database/database.ts';
import { isWorkcrateError, getErrno } from '../../platform/errors.ts';
import type { Caller } from '../../core/identity.ts';
import type { Log } from '../../platform/observability/log.ts';
import {
  joinComponents,
  openBelow,
  parseName,
  rootPath,
  type OpenFile,
  type TreeEntry,
  type Components,
} from '../../platform/paths/paths.ts';
import { getResultsFolder, type Sandbox, type Workspace } from '../../ports/sandbox/sandbox.ts';
import { listWorkspaces, type Workspaces } from '../../core/workspaces/workspaces.ts';
import { executionIdForm, type Execution } from '../../core/runs/executions.ts';
import type { ResultFile } from './record.ts';
import { basename, dirname } from 'node:path';
import { hashDescriptor } from './input-watch.ts';
import { createKeyedMutex } from '../../platform/concurrency/mutex.ts';
import { measureFreeSpace, type FreeSpace } from '../../platform/data-folder/disk-reserve.ts';

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
interface RunWithKept {
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

export type KeptReader = ReturnType<typeof createKeptReader>;

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

/** Larger ones are files of their own. */
const maxJoinedBytes = 1024 ** 2;

/** What a folder and a file take on disk beside their bytes, roughly. */
const keptFolderBytes = 8192;

/** Whether the file system below a folder was found to have no reflinks, by folder. */
const withoutReflinks = new Set<string>();

type KeptResult = NonNullable<ResultFile['kept']>;

/** What came of one file. */
interface KeptCopy {
  /** Null where the file has fewer bytes than it should. */
  readonly sha256: string | null;
  readonly kept: KeptResult | null;
}

export interface ResultKeeper extends Disposable {
  /** Bytes that may still be kept; -1 where nothing can be. */
  readonly left: number;
  /** What all of it takes on disk; 0 where nothing is kept. */
  readonly bytes: number;
  /** Copies so many bytes of an open file and gives the hash of the copy. Where it cannot be written, only the hash. */
  copy(source: OpenFile, size: number): Promise<KeptCopy>;
  /** Takes back the copy that was made last: it is of a file that was being changed. */
  takeBack(): void;
  /** Removes all of it. */
  remove(): Promise<void>;
}

/** `most` is null where there is no room at all. */
function createResultKeeper(place: Workspace, id: string, most: number | null): ResultKeeper {
  const { home, folder } = locateKept(place, id);
  const store = openBelow(home);
  let joined: { readonly file: OpenFile; readonly part: number } | null = null;
  let [parts, joinedEnd, taken, last] = [0, 0, 0, 0];
  let isBroken = most === null;

  /** The name of the next file; its folder is made where it is the first. */
  const nameNext = (): Components => {
    if (parts === 0) store.makeFolder(folder);
    return joinComponents(folder, parseName(String(parts)));
  };

  const create = (): { file: OpenFile; part: number } => {
    const file = store.create(nameNext());
    fchmodSync(file.fd, 0o600);
    return { file, part: parts++ };
  };

  const breakOff = (error: unknown): void => {
    if (!isWorkcrateError(error) && getErrno(error) === null) throw error;
    isBroken = true;
  };

  async function copyJoined({ fd }: OpenFile, size: number): Promise<KeptCopy> {
    joined ??= create();
    const { file, part } = joined;
    const at = joinedEnd;
    let end = at;
    const sha256 = await hashDescriptor(fd, size, Infinity, (piece) => {
      if (!isBroken) end = writeTo(file.fd, piece, end, breakOff);
    });
    if (isBroken || sha256 === null) return { sha256, kept: null };
    joinedEnd = end;
    return { sha256, kept: { part, at } };
  }

  async function copyAlone(source: OpenFile, size: number): Promise<KeptCopy> {
    const cloned = await clone(source, size);
    if (cloned !== null) return cloned;
    const { file, part } = create();
    using _file = file;
    let end = 0;
    const sha256 = await hashDescriptor(source.fd, size, Infinity, (piece) => {
      if (!isBroken) end = writeTo(file.fd, piece, end, breakOff);
    });
    return isBroken || sha256 === null ? { sha256, kept: null } : { sha256, kept: { part, at: 0 } };
  }

  /** The hash is that of the copy. Null where the file system has no reflinks. */
  async function clone(source: OpenFile, size: number): Promise<KeptCopy | null> {
    if (withoutReflinks.has(home)) return null;
    const name = nameNext();
    if (!(await store.clone(source, name))) {
      withoutReflinks.add(home);
      return null;
    }
    const part = parts++;
    using copy = store.open(name);
    fchmodSync(copy.fd, 0o600);
    const sha256 = copy.stats.size === size ? await hashDescriptor(copy.fd, size, Infinity) : null;
    return { sha256, kept: sha256 === null ? null : { part, at: 0 } };
  }

  return {
    get left() {
      return isBroken ? -1 : most! - taken;
    },
    get bytes() {
      return parts === 0 ? 0 : taken + keptFolderBytes;
    },
    async copy(source, size) {
      try {
        const copied = await (size <= maxJoinedBytes ? copyJoined : copyAlone)(source, size);
        last = copied.kept === null ? 0 : size;
        taken += last;
        return copied;
      } catch (error) {
        breakOff(error);
        return { sha256: await hashDescriptor(source.fd, size, Infinity), kept: null };
      }
    },
    takeBack() {
      taken -= last;
      last = 0;
    },
    remove: () => removeKept(place, id),
    [Symbol.dispose]() {
      joined?.file[Symbol.dispose]();
    },
  };
}

/** Where the kept bytes of a run are: from a folder that is the server's own on. */
function locateKept(place: Workspace, id: string): { home: string; folder: Components } {
  const results = getResultsFolder(place);
  return { home: dirname(results), folder: joinComponents(parseName(basename(results)), parseName(id)) };
}

/** Removes the kept bytes of a run, if there are any. */
async function removeKept(place: Workspace, id: string): Promise<void> {
  const { home, folder } = locateKept(place, id);
  const store = openBelow(home);
  try {
    for (const { name } of store.list(folder).entries) store.remove(joinComponents(folder, parseName(name)));
    await store.removeFolder(folder);
  } catch (error) {
    // Another server was faster, or nothing was ever kept.
    if (!isWorkcrateError(error, 'path_not_found')) throw error;
  }
}

/** Gives where the next piece goes. */
function writeTo(fd: number, piece: Buffer, at: number, failed: (error: unknown) => void): number {
  try {
    for (let done = 0; done < piece.length;)
      done += writeSync(fd, piece, done, piece.length - done, at + done);
  } catch (error) {
    failed(error);
  }
  return at + piece.length;
}

/** How often the disk is looked at while code runs. */
const lookEveryMs = 1000;
/** Of what the folders of a user may take, as much again may be kept. */
const shareOfDisk = 0.1;

interface KeptQuotaOptions {
  /** What the folders of a user may take. */
  readonly diskBytes: number;
  /** What is kept of a user, as the rows say. */
  readonly countKept: (owner: string) => Promise<number>;
  /** The oldest of a user, or of all, until so many bytes are free again. */
  readonly dropOldest: (owner: string | null, bytes: number) => Promise<void>;
  /** Whether code runs. */
  readonly isBusy: () => boolean;
  readonly log: Log;
}

function createKeptQuota({ diskBytes, countKept, dropOldest, isBusy, log }: KeptQuotaOptions) {
  const shareBytes = Math.floor(diskBytes * shareOfDisk);
  /** Bytes that are being kept, of which no row says so yet, by user. */
  const underWay = new Map<string, number>();
  const inTurn = createKeyedMutex();
  let folder: string | null = null;
  let timer: NodeJS.Timeout | null = null;
  let looking: Promise<unknown> = Promise.resolve();

  async function fitShare(owner: string, bytes: number): Promise<void> {
    const excess = (await countKept(owner)) + (underWay.get(owner) ?? 0) + bytes - shareBytes;
    if (excess > 0) await dropOldest(owner, excess);
  }

  /** Whether so many bytes fit on the disk, once the oldest results have gone where they must. */
  async function makeRoom(place: Workspace | string, bytes: number): Promise<boolean> {
    const where = typeof place === 'string' ? place : dirname(place.workspace);
    const missing = countMissing(await measureFreeSpace(where), bytes);
    if (missing <= 0) return true;
    await dropOldest(null, missing);
    return countMissing(await measureFreeSpace(where), bytes) <= 0;
  }

  async function look(): Promise<void> {
    if (folder === null) return;
    await makeRoom(folder, 0).catch((error: unknown) =>
      log.error('execution.kept_results_not_trimmed', { error }),
    );
  }

  const addUnderWay = (owner: string, bytes: number): void => {
    const sum = (underWay.get(owner) ?? 0) + bytes;
    if (sum > 0) underWay.set(owner, sum);
    else underWay.delete(owner);
  };

  return {
    shareBytes,
    makeRoom,

    /** Code is about to run: the disk is looked at until none does. */
    watch(place: Workspace): void {
      folder = dirname(place.workspace);
      timer ??= setInterval(() => {
        if (isBusy()) looking = looking.then(look);
        else {
          clearInterval(timer!);
          timer = null;
        }
      }, lookEveryMs).unref();
    },

    /** So many bytes are about to be kept; null where there is no room. To be released when the row says so. */
    claim(owner: string, place: Workspace, bytes: number): Promise<Disposable | null> {
      return inTurn(owner, async () => {
        await fitShare(owner, bytes);
        if (!(await makeRoom(place, bytes))) return null;
        addUnderWay(owner, bytes);
        return { [Symbol.dispose]: () => addUnderWay(owner, -bytes) };
      });
    },

    async [Symbol.asyncDispose](): Promise<void> {
      clearInterval(timer ?? undefined);
      await looking;
    },
  };
}

/**
 * How many bytes are missing to twice the reserve, which kept results leave free: no run and no upload ends because of
 * them. Where inodes are missing, something has to go too.
 */
function countMissing({ freeBytes, reserveBytes, inodes }: FreeSpace, bytesToCome: number): number {
  const bytes = 2 * reserveBytes + bytesToCome - freeBytes;
  return inodes !== null && inodes.free < 2 * inodes.reserve ? Math.max(bytes, 1) : bytes;
}
