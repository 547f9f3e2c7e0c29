import { isWorkcrateError } from '../errors.ts';
import type { DatabaseCheck, Queries } from './database.ts';

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
  for (const table of await namesOf(queries, 'r'))
    await attempt(`table ${table}`, async (tx) => {
      await tx.query('SET LOCAL statement_timeout = 0');
      await tx.query(`SELECT COUNT(CAST(each AS TEXT)) AS n FROM ${quoted(table)} AS each`);
    });
  const installed = await queries.query("SELECT extname FROM pg_extension WHERE extname = 'amcheck'");
  if (installed.length === 0)
    return { by: 'reading every row of PostgreSQL (indexes too with: CREATE EXTENSION amcheck)', problems };
  for (const index of await namesOf(queries, 'i'))
    await attempt(`index ${index}`, async (tx) => {
      await tx.query('SET LOCAL statement_timeout = 0');
      await tx.query('SELECT bt_index_check(CAST(CAST(? AS TEXT) AS regclass), true) AS done', quoted(index));
    });
  return { by: 'reading every row of PostgreSQL, and amcheck of its indexes', problems };
}

async function namesOf(queries: Queries, kind: 'r' | 'i'): Promise<string[]> {
  const rows = await queries.query<{ name: string }>(
    `SELECT CAST(c.relname AS TEXT) AS name FROM pg_class c LEFT JOIN pg_am a ON a.oid = c.relam
     WHERE c.relnamespace = CAST(current_schema() AS regnamespace) AND CAST(c.relkind AS TEXT) = ?
       AND (CAST(c.relkind AS TEXT) <> 'i' OR a.amname = 'btree')
     ORDER BY 1`,
    kind,
  );
  return rows.map(({ name }) => name);
}

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;
