import type { Pool, PoolClient } from 'pg';
import { memoize } from '../concurrency/bounded-map.ts';
import type { Queries, Row, SqlValue } from './database.ts';
import { connectError, isConnectionLost, queryError } from './postgres-errors.ts';
import { checkValues, parseStatement } from './statement.ts';

const MOST_STATEMENTS = 500;

/** One connection of the pool, lent for a time. */
export interface Loan extends Queries {
  /** Has the connection closed at the end rather than put back. */
  discard(): void;
}

export type Lend = <T>(use: (loan: Loan) => Promise<T>) => Promise<T>;

export function lendingFrom(pool: Pool, place: string): Lend {
  const parse = memoize(MOST_STATEMENTS, parseStatement);

  const connect = async (): Promise<PoolClient> => {
    try {
      return await pool.connect();
    } catch (error) {
      throw connectError(error, place);
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
