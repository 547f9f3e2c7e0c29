import { createMutex } from '../concurrency/mutex.ts';
import type { Log } from '../log.ts';
import type { Chain } from './chain.ts';
import type { Head } from './head.ts';

export interface SettlingOptions {
  readonly chain: Chain;
  readonly log: Log;
  /** Called each time when all lines so far are on disk, and the head says so; with it where it is a new one. */
  settled(head: Head | null): void;
}

/** Brings lines to disk: with the head every second and at the end, without it for those who wait for their answer. */
export function createSettling({ chain, log, settled }: SettlingOptions) {
  let isSettled = true;
  const settling = createMutex();
  let syncing: Promise<void> = Promise.resolve();
  let nextSync: Promise<void> | null = null;

  /** One at a time; a failure is told, and is the next one's to make good. */
  function settle(): Promise<unknown> {
    return settling.run(async () => {
      try {
        const head = await chain.settle();
        isSettled = true;
        settled(head);
        return null;
      } catch (error) {
        tellFailure(error);
        return error;
      }
    });
  }

  function tellFailure(error: unknown): void {
    chain.leave();
    if (isSettled) log.error('audit.settle_failed', { error });
    isSettled = false;
  }

  /** One sync serves all who ask before it begins. Whoever asks later waits for the next: its line may be too new. */
  function sync(): Promise<void> {
    if (nextSync === null) {
      nextSync = syncing.then(() => {
        nextSync = null;
        return syncNow();
      });
      syncing = nextSync;
    }
    return nextSync;
  }

  async function syncNow(): Promise<void> {
    // The name of a new file has to come to disk as well, and the head that tells of it.
    if (!chain.isKnown()) return void (await settle());
    try {
      await chain.sync();
    } catch (error) {
      tellFailure(error);
    }
  }

  return {
    /** Resolves with null once all is on disk, or with what is in the way of that. */
    settle,
    /** Resolves once all lines so far are on disk. Where that fails, the server's log tells it, and calls go on. */
    sync,
  };
}
