import { BoundedMap } from '../../../platform/concurrency/bounded-map.ts';
import { sandboxClosedError, type Workspace } from '../sandbox.ts';
import type { Container, DockerOptions } from './container.ts';

export interface WaitingContainers extends AsyncDisposable {
  count(): number;
  warm(user: string, place: Workspace): Promise<void>;
  /** The container that waits for the user, else a new one. */
  take(user: string, place: Workspace): Promise<Container>;
  /** Starts the next container in the background. */
  refill(user: string, place: Workspace): void;
}

/** A container that waits or is starting, and the workspace that it was started with. */
interface WaitingContainer {
  readonly place: Workspace;
  readonly made: Promise<Container | null>;
}

/** One container waits for each recent user, for as many users as may run at once. */
export function createWaitingContainers(
  { warm, mostRuns, log }: DockerOptions,
  start: (place: Workspace) => Promise<Container>,
): WaitingContainers {
  /** The user that was served longest ago is the first. */
  const waiting = new BoundedMap<string, WaitingContainer>({
    mostEntries: mostRuns,
    onEvict: ({ made }) => void track(discard(made)),
  });
  const wanted = Object.values(warm).some((count) => count > 0);
  const going = new Set<Promise<unknown>>();
  let closed = false;

  const track = async <T>(work: Promise<T>): Promise<T> => {
    going.add(work);
    try {
      return await work;
    } finally {
      going.delete(work);
    }
  };
  const make = async (place: Workspace): Promise<Container | null> => {
    try {
      return await start(place);
    } catch (error) {
      // The next run tries again, and reports the error to its caller.
      log.warn('sandbox.not_warm', { error });
      return null;
    }
  };
  const discard = async (made: Promise<Container | null>) => {
    try {
      await (await made)?.remove();
    } catch (error) {
      log.warn('sandbox.container_left', { error });
    }
  };
  const refill = (user: string, place: Workspace): Promise<unknown> => {
    if (closed || !wanted) return Promise.resolve();
    const there = waiting.get(user);
    if (there?.place === place) return there.made;
    if (there !== undefined) void track(discard(there.made));
    const made = track(make(place));
    waiting.set(user, { place, made });
    return made;
  };

  const takeOne = async (user: string, place: Workspace): Promise<Container> => {
    if (closed) throw sandboxClosedError();
    const there = waiting.get(user);
    const made = there?.made ?? Promise.resolve(null);
    waiting.delete(user);
    const found = await made;
    const isOfUse = found?.alive === true && there?.place === place;
    const container = isOfUse ? found : await start(place);
    if (found !== null && found !== container) void track(discard(made));
    if (!closed) return container;
    await discard(Promise.resolve(container));
    throw sandboxClosedError();
  };

  return {
    count: () => waiting.size,
    async warm(user, place) {
      await refill(user, place);
    },
    take: (user, place) => track(takeOne(user, place)),
    refill: (user, place) => void refill(user, place),
    async [Symbol.asyncDispose]() {
      closed = true;
      waiting.evictAll();
      await Promise.all(going);
    },
  };
}
