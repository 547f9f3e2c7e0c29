import { asWorkcrateError, publicMessage } from '../errors.ts';
import type { Caller } from '../identity.ts';
import { claims, type RunEnd, type Sandbox } from '../sandbox/sandbox.ts';
import type { ExecutionRequest } from './execute.ts';
import type { ExecutionsOptions } from './executions.ts';
import type { Outputs } from './follow.ts';
import { noDifference, type Difference, type Execution, type Reason } from './fields.ts';
import { insidePath, type InsideFolder } from './working-dir.ts';

/** As it is when it starts. */
export function beginning(
  room: ExecutionsOptions,
  sandbox: Sandbox,
  runtime: string | null,
  caller: Caller,
  id: string,
  folder: InsideFolder,
  { tool, language, code, stdin, timeoutMs }: ExecutionRequest,
): Execution {
  return {
    id,
    owner: caller.user,
    tool,
    language,
    code,
    stdin,
    stdinBytes: Buffer.byteLength(stdin),
    workingDir: insidePath(folder),
    reason: 'running',
    succeeded: false,
    exitCode: null,
    signal: null,
    startedAt: room.clock(),
    durationMs: null,
    endedAt: null,
    stdout: '',
    stderr: '',
    stdoutBytes: 0,
    stderrBytes: 0,
    truncated: false,
    stdoutFile: null,
    stderrFile: null,
    inputs: [],
    artifacts: noDifference,
    limits: {
      ...sandbox.limits,
      timeoutMs: Math.min(timeoutMs ?? room.timeoutMs, room.maxTimeoutMs),
      sandbox: sandbox.kind,
      runtime,
      unenforced: claims.filter((claim) => sandbox.holds[claim] !== true),
    },
  };
}

/** As it is when it has come to its end. */
export function endedAs(
  begun: Execution,
  endedAt: number,
  end: RunEnd,
  { stdout, stderr }: Outputs,
  artifacts: Difference,
): Execution {
  return {
    ...begun,
    reason: end.reason,
    succeeded: end.reason === 'exit' && end.exitCode === 0,
    exitCode: end.exitCode,
    signal: end.signal,
    durationMs: Math.round(end.durationMs),
    endedAt,
    stdout: stdout.text,
    stderr: stderr.text,
    stdoutBytes: stdout.bytes,
    stderrBytes: stderr.bytes,
    truncated: stdout.truncated || stderr.truncated,
    stdoutFile: stdout.spooled?.file?.id ?? null,
    stderrFile: stderr.spooled?.file?.id ?? null,
    artifacts,
  };
}

/** A run without a result of its own; the error stands where it would have written one. */
export function notRun(begun: Execution, endedAt: number, reason: Reason, cause: unknown): Execution {
  return { ...begun, reason, endedAt, durationMs: 0, stderr: publicMessage(asWorkcrateError(cause)) };
}
