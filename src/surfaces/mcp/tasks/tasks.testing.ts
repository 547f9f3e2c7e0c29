import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Database } from '../../../ports/database/database.ts';
import { openDatabase } from '../../../ports/database/open.ts';
import { createLog } from '../../../platform/observability/log.ts';
import { createTasks, type NewTask, type TasksOptions } from './tasks.ts';

export const ann = { user: 'ann', since: 1000 };
export const bob = { user: 'bob', since: 1000 };
export const minute = 60_000;

/** A database of the test's own, and servers on it whose clock the test sets. */
export async function openBench(t: TestContext) {
  const folder = await mkdtemp(join(tmpdir(), 'workcrate-tasks-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const database = await openDatabase(join(folder, 'tasks.db'));
  t.after(() => database.close());
  const time = { now: 1_000_000 };
  const removedAt = new Map<string, number>();
  const lines: string[] = [];
  const open = (server = 'one', more: Partial<TasksOptions> = {}) => {
    const tasks = createTasks({
      database,
      server,
      ttlMs: minute,
      askMs: minute,
      wasRemoved: async ({ user, since }) => (removedAt.get(user) ?? 0) >= since,
      clock: () => time.now,
      log: createLog('debug', (line) => void lines.push(line)),
      lookMs: 10,
      ...more,
    });
    t.after(() => tasks[Symbol.asyncDispose]());
    return tasks;
  };
  return { database, time, removedAt, lines, open };
}

/** The same database, as if several servers used it. */
export const shareDatabase = (database: Database): Database => ({ ...database, isShared: true });

export const newTask = (caller: NewTask['caller'] = ann, end = new AbortController()): NewTask => ({
  caller,
  tool: 'execute_code',
  execution: null,
  message: '',
  end,
});
