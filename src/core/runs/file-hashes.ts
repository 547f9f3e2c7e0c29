/**
 * Hashes files of users, each state of a file once, within bounds of bytes and time. Code of the user's may change or
 * exchange a file in between: then there is no hash. Also knows which execution made a file last, by its path and state. It
 * chooses no files: `input-watch.ts` does.
 */
import { createHash } from 'node:crypto';
import { fstatSync, read, readSync } from 'node:fs';
import { promisify } from 'node:util';
import { BoundedMap } from '../../platform/concurrency/bounded-map.ts';
import { getErrno, isWorkcrateError } from '../../platform/errors.ts';
import { openBelow, type Components } from '../../platform/paths/paths.ts';
import type { FileState, MadeFile } from './difference.ts';
import type { Queries } from '../../ports/database/database.ts';

/** What all hashes of one run may cost. */
export interface HashBudget {
  bytes: number;
  /** By `performance.now()`. */
  readonly until: number;
}

export type FileHashes = ReturnType<typeof createFileHashes>;

const maxKnownHashes = 20_000;
const hashChunkBytes = 256 * 1024;
/** The kernel stamps files by a clock that may be a tick behind: a later change may get the same time. */
const clockLagNs = 20_000_000n;

const readInto = promisify(read);

/** Remembers what it has hashed, so that a folder that many runs work in is not read by each of them. */
export function createFileHashes() {
  const known = new BoundedMap<string, string>({ mostEntries: maxKnownHashes });
  return {
    /** The sha256 of a regular file in this state; null where it is another by now, or the budget is used up. */
    async hash(base: string, path: Components, state: FileState, budget: HashBudget): Promise<string | null> {
      const key = `${base} ${formatFileState(state)}`;
      const earlier = known.get(key);
      if (earlier !== undefined) return earlier;
      if (BigInt(budget.bytes) < state.size || performance.now() > budget.until) return null;
      budget.bytes -= Number(state.size);
      const isSettled = state.changed + clockLagNs < BigInt(Date.now()) * 1_000_000n;
      const sha256 = await hashInState(base, path, state, budget);
      if (sha256 !== null && isSettled) known.set(key, sha256);
      return sha256;
    },
  };
}

export const formatFileState = ({ size, inode, changed }: FileState): string => `${size} ${inode} ${changed}`;

async function hashInState(
  base: string,
  path: Components,
  state: FileState,
  budget: HashBudget,
): Promise<string | null> {
  try {
    using file = openBelow(base).open(path);
    if (!isInState(file.fd, state)) return null;
    const sha256 = await hashDescriptor(file.fd, Number(state.size), budget.until);
    return isInState(file.fd, state) ? sha256 : null;
  } catch (error) {
    // Gone, a link, folder or FIFO in its place, or bytes that the disk cannot read: that keeps nobody from running code.
    if (isWorkcrateError(error) || getErrno(error) !== null) return null;
    throw error;
  }
}

/** The state of an open file. */
export function readFileState(fd: number): FileState {
  const { size, ino: inode, ctimeNs: changed } = fstatSync(fd, { bigint: true });
  return { size, inode, changed };
}

export const isInState = (fd: number, state: FileState): boolean =>
  formatFileState(readFileState(fd)) === formatFileState(state);

/** Hashes so many bytes of an open file, and hands on each piece; null where there are fewer, or the time is up. */
export async function hashDescriptor(
  fd: number,
  size: number,
  until: number,
  handOn: (piece: Buffer) => Promise<void> | void = () => {},
): Promise<string | null> {
  const hash = createHash('sha256');
  const chunk = Buffer.allocUnsafe(Math.min(hashChunkBytes, size));
  for (let at = 0; at < size;) {
    const most = Math.min(chunk.length, size - at);
    // A small file takes less time than a turn of the thread pool.
    const bytesRead =
      size <= hashChunkBytes
        ? readSync(fd, chunk, 0, most, at)
        : (await readInto(fd, chunk, 0, most, at)).bytesRead;
    if (bytesRead === 0 || performance.now() > until) return null;
    const piece = chunk.subarray(0, bytesRead);
    hash.update(piece);
    await handOn(piece);
    at += bytesRead;
  }
  return hash.digest('hex');
}

/** Of one run; of further files nobody knows later who made them. */
const maxMadeFiles = 200;
const maxMadeBytes = 16 * 1024;

/** Remembers what a run made. Its row has to be there. */
export async function recordMakers(
  queries: Queries,
  { id, owner }: { readonly id: string; readonly owner: string },
  made: readonly MadeFile[],
): Promise<void> {
  const kept = keepFirst(made);
  if (kept.length === 0) return;
  await queries.query(
    `INSERT INTO made_files (owner, path, execution_id, state) VALUES ${kept.map(() => '(?, ?, ?, ?)').join(', ')}
     ON CONFLICT (owner, path) DO UPDATE SET execution_id = excluded.execution_id, state = excluded.state`,
    ...kept.flatMap(({ path, state }) => [owner, path, id, formatFileState(state)]),
  );
}

function keepFirst(made: readonly MadeFile[]): readonly MadeFile[] {
  let bytes = 0;
  return made.slice(0, maxMadeFiles).filter(({ path }) => (bytes += Buffer.byteLength(path)) <= maxMadeBytes);
}

/** The executions that made these files, by the paths of those that one is known of. */
export async function findMakers(
  queries: Queries,
  owner: string,
  files: readonly MadeFile[],
): Promise<ReadonlyMap<string, string>> {
  if (files.length === 0) return new Map();
  const rows = await queries.query<{ path: string; execution_id: string; state: string }>(
    `SELECT path, execution_id, state FROM made_files WHERE owner = ? AND path IN (${files.map(() => '?').join(', ')})`,
    owner,
    ...files.map(({ path }) => path),
  );
  const states = new Map<string, FileState>(files.map(({ path, state }) => [path, state]));
  return new Map(
    rows
      .filter(({ path, state }) => formatFileState(states.get(path)!) === state)
      .map(({ path, execution_id: id }) => [path, id]),
  );
}
