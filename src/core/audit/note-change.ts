/** Has a line of the audit log written for what a command changes: who ran it, on which machine, and what it did. */
import { hostname, userInfo } from 'node:os';
import { addWaitingEvent, type CommandEvent } from './waiting.ts';
import type { Queries } from '../../ports/database/database.ts';

/** To be called in the transaction that makes the change. */
export function noteChange(tx: Queries, change: Omit<CommandEvent, 'user'>, now: number): Promise<void> {
  return addWaitingEvent(tx, { ...change, user: `os:${getSystemUser()}@${hostname()}` }, now);
}

/** In a container there may be no name for the uid. */
function getSystemUser(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid-${process.getuid?.() ?? 'unknown'}`;
  }
}
