/**
 * What is done for sessions without a call: idle ones are ended, what a crash left is told as lost and removed, old logs
 * and rows go. The timer is here; when the rest is due is decided in `server/`.
 */
import { join } from 'node:path';
import { readTrustedTime } from '../../../ports/database/trusted-clock.ts';
import { forsakenEnd, idleEnd, removedEnd, restartedEnd } from './ends.ts';
import { removeTornSessionLines, sweepSessionLogs } from './log.ts';
import type { Registry } from './registry.ts';
import { removeLeftCopies } from './saved-folder.ts';
import type { SessionsOptions } from './sessions.ts';
import { deleteEndedBefore, endRow, isOpen, listForsaken, listOpenOfServer, noteUse } from './store.ts';

const dayMs = 86_400_000;

/** By a timer, since nobody may ever call again. */
export function startReaper(options: SessionsOptions, registry: Registry): AsyncDisposable {
  const { database, server, log, idleMs } = options;
  const { live } = registry;
  const everyMs = Math.min(15_000, Math.max(100, idleMs / 4));

  async function reap(): Promise<void> {
    const now = performance.now();
    for (const session of live.values())
      if (session.turns.isFree() && now - session.lastUsedSteadily >= idleMs)
        registry.finish(session, idleEnd(idleMs));
    if (live.size === 0) return;
    // Before the question, since others may be opened meanwhile.
    const known = [...live.values()];
    const open = new Set((await listOpenOfServer(database, server)).map(({ id }) => id));
    for (const session of known) {
      const { id } = session.record;
      if (!open.has(id)) registry.finish(session, removedEnd);
      else if (session.lastUsedSteadily >= now - 2 * everyMs) await noteUse(database, { ...session, id });
    }
  }

  let reaping = Promise.resolve();
  const timer = setInterval(() => {
    reaping = reaping.then(reap).catch((error: unknown) => log.error('session.not_reaped', { error }));
  }, everyMs).unref();
  return {
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      await reaping;
    },
  };
}

/** Says of what this server had open when it ended that it is lost, and gives how many; removes what they left. */
export async function recoverSessions(
  { database, server, clock, data, workspaces, executions, log }: SessionsOptions,
  registry: Registry,
): Promise<number> {
  const torn = await removeTornSessionLines(join(data, 'logs'));
  if (torn > 0) log.warn('start.torn_lines_removed', { files: torn });
  const lost = await listOpenOfServer(database, server);
  for (const record of lost) {
    // Its row was written now and then only; each cell has one of its own.
    const cells = Math.max(record.cells, await executions.countCells(record.id));
    await endRow(database, { ...record, cells }, restartedEnd, clock());
    registry.openLog(record.id).note('ended', { ...restartedEnd });
  }
  await removeLeftCopies(workspaces, (id) => isOpen(database, id));
  return lost.length;
}

/**
 * Removes logs and rows of sessions that ended long ago, and gives the number of logs. Sessions of servers that never came
 * back are lost.
 */
export async function sweepSessions(options: SessionsOptions): Promise<number> {
  const { database, server, clock, data, keepDays } = options;
  const now = await readTrustedTime(database, clock());
  if (database.isShared)
    for (const record of await listForsaken(database, server, now - getLongestSilenceMs(options)))
      await endRow(database, record, forsakenEnd, clock());
  const before = now - keepDays * dayMs;
  await deleteEndedBefore(database, before);
  return sweepSessionLogs(join(data, 'logs'), before);
}

/** Longer than any session can go without being used or ended by its server. */
const getLongestSilenceMs = ({ idleMs, maxTimeoutMs }: SessionsOptions): number =>
  idleMs + 12 * maxTimeoutMs + 3_600_000;
