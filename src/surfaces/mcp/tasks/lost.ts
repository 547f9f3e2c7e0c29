/** Tasks whose server ended while they ran: they failed, and their error says that what they did is lost. */
import type { Database } from '../../../ports/database/database.ts';
import { findLost, updateOver } from './store.ts';
import type { Task, TaskOutcome } from './task.ts';

/** A server of the same database that said nothing for so long is gone. */
const silentMs = 60_000;

export interface LostOptions {
  readonly database: Database;
  readonly server: string;
  /** Tasks of this server that are running. */
  readonly live: ReadonlySet<string>;
  readonly now: number;
  /** How long the error is kept. */
  readonly ttlMs: number;
}

/** Says of tasks that no server runs any more that they are lost, and gives their number. */
export async function markLost({ database, server, live, now, ttlMs }: LostOptions): Promise<number> {
  const othersSilentSince = database.isShared ? now - silentMs : null;
  const lost = await findLost(database, { server, live, othersSilentSince });
  for (const task of lost) {
    const outcome = createLostOutcome(task, 'ended');
    await updateOver(database, {
      ...task,
      status: 'failed',
      message: lostMessage,
      updatedAt: now,
      expiresAt: now + ttlMs,
      outcome,
    });
  }
  return lost.length;
}

/** What a task says of itself that its server did not finish. */
export const lostMessage = 'lost: the server ended while it was running';

const internalErrorCode = -32_603;

/** How a task ends that its server did not finish. */
export const createLostOutcome = ({ tool, execution }: Task, how: 'ended' | 'stopped'): TaskOutcome => ({
  status: 'failed',
  error: {
    code: internalErrorCode,
    message: `The server ${how} while this task was running: ${tool} had not finished, and its result is lost. ${
      execution === null ? 'Call it again.' : `get_execution shows what is known of ${execution}.`
    }`,
    data: { code: 'lost' },
  },
});
