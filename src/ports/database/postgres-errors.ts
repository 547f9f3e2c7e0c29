import { getErrno, isWorkcrateError, WorkcrateError, type ErrorCode } from '../../platform/errors.ts';
import { findErrorDetail, type DatabaseCheck, type Queries } from './database.ts';

// SQLSTATEs, from https://www.postgresql.org/docs/current/errcodes-appendix.html
const conflictCodes = new Set<unknown>(['40001', '40P01']);
const endedCodes = new Set(['08000', '08003', '08006', '25P03', '57P01', '57P02', '57P03', '57P05']);
const loginRefusedCodes = new Set(['28000', '28P01', '3D000']);
const diskFullCode = '53100';
const pgReadOnlyCode = '25006';
/** Of a table, of an index. */
const damageCodes = new Set<unknown>(['XX001', 'XX002']);

/** Whether the server undid a transaction because of another one, so that it may be run again. */
export function isConflict(error: unknown): boolean {
  return conflictCodes.has(findErrorDetail(error, 'sqlState'));
}

/** Whether the server reported damaged pages. */
export function isDamage(error: unknown): boolean {
  return damageCodes.has(findErrorDetail(error, 'sqlState'));
}

/** `place` names the server without the password, which is in no message of the driver either. */
export function createConnectError(error: unknown, place: string): WorkcrateError {
  const [code, advice] = explainSqlState(getSqlState(error));
  return new WorkcrateError(code, toOperatorMessage(error, place, advice), { cause: error });
}

export function queryError(error: unknown, place: string): WorkcrateError {
  if (isWorkcrateError(error)) return error;
  const state = getSqlState(error);
  const [code, advice] = explainSqlState(state);
  const details = {
    ...(state !== null && { sqlState: state }),
    ...(isConnectionEnd(state) && { connection: 'lost' }),
  };
  const operatorMessage = toOperatorMessage(error, place, advice);
  const message = postgresCallerMessages[code];
  if (message === undefined) return new WorkcrateError(code, operatorMessage, { cause: error, details });
  // Any caller may read it: only the log names the server.
  return new WorkcrateError(code, message, { cause: new Error(operatorMessage, { cause: error }), details });
}

const postgresCallerMessages: Partial<Record<ErrorCode, string>> = {
  storage_full:
    'The disk of the database is full, so nothing can be written. What was acknowledged is safe. Ask the ' +
    'operator to free some space, then try again.',
  storage_read_only:
    'The database cannot be written to. What was acknowledged is safe. The log of the server says more.',
};

function isConnectionEnd(state: string | null): boolean {
  return state === null || endedCodes.has(state);
}

function explainSqlState(state: string | null): [ErrorCode, string] {
  if (isConnectionEnd(state))
    return ['database_failed', 'Check that the server runs and can be reached, then try again.'];
  if (state === diskFullCode) return ['storage_full', 'Free some space on the database server.'];
  if (state === pgReadOnlyCode) return ['storage_read_only', 'Point the database URL at the primary server.'];
  if (loginRefusedCodes.has(state ?? '')) {
    return ['database_failed', 'Check the user, the password and the database name in the database URL.'];
  }
  return ['database_failed', ''];
}

/** Node's error for a host with several addresses has no message, only a code. */
function toOperatorMessage(error: unknown, place: string, advice: string): string {
  const message = error instanceof Error ? error.message : String(error);
  return `PostgreSQL at ${place}: ${message || getErrno(error)}. ${advice}`.trim();
}

/** What the server answered with; null where the failure is the connection's. */
function getSqlState(error: unknown): string | null {
  if (!(error instanceof Error && 'severity' in error && 'code' in error)) return null;
  return typeof error.code === 'string' ? error.code : null;
}

type Transaction = <T>(work: (tx: Queries) => Promise<T>) => Promise<T>;

/**
 * Reads every row of every table, which shows pages that cannot be read, and has amcheck compare each index with its
 * table where that extension is installed.
 */
export async function verifyPostgres(queries: Queries, transaction: Transaction): Promise<DatabaseCheck> {
  const problems: string[] = [];
  const attempt = async (what: string, work: (tx: Queries) => Promise<unknown>): Promise<void> => {
    try {
      await transaction(work);
    } catch (error) {
      if (!isWorkcrateError(error)) throw error;
      problems.push(`${what}: ${error.message}`);
    }
  };
  for (const table of await listRelationNames(queries, 'r'))
    await attempt(`table ${table}`, async (tx) => {
      await tx.query('SET LOCAL statement_timeout = 0');
      await tx.query(`SELECT COUNT(CAST(each AS TEXT)) AS n FROM ${quoteIdentifier(table)} AS each`);
    });
  const installed = await queries.query("SELECT extname FROM pg_extension WHERE extname = 'amcheck'");
  if (installed.length === 0)
    return { by: 'reading every row of PostgreSQL (indexes too with: CREATE EXTENSION amcheck)', problems };
  for (const index of await listRelationNames(queries, 'i'))
    await attempt(`index ${index}`, async (tx) => {
      await tx.query('SET LOCAL statement_timeout = 0');
      await tx.query(
        'SELECT bt_index_check(CAST(CAST(? AS TEXT) AS regclass), true) AS done',
        quoteIdentifier(index),
      );
    });
  return { by: 'reading every row of PostgreSQL, and amcheck of its indexes', problems };
}

async function listRelationNames(queries: Queries, kind: 'r' | 'i'): Promise<string[]> {
  const rows = await queries.query<{ name: string }>(
    `SELECT CAST(c.relname AS TEXT) AS name FROM pg_class c LEFT JOIN pg_am a ON a.oid = c.relam
     WHERE c.relnamespace = CAST(current_schema() AS regnamespace) AND CAST(c.relkind AS TEXT) = ?
       AND (CAST(c.relkind AS TEXT) <> 'i' OR a.amname = 'btree')
     ORDER BY 1`,
    kind,
  );
  return rows.map(({ name }) => name);
}

const quoteIdentifier = (name: string): string => `"${name.replaceAll('"', '""')}"`;
