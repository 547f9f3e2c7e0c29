/**
 * An execution as it is when it starts, when it has come to its end, and when it could not: what is recorded of it. How a
 * run gets from one to the other is in `execute.ts`.
 */
import { asWorkcrateError, publicMessage } from '../errors.ts';
import type { Caller } from '../identity.ts';
import { claims, type CellEnd, type RunEnd, type Sandbox } from '../sandbox/sandbox.ts';
import type { ExecutionRequest } from './execute.ts';
import type { ExecutionsOptions } from './executions.ts';
import { noDifference, unseenDifference, type Difference } from './difference.ts';
import { type Execution, type Reason } from './fields.ts';
import { unknownInputs } from './known-inputs.ts';
import { unknownResults } from './made-results.ts';
import type { RunOutputs } from './output.ts';
import { toInsidePath, type InsideFolder } from './working-dir.ts';

/** As it is when it starts. */
export function toBegunExecution(
  room: ExecutionsOptions,
  sandbox: Sandbox,
  runtime: string | null,
  caller: Caller,
  id: string,
  folder: InsideFolder,
  { tool, language, code, stdin, timeoutMs, session, script, trace }: ExecutionRequest,
): Execution {
  return {
    id,
    owner: caller.user,
    tool,
    language,
    code,
    stdin,
    stdinBytes: Buffer.byteLength(stdin),
    workingDir: toInsidePath(folder),
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
    results: [],
    moreResults: 0,
    inputs: [],
    ...unknownInputs,
    ...unknownResults,
    artifacts: noDifference,
    temporaryFiles: null,
    network: null,
    toolCalls: null,
    toolCallBytes: 0,
    background: null,
    cancelledBy: null,
    limits: {
      ...sandbox.limits,
      timeoutMs: Math.min(timeoutMs ?? room.timeoutMs, room.maxTimeoutMs),
      sandbox: sandbox.kind,
      runtime,
      unenforced: claims.filter((claim) => sandbox.holds[claim] !== true),
    },
    sessionId: session?.id ?? null,
    cell: session?.number ?? null,
    state: null,
    script: script?.label ?? null,
    guard: null,
    peakMemoryBytes: null,
    traceId: trace ?? null,
  };
}

/** As it is when it has come to its end. */
export function toEndedExecution(
  begun: Execution,
  endedAt: number,
  end: RunEnd | CellEnd,
  { stdout, stderr }: RunOutputs,
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
    temporaryFiles: end.temporaryFiles ?? null,
    peakMemoryBytes: end.peakMemoryBytes ?? null,
    state: 'state' in end ? end.state : null,
  };
}

/** A run without a result of its own: its stderr is the error. */
export function toFailedExecution(
  begun: Execution,
  endedAt: number,
  reason: Reason,
  cause: unknown,
): Execution {
  const stderr = publicMessage(asWorkcrateError(cause));
  // One that was lost had begun, and may have changed files.
  const artifacts = reason === 'lost' ? unseenDifference : noDifference;
  return { ...begun, reason, endedAt, durationMs: 0, stderr, artifacts };
}
