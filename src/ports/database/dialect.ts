import type { Database } from './database.ts';

/** The few statements that are not in the SQL that all databases share. */
interface Dialect {
  /** Makes others who migrate wait until the transaction ends. Takes a number. Null where transactions do so anyway. */
  readonly lockMigrations: string | null;
  /** To be run once the schema is up to date; null where there is nothing to do. */
  readonly afterMigrating: string | null;
}

export const dialects: Readonly<Record<Database['kind'], Dialect>> = {
  sqlite: {
    lockMigrations: null,
    // The file of a new database gets its size now: there may be no space for that once the disk is full.
    afterMigrating: 'PRAGMA wal_checkpoint(PASSIVE)',
  },
  postgres: {
    lockMigrations: 'SELECT pg_advisory_xact_lock(CAST(? AS BIGINT))',
    afterMigrating: null,
  },
};
