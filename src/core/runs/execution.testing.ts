import { noDifference } from './difference.ts';
import { type Execution } from './fields.ts';
import { runRecord } from '../../server/run-record.ts';
import { newExecutionId } from './store.ts';

/** A run that went well, at this time, but for what is given. */
export function sampleExecution(startedAt: number, given: Partial<Execution> = {}): Execution {
  return {
    id: newExecutionId(),
    owner: 'ada',
    tool: 'execute_code',
    language: 'python',
    code: 'print(1)',
    stdin: '',
    stdinBytes: Buffer.byteLength(given.stdin ?? ''),
    workingDir: '/workspace',
    reason: 'exit',
    succeeded: given.exitCode === undefined && given.reason === undefined,
    exitCode: 0,
    signal: null,
    startedAt,
    durationMs: 5,
    endedAt: given.reason === 'running' ? null : startedAt + 5,
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
    ...runRecord.initial,
    artifacts: noDifference,
    temporaryFiles: null,
    sessionId: null,
    cell: null,
    state: null,
    background: null,
    cancelledBy: null,
    peakMemoryBytes: null,
    traceId: null,
    limits: { timeoutMs: 1, unenforced: [] as string[] } as unknown as Execution['limits'],
    ...given,
  } as Execution;
}
