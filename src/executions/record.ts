import { randomBytes } from 'node:crypto';
import type { Queries, Row } from '../database/database.ts';
import type { GivenFile } from './given-files.ts';
import { endReasons, type Language, type Limits, type Sandbox } from '../sandbox/sandbox.ts';

/** `refused` is a run that never started. */
export const reasons = ['running', ...endReasons, 'refused'] as const;
export type Reason = (typeof reasons)[number];

/** Which files changed. Not `complete` where there were too many to compare or to name. */
export interface Difference {
  readonly created: readonly string[];
  readonly modified: readonly string[];
  readonly deleted: readonly string[];
  readonly complete: boolean;
}

export const noDifference: Difference = { created: [], modified: [], deleted: [], complete: true };

/** Under which limits it ran, and what of them did not hold. */
export interface RunLimits extends Limits {
  readonly timeoutMs: number;
  readonly sandbox: Sandbox['kind'];
  /** What ran it, such as `Python 3.11.2`; null where that could not be told. */
  readonly runtime: string | null;
  readonly unenforced: readonly string[];
}

/** One bounded run of code: what was asked for, and what came of it. */
export interface Execution {
  readonly id: string;
  readonly owner: string;
  /** Which tool asked for it. */
  readonly tool: string;
  readonly language: Language;
  readonly code: string;
  /** What it could read from its standard input. */
  readonly stdin: string;
  /** As it was given, which may not be how it could be stored. */
  readonly stdinBytes: number;
  /** As seen inside. */
  readonly workingDir: string;
  readonly reason: Reason;
  readonly succeeded: boolean;
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly startedAt: number;
  readonly durationMs: number | null;
  /** Null while it runs, and in rows of earlier releases. */
  readonly endedAt: number | null;
  /** As shown: cut where it was too long, and then there is a file with the whole. */
  readonly stdout: string;
  readonly stderr: string;
  readonly stdoutBytes: number;
  readonly stderrBytes: number;
  readonly truncated: boolean;
  readonly stdoutFile: string | null;
  readonly stderrFile: string | null;
  /** Files that it was given. */
  readonly inputs: readonly GivenFile[];
  readonly artifacts: Difference;
  readonly limits: RunLimits;
}

export const idForm = /^exec_[0-9a-f]{12}$/;

export function newExecutionId(): string {
  return `exec_${randomBytes(6).toString('hex')}`;
}

/** `server` is the id of the server that runs it: the others leave it alone, and its lines are written there. */
export async function insertRunning(database: Queries, execution: Execution, server: string): Promise<void> {
  await database.query(
    `INSERT INTO executions (id, owner, tool, language, code, working_dir, reason, succeeded, started_at, inputs, limits, haystack, stdin_bytes, stdin, server)
     VALUES (?, ?, ?, ?, ?, ?, 'running', 0, ?, ?, ?, ?, ?, ?, ?)`,
    execution.id,
    execution.owner,
    execution.tool,
    execution.language,
    storable(execution.code),
    storable(execution.workingDir),
    execution.startedAt,
    JSON.stringify(execution.inputs),
    JSON.stringify(execution.limits),
    haystackOf(execution),
    execution.stdinBytes,
    storable(execution.stdin),
    server,
  );
}

/**
 * Gives whether the row has this end now. It has not where there is no such row, or where it was found lost meanwhile:
 * an end is never replaced by another. To write the same end twice is allowed, since the first answer may be lost.
 */
export async function updateEnded(database: Queries, execution: Execution): Promise<boolean> {
  const { stdout, stderr } = execution;
  const rows = await database.query(
    `UPDATE executions SET reason = ?, succeeded = ?, exit_code = ?, signal = ?, duration_ms = ?,
       stdout = ?, stderr = ?, stdout_bytes = ?, stderr_bytes = ?, truncated = ?,
       stdout_file = ?, stderr_file = ?, artifacts = ?, haystack = ?, ended_at = ?
     WHERE id = ? AND (reason = 'running' OR (reason = ? AND ended_at = ?)) RETURNING id`,
    execution.reason,
    execution.succeeded ? 1 : 0,
    execution.exitCode,
    execution.signal,
    execution.durationMs,
    storable(stdout),
    storable(stderr),
    execution.stdoutBytes,
    execution.stderrBytes,
    execution.truncated ? 1 : 0,
    execution.stdoutFile,
    execution.stderrFile,
    JSON.stringify(execution.artifacts),
    haystackOf(execution),
    execution.endedAt,
    execution.id,
    execution.reason,
    execution.endedAt,
  );
  return rows.length > 0;
}

export function executionFromRow(row: Row): Execution {
  return {
    id: row['id'] as string,
    owner: row['owner'] as string,
    tool: row['tool'] as string,
    language: row['language'] as Language,
    code: row['code'] as string,
    stdin: row['stdin'] as string,
    stdinBytes: row['stdin_bytes'] as number,
    workingDir: row['working_dir'] as string,
    reason: row['reason'] as Reason,
    succeeded: row['succeeded'] === 1,
    exitCode: row['exit_code'] as number | null,
    signal: row['signal'] as string | null,
    startedAt: row['started_at'] as number,
    durationMs: row['duration_ms'] as number | null,
    endedAt: row['ended_at'] as number | null,
    stdout: row['stdout'] as string,
    stderr: row['stderr'] as string,
    stdoutBytes: row['stdout_bytes'] as number,
    stderrBytes: row['stderr_bytes'] as number,
    truncated: row['truncated'] === 1,
    stdoutFile: row['stdout_file'] as string | null,
    stderrFile: row['stderr_file'] as string | null,
    inputs: inputsOf(row['inputs'] as string),
    artifacts: { ...noDifference, ...(JSON.parse(row['artifacts'] as string) as Difference) },
    limits: limitsOf(row['limits'] as string),
  };
}

/** Earlier rows know stored files alone, and no runtimes. */
function inputsOf(json: string): GivenFile[] {
  return (JSON.parse(json) as GivenFile[]).map((file) => ({ ...file, origin: file.origin ?? null }));
}

function limitsOf(json: string): RunLimits {
  const limits = JSON.parse(json) as RunLimits;
  return { ...limits, runtime: limits.runtime ?? null };
}

/** What both databases take: PostgreSQL refuses NUL, and UTF-8 knows no half of a surrogate pair. */
function storable(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\u2400');
}

/** How much of each can be searched: every row that is looked at takes its time. */
export const mostSearchedCode = 16 * 1024;
const mostSearchedOutput = 8 * 1024;

function haystackOf({ code, stdout, stderr }: Execution): string {
  const outputs = [stdout, stderr].map((text) => text.slice(0, mostSearchedOutput));
  return searchable([code.slice(0, mostSearchedCode), ...outputs].join('\n'));
}

/** The form in which text is searched, and searched for. */
export function searchable(text: string): string {
  return storable(text).toLowerCase();
}
