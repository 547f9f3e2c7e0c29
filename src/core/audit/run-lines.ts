/**
 * Restores the audit lines of runs that a crash or a loss of power has taken, from their rows in the database. Other
 * calls that change something have their line on disk before they are answered, and need none of this.
 */
import type { Audit, AuditEvent } from './audit.ts';
import { searchAudit } from './tools.ts';

/** Tools whose calls are runs. Each has a row, from which its line can be written again. */
const runTools: ReadonlySet<string> = new Set([
  'execute_code',
  'execute_bash',
  'send_to_session',
  'run_script',
]);

export const isRunTool = (name: string): boolean => runTools.has(name);

/** What the row of a finished run contains. */
export interface RecordedRun {
  readonly id: string;
  readonly owner: string;
  readonly tool: string;
  readonly reason: string;
  readonly exitCode: number | null;
  readonly endedAt: number;
}

export interface RunLinesOptions {
  readonly audit: Audit;
  readonly folder: string;
  readonly key: string | null;
}

/** Lines are written after the end is in the row. */
const clockMarginMs = 60_000;
/** Of the end of the log: some hundred thousand lines, of which the last second is looked for. */
const maxLogBytesRead = 64 * 1024 ** 2;

/**
 * Writes lines again of runs that have none: a loss of power took them, or the server died before it could write them.
 * Their callers may have the result. Gives how many.
 */
export async function restoreRunLines(
  { audit, folder, key }: RunLinesOptions,
  runs: readonly RecordedRun[],
): Promise<number> {
  const wanted = runs.filter(({ tool }) => isRunTool(tool));
  if (wanted.length === 0) return 0;
  const since = Math.min(...wanted.map(({ endedAt }) => endedAt)) - clockMarginMs;
  const { lines } = await searchAudit(
    folder,
    { since, limit: 1_000_000 },
    { key, mostBytes: maxLogBytesRead },
  );
  const there = new Set(lines.map(({ subject }) => subject));
  const missing = wanted.filter(({ id }) => !there.has(id));
  for (const run of missing) audit.note(toRunEvent(run));
  return missing.length;
}

/** What is not in the row, such as the client, is left out. */
function toRunEvent({ id, owner, tool, reason, exitCode, endedAt }: RecordedRun): AuditEvent {
  const isPlain = reason !== 'cancelled' && reason !== 'lost';
  return {
    level: isPlain ? 'trace' : 'info',
    operation: tool,
    user: owner,
    client: null,
    subject: id,
    result: isPlain ? 'ok' : reason,
    details: {
      end_reason: reason,
      exit_code: exitCode,
      restored: true,
      ended_at: new Date(endedAt).toISOString(),
    },
  };
}
