import type { Clock } from '../../clock.ts';
import type { Database } from '../../database/database.ts';
import { isWorkcrateError } from '../../errors.ts';
import type { BrokenCrate, CratePlace } from '../crate.ts';

/**
 * A server that was stopped or cut off while it read a large crate leaves a row just as one does that the crate has
 * ended. So a crate gets one more try, unless it is known that the process before this one failed.
 */
const mostTries = 2;

export interface TryingOptions {
  readonly clock: Clock;
  /** Whether this process was started in place of one that has failed. */
  readonly isAfterFailure: boolean;
}

export type Trying = ReturnType<typeof createTrying>;

/** Notes which large crate is being read, so that one that ends the process does not do so for ever. */
export function createTrying(database: Database, { clock, isAfterFailure }: TryingOptions) {
  /** Those whose rows are of this process, which has not ended. */
  const ours = new Set<string>();

  async function forget(crateId: string): Promise<void> {
    await database.query('DELETE FROM crate_trying WHERE crate_id = ?', crateId);
    ours.delete(crateId);
  }

  return {
    forget,

    /** To be held while a crate is read and put in. */
    async begin(place: CratePlace): Promise<AsyncDisposable> {
      ours.add(place.crateId);
      await note(database, place, clock());
      // Where this fails, the row is still known as one of ours.
      return { [Symbol.asyncDispose]: () => forget(place.crateId).catch(tolerateFailedDatabase) };
    },

    /** Crates that have ended a process. For whoever holds the lease, so that nobody is at them. */
    async ended(): Promise<BrokenCrate[]> {
      const rows = await database.query<{ crate_id: string; place: string; tries: number }>(
        'SELECT crate_id, place, tries FROM crate_trying ORDER BY crate_id',
      );
      return rows
        .filter(({ crate_id, tries }) => !ours.has(crate_id) && (isAfterFailure || tries >= mostTries))
        .map(({ place }) => ({ place: JSON.parse(place) as CratePlace, ...fatal }));
    },

    /** After everything was tried: what is left is of crates that are gone. */
    async clear(): Promise<void> {
      await database.query('DELETE FROM crate_trying');
      ours.clear();
    },
  };
}

const fatal = {
  code: 'too_large' as const,
  reason:
    'It is too much for this server: reading it ended the process that indexes. It is tried again once it changes.',
};

async function note(database: Database, place: CratePlace, now: number): Promise<void> {
  await database.query(
    `INSERT INTO crate_trying (crate_id, stamp, place, tries, since) VALUES (?, ?, ?, 1, ?)
     ON CONFLICT (crate_id) DO UPDATE SET stamp = excluded.stamp, place = excluded.place, since = excluded.since,
       tries = CASE WHEN crate_trying.stamp = excluded.stamp THEN crate_trying.tries + 1 ELSE 1 END`,
    place.crateId,
    place.stamp,
    JSON.stringify(place),
    now,
  );
}

function tolerateFailedDatabase(error: unknown): void {
  if (!isWorkcrateError(error)) throw error;
}
