import type { Queries, Row } from '../../../ports/database/database.ts';

/** Which model serves, and how far the writing of vectors has come. */
export interface State {
  readonly model: number;
  readonly provider: string;
  readonly version: string;
  readonly sampled: number;
  readonly sequence: number;
  readonly purges: number;
  readonly hasMissed: boolean;
}

type StateRow = Row & {
  model: number;
  provider: string;
  version: string;
  sampled: number;
  sequence: number;
  purges: number;
  has_missed: number;
};

/** Null before the first model. */
export async function readState(queries: Queries): Promise<State | null> {
  const [row] = await queries.query<StateRow>(
    `SELECT m.model, m.provider, m.version, m.sampled, s.sequence, s.purges, s.has_missed
     FROM crate_meaning s JOIN crate_models m ON m.model = s.model WHERE s.only_one = 1`,
  );
  if (row === undefined) return null;
  const { has_missed, ...state } = row;
  return { ...state, hasMissed: has_missed === 1 };
}

/** How often vectors were written, and how often the corpus has changed. */
export async function readCounters(queries: Queries): Promise<{ sequence: number; edits: number }> {
  const [row] = await queries.query<{ sequence: number; edits: number }>(
    'SELECT sequence, edits FROM crate_meaning WHERE only_one = 1',
  );
  return row!;
}

/**
 * The next number for vectors written in this transaction, or null where `serving` is no longer the model that serves.
 * The row stays locked until the transaction ends, so that numbers become visible in their order.
 */
export async function nextSequence(
  tx: Queries,
  edits: number,
  serving: number | null,
): Promise<number | null> {
  const which = serving === null ? '' : 'AND model = ?';
  const [row] = await tx.query<{ sequence: number }>(
    `UPDATE crate_meaning SET sequence = sequence + 1, edits = edits + ?
     WHERE only_one = 1 ${which} RETURNING sequence`,
    edits,
    ...(serving === null ? [] : [serving]),
  );
  return row?.sequence ?? null;
}

/** From now on this model serves: one row, so nobody sees half of it. False where the lease was lost. */
export async function switchTo(
  queries: Queries,
  model: number,
  edits: number,
  holder: string,
): Promise<boolean> {
  const rows = await queries.query(
    `UPDATE crate_meaning SET model = ?, sequence = sequence + 1,
       has_missed = CASE WHEN edits = ? THEN 0 ELSE 1 END
     WHERE only_one = 1 AND lease_holder = ? RETURNING model`,
    model,
    edits,
    holder,
  );
  return rows.length > 0;
}
