/**
 * Lists and opens what a user's runs left in /artifacts. Whatever is there was written by hostile code, so it is
 * opened through `platform/paths/` without following links. It copies nothing and makes no links: `tools.ts` does, by `core/files/`
 * and `core/links/`.
 */
import { join } from 'node:path';
import { createKeyedMutex } from '../../platform/concurrency/mutex.ts';
import { runInSlices } from '../../platform/concurrency/yield.ts';
import { findNearest } from '../../platform/text/edit-distance.ts';
import { asWorkcrateError, isWorkcrateError } from '../../platform/errors.ts';
import type { Caller } from '../identity.ts';
import type { Log } from '../../platform/observability/log.ts';
import { openBelow, rootPath } from '../../platform/paths/paths.ts';
import { withoutSecrets } from '../../platform/text/secrets.ts';
import { canRunsRead, type Workspaces } from '../workspaces/workspaces.ts';
import {
  artifactFailedError,
  artifactNotFoundError,
  checkArtifactName,
  openArtifact,
  type Artifact,
  type ArtifactFolder,
} from './artifact.ts';
import { toByteKey, fromByteKey } from './changes.ts';

export { readAsBase64, type Artifact } from './artifact.ts';

export interface ArtifactsOptions {
  readonly places: Pick<Workspaces, 'find'>;
  /** The largest artifact, in bytes, that is given in an answer. Links are bounded elsewhere. */
  readonly sizeLimit: number;
  readonly log: Log;
}

export interface ArtifactRequest {
  readonly name: string;
  /** How it leaves: as a link to a copy, in the answer itself, or as a resource, which shows little of a large one. */
  readonly delivery: 'link' | 'base64' | 'resource';
  /** Fires when the caller does not want it any more. */
  readonly signal?: AbortSignal;
}

export type Artifacts = ReturnType<typeof createArtifacts>;

/** The most names of one page: each takes at most 255 bytes of memory, and as long as a slow reader takes. */
export const maxNamesOnPage = 10_000;

/** What a user's runs left in /artifacts. Everything there is treated as hostile. */
export function createArtifacts({ places, sizeLimit, log }: ArtifactsOptions) {
  const inLine = createKeyedMutex();

  async function folderOf({ user }: Caller): Promise<ArtifactFolder | null> {
    const place = await places.find(user);
    if (place === null) return null;
    const root = openBelow(place.artifacts, { links: 'refuse', hidden: 'refuse' });
    return { root, canRead: (stats) => canRunsRead(place, stats) };
  }

  async function open(caller: Caller, name: string, limit: number): Promise<Artifact> {
    checkArtifactName(name);
    const folder = await wrapFailure('size', () => folderOf(caller));
    if (folder === null) throw artifactNotFoundError(name);
    return openArtifact(folder, name, limit);
  }

  /** Gives an artifact to `act` for as long as that takes. Only bytes in an answer are bounded. */
  async function use<T>(
    caller: Caller,
    { name, delivery, signal }: ArtifactRequest,
    act: (artifact: Artifact) => Promise<T>,
  ): Promise<T> {
    const asked = { user: caller.user, name: withoutSecrets(name).slice(0, maxLoggedName), delivery };
    const work = async (note: NoteFields): Promise<T> => {
      using artifact = await open(caller, name, delivery === 'base64' ? sizeLimit : Infinity);
      note({ size: artifact.size });
      return await act(artifact);
    };
    return logOperation(log, 'artifact.get', asked, work, signal);
  }

  return {
    sizeLimit,
    use,

    /** Where an artifact is on this machine, for clients that share it. */
    async findLocalPath({ user }: Caller, name: string): Promise<string | null> {
      const place = await places.find(user);
      return place && join(place.artifacts, name);
    },

    /** The name of an artifact that somebody who gave this one probably meant, among the first; null where none is near. */
    findSimilar: (caller: Caller, name: string): Promise<string | null> =>
      wrapFailure('list', async () => {
        const wish = { after: null, limit: maxNamesOnPage };
        const { names } = await inLine(caller.user, async () => readNamePage(await folderOf(caller), wish));
        return findNearest(name, names);
      }),

    /** A page of the names of the caller's artifacts, in the order of their bytes. */
    list: (caller: Caller, wish: Partial<NamePageOptions> = {}): Promise<NamePage> =>
      logOperation(log, 'artifact.list', { user: caller.user }, async (note) => {
        const { after = null, limit = maxNamesOnPage } = wish;
        const work = async () => readNamePage(await folderOf(caller), { after, limit });
        // One at a time: each page looks at all names again, and some users may have millions.
        const { unreadable, ...page } = await wrapFailure('list', () => inLine(caller.user, work));
        // No answer can name those that are not UTF-8.
        note({ count: page.names.length, total: page.total, unreadable });
        return page;
      }),
  };
}

async function readNamePage(
  folder: ArtifactFolder | null,
  wish: NamePageOptions,
): Promise<NamePage & { unreadable: number }> {
  const page = createNamePage(wish);
  const add = (name: string | null): void => {
    if (name !== null && !name.startsWith('.')) page.add(name);
  };
  try {
    const unreadable =
      folder === null ? 0 : (await runInSlices(folder.root.fileNames(rootPath), { take: add })).unreadable;
    return { ...page.page(), unreadable };
  } catch (error) {
    if (isWorkcrateError(error, 'path_not_found')) return { ...createNamePage(wish).page(), unreadable: 0 };
    throw error;
  }
}

async function wrapFailure<T>(attempt: 'list' | 'size', act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    throw artifactFailedError(attempt, error);
  }
}

/** No name that can be had is longer. */
const maxLoggedName = 255;

type NoteFields = (fields: Readonly<Record<string, unknown>>) => void;

/** Every list, get and error is logged with the user, errors at level error, whoever made the mistake (A13). */
async function logOperation<T>(
  log: Log,
  event: string,
  asked: Readonly<Record<string, unknown>>,
  act: (note: NoteFields) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  let found = {};
  try {
    const result = await act((fields) => void (found = fields));
    log.info(event, { ...asked, ...found, result: 'ok' });
    return result;
  } catch (cause) {
    const error = asWorkcrateError(cause);
    const wasCancelled = signal?.aborted === true;
    const level = wasCancelled ? 'info' : 'error';
    log[level](event, { ...asked, ...found, result: wasCancelled ? 'cancelled' : error.code, error });
    throw cause;
  }
}

export interface NamePageOptions {
  /** Names behind this one; null for the first. */
  readonly after: string | null;
  readonly limit: number;
}

export interface NamePage {
  /** In the order of their bytes. */
  readonly names: string[];
  /** How many there are in all, on this page or not. */
  readonly total: number;
  /** What to give as `after` for the page behind this one; null for the last page. */
  readonly next: string | null;
}

/**
 * Takes names in any order, and keeps those of one page: twice as many are in memory at most, however many there are.
 */
function createNamePage({ after, limit }: NamePageOptions) {
  const start = after === null ? null : toByteKey(after);
  let keys: string[] = [];
  /** The last that can still be on the page; null while there is room for all. */
  let last: string | null = null;
  let [total, behind] = [0, 0];

  function cut(): void {
    keys = keys.sort().slice(0, limit);
    if (keys.length === limit) last = keys.at(-1)!;
  }

  return {
    add(name: string): void {
      total++;
      const key = toByteKey(name);
      if (start !== null && key <= start) return;
      behind++;
      if (last !== null && key >= last) return;
      if (keys.push(key) >= 2 * limit) cut();
    },

    page(): NamePage {
      cut();
      const names = keys.map(fromByteKey);
      return { names, total, next: behind > names.length ? names.at(-1)! : null };
    },
  };
}
