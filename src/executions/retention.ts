import type { Clock } from '../clock.ts';
import type { Database } from '../database/database.ts';
import type { Journal } from './journal.ts';
import { executionFromRow, type Execution } from './record.ts';

const batch = 500;
const dayMs = 86_400_000;
/** A row may hold 3 MB of code and stdin. */
const wholeRows = 20;

export interface Retention {
  readonly successDays: number;
  readonly failureDays: number;
}

export interface SweptExecutions {
  readonly executions: number;
  readonly journals: number;
}

/** Forgets executions that are older than their record is kept, and the journals of such days. */
export async function sweepExecutions(
  database: Database,
  journal: Journal,
  clock: Clock,
  { successDays, failureDays }: Retention,
): Promise<SweptExecutions> {
  const now = clock();
  const successes = await forget(database, 1, now - successDays * dayMs);
  const failures = await forget(database, 0, now - failureDays * dayMs);
  const journals = await journal.sweep(now - Math.max(successDays, failureDays) * dayMs);
  return { executions: successes + failures, journals };
}

async function forget(database: Database, succeeded: 0 | 1, before: number): Promise<number> {
  for (let count = 0; ;) {
    const gone = await database.query(
      `DELETE FROM executions WHERE id IN (
         SELECT id FROM executions WHERE succeeded = ? AND started_at < ? AND reason <> 'running'
         ORDER BY started_at LIMIT ${batch}
       ) RETURNING id`,
      succeeded,
      before,
    );
    count += gone.length;
    if (gone.length < batch) return count;
  }
}

/** Says of runs that were under way when their server ended that they are lost, and gives those. */
export async function markLost(
  database: Database,
  startedBefore: number,
  each: (execution: Execution) => Promise<void>,
): Promise<number> {
  for (let count = 0; ;) {
    const lost = await database.query(
      `UPDATE executions SET reason = 'lost' WHERE reason = 'running' AND id IN (
         SELECT id FROM executions
         WHERE succeeded = 0 AND reason = 'running' AND started_at < ? ORDER BY started_at LIMIT ${wholeRows}
       ) RETURNING *`,
      startedBefore,
    );
    for (const row of lost) await each(executionFromRow(row));
    count += lost.length;
    if (lost.length < wholeRows) return count;
  }
}
