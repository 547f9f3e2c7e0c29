import type { Database } from '../database/database.ts';
import type { Journal } from './journal.ts';

const batch = 500;
const dayMs = 86_400_000;

export interface Retention {
  readonly successDays: number;
  readonly failureDays: number;
}

export interface SweptExecutions {
  readonly executions: number;
  readonly journals: number;
}

/** Forgets executions that are older than their record is kept, rows and lines alike. */
export async function sweepExecutions(
  database: Database,
  journal: Journal,
  now: number,
  { successDays, failureDays }: Retention,
): Promise<SweptExecutions> {
  const before = { successes: now - successDays * dayMs, failures: now - failureDays * dayMs };
  const successes = await forget(database, 1, before.successes);
  const failures = await forget(database, 0, before.failures);
  return { executions: successes + failures, journals: await journal.sweep(before) };
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
