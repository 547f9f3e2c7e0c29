/**
 * Makes the disk free again when a run was stopped because it took too much of it: removes the files that were made while
 * it ran, and nothing that was there before or belongs to a run that ended well. Who is stopped is decided in
 * `ports/sandbox/disk.ts`.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { BoundedMap } from '../../platform/concurrency/bounded-map.ts';
import { runInSlices } from '../../platform/concurrency/yield.ts';
import type { Database } from '../../ports/database/database.ts';
import type { Log } from '../../platform/observability/log.ts';
import { openBelow, type RemovedFiles } from '../../platform/paths/paths.ts';
import type { RunEnd, Workspace } from '../../ports/sandbox/sandbox.ts';
import type { RemovedSpace } from './difference.ts';
import { findOthersWriting } from './store.ts';

/** Results and messages that are small stay: they say how far it came. */
const keep = { files: 1000, bytes: 10 * 1024 ** 2, mostBytesEach: 256 * 1024 };
/** Other runs of the user are over the limit too, and are stopped. Where one is not, nothing is removed. */
const maxWaitMs = 30_000;
/** The kernel stamps files by a clock that may be a tick behind. */
const clockLagMs = 20;
const maxRemembered = 10_000;

/** Somebody who makes files in the folders of a user. Dispose of it when nothing has to be removed any more. */
export interface Writing extends Disposable {
  /** Of a run, once it has started: it is over when its processes are. */
  follow(ended: Promise<RunEnd>): void;
  /** What it made until now stays, whatever becomes of others; or it was stopped, and may have made too much. */
  end(how: 'well' | 'stopped'): void;
  /** When it is over: removes what it made if it was stopped for the disk space that it took, else gives null. */
  removeIfStopped(place: Workspace, end: Pick<RunEnd, 'reason' | 'signal'>): Promise<RemovedSpace | null>;
}

interface WritingState {
  /** In milliseconds since 1970. What was made before belongs to somebody else. */
  from: number;
  /** Null while it goes on. */
  to: number | null;
  isWaitedFor: boolean;
  readonly over: PromiseWithResolvers<void>;
}

export interface MadeSpace {
  /** Nobody waits for the end of what only may write, such as a session between its cells. */
  begin(owner: string, does?: 'writes' | 'may write'): Writing;
}

interface MadeSpaceOptions {
  readonly database: Database;
  readonly server: string;
  readonly log: Log;
}

export function createMadeSpace({ database, server, log }: MadeSpaceOptions): MadeSpace {
  const owners = new Map<string, Set<WritingState>>();
  /** When the latest of each owner ended well. */
  const lastWell = new BoundedMap<string, number>({ mostEntries: maxRemembered });

  const waitForOthers = async (all: ReadonlySet<WritingState>, own: WritingState): Promise<boolean> => {
    const others = [...all].filter(
      (other) => other.isWaitedFor && other !== own && other.to === null && other.from < own.to!,
    );
    if (others.length === 0) return true;
    const stop = new AbortController();
    const late = pause(maxWaitMs, false, { signal: stop.signal, ref: false }).catch(() => false);
    const over = Promise.all(others.map((other) => other.over.promise)).then(() => true);
    return Promise.race([over, late]).finally(() => stop.abort());
  };

  const begin: MadeSpace['begin'] = (owner, does = 'writes') => {
    const all = owners.get(owner) ?? new Set();
    owners.set(owner, all);
    const own: WritingState = {
      from: Math.max(Date.now() - clockLagMs, lastWell.get(owner) ?? 0),
      to: null,
      isWaitedFor: does === 'writes',
      over: Promise.withResolvers(),
    };
    all.add(own);
    const leave = (): void => {
      own.over.resolve();
      all.delete(own);
      if (all.size === 0 && owners.get(owner) === all) owners.delete(owner);
    };
    const remove = async (place: Workspace): Promise<RemovedSpace> => {
      if (!(await waitForOthers(all, own))) return nothingRemoved;
      const { isWriting, endedAt } = await findOthersWriting(database, owner, server, own.from);
      if (isWriting) return nothingRemoved;
      own.from = Math.max(own.from, endedAt ?? 0);
      const removed = await removeMade(place, own.from, own.to!);
      log.warn('execution.space_freed', { user: owner, files: removed.files, bytes: removed.bytes });
      return removed;
    };
    const end: Writing['end'] = (how) => {
      if (own.to !== null) return;
      own.to = Date.now();
      own.over.resolve();
      if (how === 'stopped') return;
      for (const other of all) other.from = Math.max(other.from, own.to);
      lastWell.set(owner, own.to);
    };
    return {
      end,
      follow(ended) {
        own.isWaitedFor = true;
        void ended.then(({ reason }) => end(reason === 'disk' ? 'stopped' : 'well'));
      },
      async removeIfStopped(place, { reason, signal }) {
        // A single file that is too large is refused, and takes no space.
        if (reason !== 'disk' || signal === 'SIGXFSZ') return null;
        own.to ??= Date.now();
        try {
          return await remove(place);
        } catch (error) {
          log.error('execution.space_not_freed', { user: owner, error });
          return nothingRemoved;
        }
      },
      [Symbol.dispose]: leave,
    };
  };

  return { begin };
}

const nothingRemoved: RemovedSpace = { files: 0, bytes: 0, complete: false };

async function removeMade(place: Workspace, from: number, to: number): Promise<RemovedSpace> {
  const born = { from: toNanoseconds(from), to: toNanoseconds(to), keep };
  const removed: RemovedFiles[] = [];
  for (const folder of [place.workspace, place.artifacts])
    removed.push(await runInSlices(openBelow(folder).removeBorn(born), { stepsPerLook: 1 }));
  return {
    files: removed.reduce((sum, { files }) => sum + files, 0),
    bytes: removed.reduce((sum, { bytes }) => sum + bytes, 0),
    complete: removed.every(({ isWhole }) => isWhole),
  };
}

const toNanoseconds = (ms: number): bigint => BigInt(Math.floor(ms)) * 1_000_000n;
