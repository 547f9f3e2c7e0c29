import type { ClientBase, PoolConfig } from 'pg';
import { WorkcrateError } from '../errors.ts';

const INT8 = 20;

/** All of these can be set otherwise in the URL, as in `?statement_timeout=60000`. */
const SETTINGS = {
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

/** The connections, and the name of their server for messages, which is without the password. */
export async function openPool(url: string) {
  const pg = await importPg();
  const types = {
    getTypeParser: ((oid: number, format: 'text') =>
      oid === INT8 ? safeInteger : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
  };
  const pool = new pg.Pool({ ...SETTINGS, connectionString: url, types, onConnect: demandDurableCommits });
  // Without a listener, a connection that ends would end the process. The pool opens another.
  pool.on('error', ignore);
  pool.on('connect', (client) => client.on('error', ignore));
  return { pool, place: placeOf(pg.Client, url) };
}

function ignore(): void {}

/** What is acknowledged must be on disk, whatever the server's default is. A setting that waits for more stays. */
async function demandDurableCommits(client: ClientBase): Promise<void> {
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
      'PostgreSQL needs the package pg, which is not installed: run `npm install pg`.',
      { cause: error },
    );
  }
}

function placeOf(Client: typeof import('pg').Client, url: string): string {
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

function safeInteger(text: string): number {
  const number = Number(text);
  if (Number.isSafeInteger(number)) return number;
  throw new WorkcrateError('database_failed', `The database gave ${text}, which is beyond 2^53.`);
}
