/**
 * Why sessions end, for programs and in words. The words complete "… ended because". It ends nothing.
 */
import type { RunEnd } from '../../../ports/sandbox/sandbox.ts';
import { formatDuration } from '../../../platform/text/text.ts';

/** `closed` and `reset` were asked for; the rest happened. */
export const sessionEndReasons = [
  'closed',
  'reset',
  'idle',
  'exit',
  'signal',
  'timeout',
  'oom',
  'pids',
  'disk',
  'cancelled',
  'lost',
  'server_stopped',
  'server_restarted',
  'user_removed',
] as const;

export interface SessionEnd {
  readonly reason: (typeof sessionEndReasons)[number];
  /** A clause, without a full stop. */
  readonly text: string;
}

export const closedEnd: SessionEnd = { reason: 'closed', text: 'it was closed' };
export const resetEnd: SessionEnd = { reason: 'reset', text: 'it was begun anew with reset' };
export const stoppedEnd: SessionEnd = { reason: 'server_stopped', text: 'the server was stopped' };
export const restartedEnd: SessionEnd = {
  reason: 'server_restarted',
  text: 'the server ended unexpectedly and was started again',
};
export const forsakenEnd: SessionEnd = { reason: 'lost', text: 'its server did not come back' };
export const removedEnd: SessionEnd = { reason: 'user_removed', text: 'its user was removed' };

export const idleEnd = (idleMs: number): SessionEnd => ({
  reason: 'idle',
  text: `nobody used it for ${formatDuration(idleMs)}`,
});

/** How its interpreter ended by itself, or was ended by the sandbox. */
export function toSessionEnd({ reason, exitCode, signal }: RunEnd): SessionEnd {
  return { reason, text: endTexts[reason](exitCode, signal) };
}

const endTexts: Readonly<
  Record<RunEnd['reason'], (exitCode: number | null, signal: string | null) => string>
> = {
  exit: (exitCode) =>
    `the code ended its interpreter${exitCode === null ? '' : ` with exit code ${exitCode}`}`,
  signal: (_, signal) => `${signal ?? 'a signal'} ended its interpreter`,
  timeout: () => 'a cell that was out of time did not stop when it was interrupted, so it was killed',
  cancelled: () => 'a cell that was cancelled did not stop when it was interrupted, so it was killed',
  oom: () => 'it used more than its memory',
  pids: () => 'it tried to start more than its processes and threads',
  disk: () => 'there was no more disk space, of its user or of the server',
  lost: () => 'its sandbox ended unexpectedly',
};
