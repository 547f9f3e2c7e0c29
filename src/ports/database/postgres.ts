/**
 * The PostgreSQL backend: a pool of connections, transactions that are repeated after a conflict. The package `pg` is
 * imported only here, and only when needed. What its errors mean is in `postgres-errors.ts`.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Client, ClientBase, Pool, PoolClient, PoolConfig } from 'pg';
import { memoize } from '../../platform/concurrency/bounded-map.ts';
import { createMutex } from '../../platform/concurrency/mutex.ts';
import { WorkcrateError } from '../../platform/errors.ts';
import { isConnectionLost, type Database, type Queries, type Row, type SqlValue } from './database.ts';
import { createConnectError, isConflict, isDamage, queryError, verifyPostgres } from './postgres-errors.ts';
import { createNotices } from './postgres-notices.ts';
import { runWork, waitingLimit } from './scope.ts';
import { checkValues, parseStatement } from './sqlite.ts';

/** The backend for several processes. The first query connects, not this function. */
export async function postgresDatabase(url: string): Promise<Database> {
  const { pool, place, newClient } = await openPostgresPool(url);
  const lend = lendingFrom(pool, place);
  const running = new Set<Promise<unknown>>();
  let closing: Promise<void> | null = null;
  let damage: unknown = null;

  // The pool forgets those who wait for a connection when it ends, so they are awaited here.
  const tracked = async <T>(work: () => Promise<T>): Promise<T> => {
    if (closing !== null) throw new WorkcrateError('database_failed', `PostgreSQL at ${place} is closed.`);
    if (pool.waitingCount >= waitingLimit.mostWaiting) throw waitingLimit.refuse();
    const promise = work();
    running.add(promise);
    try {
      return await promise;
    } catch (error) {
      if (isDamage(error)) damage ??= error;
      throw error;
    } finally {
      running.delete(promise);
    }
  };

  const read: Queries['query'] = (sql, ...values) => tracked(() => querySingly(lend, sql, values));
  const notices = createNotices({
    newClient,
    notify: (channel, payload) => read('SELECT pg_notify(?, ?)', channel, payload),
  });

  /** Own writes are noted when they end, and so before anybody is told of them: their notices may come later. */
  const noted = async <T>(write: () => Promise<T>): Promise<T> => {
    try {
      return await write();
    } finally {
      notices.noteOwnWrite();
    }
  };

  const query: Queries['query'] = (sql, ...values) =>
    isSelect(sql) ? read(sql, ...values) : noted(() => read(sql, ...values));
  const transaction: Database['transaction'] = (work) => noted(() => tracked(() => transact(lend, work)));
  return {
    kind: 'postgres',
    isShared: true,
    sharedClock: clock,
    clock,
    version: notices.version,
    query,
    transaction,
    identify: () => identifyPostgres(read),
    verify: () => verifyPostgres({ query }, transaction),
    async demandWhole() {
      if (damage !== null) throw damage;
    },
    close() {
      closing ??= Promise.allSettled([...running, notices.close()]).then(() => pool.end());
      return closing;
    },
  };
}

/**
 * A cluster has a number of its own, which its standbys share, and each database in it has another. A provider may keep
 * the first one to itself: then a copy in another cluster may be taken for the database.
 */
async function identifyPostgres(read: Queries['query']): Promise<string> {
  const [may] = await read<{ allowed: number }>(
    "SELECT CAST(has_function_privilege('pg_control_system()', 'EXECUTE') AS INTEGER) AS allowed",
  );
  const cluster = may!.allowed === 1 ? 'CAST((pg_control_system()).system_identifier AS TEXT)' : "'unknown'";
  const [row] = await read<{ cluster: string; database: string }>(
    `SELECT ${cluster} AS cluster, CAST(oid AS TEXT) AS database FROM pg_database WHERE datname = current_database()`,
  );
  return `postgres ${row!.cluster} ${row!.database}`;
}

/** A pooled connection may have died unnoticed. What only reads is asked again on another. */
async function querySingly<T extends Row>(
  lend: BorrowConnection,
  sql: string,
  values: SqlValue[],
): Promise<T[]> {
  try {
    return await lend((loan) => loan.query<T>(sql, ...values));
  } catch (error) {
    if (!isConnectionLost(error) || !isSelect(sql)) throw error;
  }
  return lend((loan) => loan.query<T>(sql, ...values));
}

/** The time of the server, not that of the transaction. */
const clock = 'CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)';

const isSelect = (sql: string): boolean => /^\s*SELECT\b/i.test(sql);

const maxPreparedStatements = 500;

/** One connection of the pool, lent for a time. */
export interface BorrowedConnection extends Queries {
  /** Has the connection closed at the end rather than put back. */
  discard(): void;
}

export type BorrowConnection = <T>(use: (loan: BorrowedConnection) => Promise<T>) => Promise<T>;

function lendingFrom(pool: Pool, place: string): BorrowConnection {
  const parse = memoize(maxPreparedStatements, parseStatement);

  const connect = async (): Promise<PoolClient> => {
    try {
      return await pool.connect();
    } catch (error) {
      throw createConnectError(error, place);
    }
  };

  const ask = async <T extends Row>(client: PoolClient, sql: string, values: SqlValue[]): Promise<T[]> => {
    const { numbered, placeholders } = parse(sql);
    checkValues(sql, placeholders, values);
    try {
      // Always the extended protocol: the simple one would take several statements at once.
      const { rows } = await client.query<T>({
        text: numbered,
        values,
        queryMode: 'extended',
      } as QueryConfig);
      return rows;
    } catch (error) {
      throw queryError(error, place);
    }
  };

  return async (use) => {
    const client = await connect();
    let sound = true;
    const discard = () => void (sound = false);
    try {
      return await use({ discard, query: (sql, ...values) => ask(client, sql, values) });
    } catch (error) {
      if (isConnectionLost(error)) discard();
      throw error;
    } finally {
      client.release(!sound);
    }
  };
}

/** pg knows `queryMode`; its types do not. */
type QueryConfig = { text: string; values: SqlValue[] };

const INT8 = 20;

/** All of these can be set otherwise in the URL, as in `?statement_timeout=60000`. */
const pgSettings = {
  max: 10,
  application_name: 'workcrate',
  // Covers both a server that does not answer and a pool that is all in use.
  connectionTimeoutMillis: 10_000,
  idleTimeoutMillis: 30_000,
  keepAlive: true,
  statement_timeout: 30_000,
  // The server cannot tell us that the network is gone: somewhat longer than its own limit.
  query_timeout: 35_000,
  // Frees the rows that a stopped process holds.
  idle_in_transaction_session_timeout: 90_000,
} satisfies PoolConfig;

/** The connections, how to make one more, and the name of their server for messages, which is without the password. */
/** The driver would take a part of such a password for the name of the server, and name it in its message. */
function refuseUnencodedPassword(url: string): void {
  const [, authority = '', path = '', rest = ''] = /^\w+:\/\/([^/?#]*)([^?#]*)(.*)$/s.exec(url) ?? [];
  const isOdd = authority.split('@').length > 2 || path.includes('@');
  if (!isOdd && (authority.includes('@') || !rest.includes('@'))) return;
  throw new WorkcrateError(
    'config_invalid',
    'The user or password in the database URL has a character that ends it, such as / or @. Percent-encode it: / is %2F, @ is %40, : is %3A, ? is %3F, # is %23.',
  );
}

async function openPostgresPool(url: string) {
  refuseUnencodedPassword(url);
  const pg = await importPg();
  const types = {
    getTypeParser: ((oid: number, format: 'text') =>
      oid === INT8 ? parseSafeInteger : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
  };
  const pool = new pg.Pool({ ...pgSettings, connectionString: url, types, onConnect: checkDurableCommits });
  // Without a listener, a connection that ends would end the process. The pool opens another.
  pool.on('error', ignore);
  pool.on('connect', (client) => client.on('error', ignore));
  const newClient = (): Client => new pg.Client({ ...pgSettings, connectionString: url });
  return { pool, newClient, place: describePostgresServer(pg.Client, url) };
}

function ignore(): void {}

/** What is acknowledged must be on disk, whatever the server's default is. A setting that waits for more stays. */
async function checkDurableCommits(client: ClientBase): Promise<void> {
  await client.query(
    "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'",
  );
}

async function importPg() {
  try {
    return await import('pg');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw new WorkcrateError(
      'config_invalid',
      'PostgreSQL needs the package pg, which npm left out: run `npm ci` in the checkout, or `npm install pg` elsewhere.',
      { cause: error },
    );
  }
}

function describePostgresServer(Client: typeof import('pg').Client, url: string): string {
  try {
    const { user, host, port, database } = new Client({ connectionString: url });
    return `${user}@${host}:${port}/${database}`;
  } catch {
    // No cause: the error holds the URL, and the URL the password.
    throw new WorkcrateError(
      'config_invalid',
      'The database URL cannot be read. It has the form postgres://user:password@host:5432/database.',
    );
  }
}

function parseSafeInteger(text: string): number {
  const number = Number(text);
  if (Number.isSafeInteger(number)) return number;
  throw new WorkcrateError('database_failed', `The database gave ${text}, which is beyond 2^53.`);
}

const maxTransactionAttempts = 6;

/** Runs `work` in a transaction, again where the server undid it because of another one. */
async function transact<T>(lend: BorrowConnection, work: (tx: Queries) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    let committing = false;
    try {
      return await lend((loan) => runTransaction(loan, work, () => (committing = true)));
    } catch (error) {
      // Lost at COMMIT, it may have been committed; lost before, it surely was not.
      const undone = isConflict(error) || (isConnectionLost(error) && !committing);
      if (!undone || attempt === maxTransactionAttempts) throw error;
    }
    await pause(Math.random() * 10 * 2 ** attempt);
  }
}

async function runTransaction<T>(
  loan: BorrowedConnection,
  work: (tx: Queries) => Promise<T>,
  committing: () => void,
): Promise<T> {
  const queries = serializeQueries(loan);
  // Said outright, since a server may have another default, under which a busy row is an error.
  await queries.query('BEGIN ISOLATION LEVEL READ COMMITTED');
  try {
    const result = await runWork(queries, work);
    committing();
    await queries.query('COMMIT');
    return result;
  } catch (error) {
    // The server rolls back by itself when the connection ends.
    await queries.query('ROLLBACK').catch(() => loan.discard());
    throw error;
  }
}

/** pg will no longer take a query while another is under way. */
function serializeQueries(queries: Queries): Queries {
  const mutex = createMutex(waitingLimit);
  return { query: (sql, ...values) => mutex.run(() => queries.query(sql, ...values)) };
}
