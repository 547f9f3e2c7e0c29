/**
 * Hashes files of users, each state of a file once, within bounds of bytes and time. Code of the user's may change or
 * exchange a file meanwhile: then there is no hash. It chooses no files: `input-watch.ts` does.
 */
import { createHash } from 'node:crypto';
import { fstatSync, read, readSync } from 'node:fs';
import { promisify } from 'node:util';
import { BoundedMap } from '../concurrency/bounded-map.ts';
import { getErrno, isWorkcrateError } from '../errors.ts';
import { openBelow, type Components } from '../paths/paths.ts';
import type { FileState } from './folder-diff.ts';

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
