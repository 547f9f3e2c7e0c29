import { isOurFault, isWorkcrateError, WorkcrateError, asWorkcrateError } from '../errors.ts';
import type { Caller } from '../identity.ts';
import type { Log } from '../log.ts';
import { belowRoot, here, type Root } from '../paths/paths.ts';
import type { Places } from '../places/places.ts';
import { withoutSecrets } from '../secrets.ts';
import { demandName, openArtifact, type Artifact } from './artifact.ts';
import { inByteOrder } from './byte-order.ts';
import { artifactFailed, artifactNotFound } from './failures.ts';
import { inTurns } from './in-turns.ts';

export { base64Of, type Artifact } from './artifact.ts';

export interface ArtifactsOptions {
  readonly places: Pick<Places, 'find'>;
  /** The largest artifact, in bytes, that is given in an answer. Links are bounded elsewhere. */
  readonly sizeLimit: number;
  readonly log: Log;
}

export interface Wanted {
  readonly name: string;
  /** How it leaves: as a link to a copy, or in the answer itself. */
  readonly delivery: 'link' | 'base64';
  /** Fires when the caller does not want it any more. */
  readonly signal?: AbortSignal;
}

export type Artifacts = ReturnType<typeof createArtifacts>;

/** Beyond either, a folder is not listed. */
const mostNames = 10_000;
const mostEntries = 100_000;

/** What a user's runs left in /artifacts. Whatever stands there was put there by somebody hostile. */
export function createArtifacts({ places, sizeLimit, log }: ArtifactsOptions) {
  async function folderOf({ user }: Caller): Promise<Root | null> {
    const place = await places.find(user);
    return place && belowRoot(place.artifacts, { links: 'refuse', hidden: 'refuse' });
  }

  async function open(caller: Caller, name: string, limit: number): Promise<Artifact> {
    demandName(name);
    const folder = await failingAs('size', () => folderOf(caller));
    if (folder === null) throw artifactNotFound(name);
    return openArtifact(folder, name, limit);
  }

  /** Gives an artifact to `act` for as long as that takes. A link may be of any size. */
  async function use<T>(
    caller: Caller,
    { name, delivery, signal }: Wanted,
    act: (artifact: Artifact) => Promise<T>,
  ): Promise<T> {
    const asked = { user: caller.user, name: withoutSecrets(name).slice(0, mostLogged), delivery };
    const work = async (note: Note): Promise<T> => {
      using artifact = await open(caller, name, delivery === 'link' ? Infinity : sizeLimit);
      note({ size: artifact.size });
      return await act(artifact);
    };
    return noted(log, 'artifact.get', asked, work, signal);
  }

  return {
    sizeLimit,
    use,

    /** The names of the caller's artifacts, in the order of their bytes. */
    list: (caller: Caller): Promise<string[]> =>
      noted(log, 'artifact.list', { user: caller.user }, async (note) => {
        const listing = failingAs('list', async () => namesIn(await folderOf(caller)));
        const { names, unreadable } = await listing;
        // No answer can name those that are not UTF-8.
        note({ count: names.length, unreadable });
        return names;
      }),
  };
}

async function namesIn(folder: Root | null): Promise<{ names: string[]; unreadable: number }> {
  const names: string[] = [];
  if (folder === null) return { names, unreadable: 0 };
  try {
    const all = folder.tree(here, { mostEntries, mostDepth: 0 });
    const { cut, unreadable } = await inTurns(all, ({ path, stats }) => {
      // A file of several names cannot be had, so it is not offered either.
      if (path === null || !stats.isFile() || stats.nlink !== 1n || path.startsWith('.')) return;
      if (names.push(path) > mostNames) throw tooMany(mostNames, 'artifacts');
    });
    if (cut) throw tooMany(mostEntries, 'entries in /artifacts');
    return { names: inByteOrder(names), unreadable };
  } catch (error) {
    if (isWorkcrateError(error, 'path_not_found')) return { names: [], unreadable: 0 };
    throw error;
  }
}

function tooMany(most: number, things: string): WorkcrateError {
  const advice = 'Remove some, or move them to a folder of their own';
  return new WorkcrateError('too_large', `there are more than ${most} ${things}. ${advice}.`);
}

async function failingAs<T>(attempt: 'list' | 'size', act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    throw artifactFailed(attempt, error);
  }
}

/** No name that can be had is longer. */
const mostLogged = 255;

type Note = (fields: Readonly<Record<string, unknown>>) => void;

/** Every list, get and error is logged with the user (A13). */
async function noted<T>(
  log: Log,
  event: string,
  asked: Readonly<Record<string, unknown>>,
  act: (note: Note) => Promise<T>,
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
    const level = isOurFault(error) && !wasCancelled ? 'error' : 'info';
    log[level](event, { ...asked, ...found, result: wasCancelled ? 'cancelled' : error.code, error });
    throw cause;
  }
}
