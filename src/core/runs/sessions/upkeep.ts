/**
 * What is done for sessions without a call: idle ones are ended, what a crash left is told as lost and removed, old logs
 * and rows go. When that is due is decided in `registry.ts` and in `server/`.
 */
import { join } from 'node:path';
import { readTrustedTime } from '../../../ports/database/trusted-clock.ts';
import { idleEnd } from './ends.ts';
import type { LiveSession } from './live.ts';
import { removeTornSessionLines, sweepSessionLogs } from './log.ts';
import type { Registry } from './registry.ts';
import { removeLeftCopies } from './saved-folder.ts';
import type { SessionsOptions } from './sessions.ts';
import { deleteEndedBefore, isOpen, noteUse } from './store.ts';

const dayMs = 86_400_000;

/** Ends idle sessions, and writes when the others were used. */
export async function lookAfterSessions(
  { database, idleMs }: SessionsOptions,
  live: ReadonlyMap<string, LiveSession>,
  finish: Registry['finish'],
): Promise<void> {
  const now = performance.now();
  for (const [id, session] of live) {
    const { turns, lastUsedSteadily, notedUse } = session;
    if (turns.isFree() && now - lastUsedSteadily >= idleMs) finish(session, idleEnd(idleMs));
    else if (lastUsedSteadily !== notedUse) {
      session.notedUse = lastUsedSteadily;
      await noteUse(database, { ...session, id });
    }
  }
}

/** Says of what a server had open when it ended that it is lost, and gives how many; removes what they left. */
export async function recoverSessions(
  { database, data, workspaces, log }: SessionsOptions,
  registry: Registry,
): Promise<number> {
  const torn = await removeTornSessionLines(join(data, 'logs'));
  if (torn > 0) log.warn('start.torn_lines_removed', { files: torn });
  const lost = await registry.endLost();
  await removeLeftCopies(workspaces, (id) => isOpen(database, id));
  return lost;
}

/**
 * Removes logs and rows of sessions that ended long ago, and gives the number of logs. Sessions of servers that are
 * gone are lost.
 */
export async function sweepSessions(
  { database, clock, data, keepDays }: SessionsOptions,
  registry: Registry,
): Promise<number> {
  await registry.endLost();
  const now = await readTrustedTime(database, clock());
  const before = now - keepDays * dayMs;
  await deleteEndedBefore(database, before);
  return sweepSessionLogs(join(data, 'logs'), before);
}
