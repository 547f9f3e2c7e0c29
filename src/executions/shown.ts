import { z } from 'zod';
import { languages } from '../sandbox/sandbox.ts';
import type { GivenFile } from './given-files.ts';
import { reasons, type Difference, type Execution } from './record.ts';
import type { Found, FoundPage } from './search.ts';

export const differenceShape = z.object({
  created: z.array(z.string()),
  modified: z.array(z.string()),
  deleted: z.array(z.string()),
  complete: z.boolean().describe('False where there may be more changes than are named'),
});

const limitsShape = z.object({
  timeout_ms: z.number(),
  memory_bytes: z.number(),
  processes: z.number(),
  cpus: z.number(),
  file_bytes: z.number(),
  disk_bytes: z.number(),
  tmp_bytes: z.number(),
  sandbox: z.string(),
  runtime: z.string().nullable().describe('What ran it, where that is known'),
  unenforced: z.array(z.string()),
});

/** An execution as tools and routes show it. */
export const executionShape = z.object({
  execution_id: z.string(),
  tool: z.string(),
  language: z.enum(languages),
  code: z.string(),
  stdin_bytes: z.number().describe('How much it was given on stdin'),
  working_dir: z.string(),
  end_reason: z.enum(reasons),
  succeeded: z.boolean(),
  exit_code: z.number().nullable(),
  signal: z.string().nullable(),
  timed_out: z.boolean(),
  started_at: z.string(),
  duration_ms: z.number().nullable(),
  stdout: z.string(),
  stderr: z.string(),
  stdout_bytes: z.number(),
  stderr_bytes: z.number(),
  truncated: z.boolean(),
  stdout_file: z.string().nullable().describe('The file_id of all of stdout, where it was cut'),
  stderr_file: z.string().nullable().describe('The file_id of all of stderr, where it was cut'),
  inputs: z.array(
    z.object({
      file_id: z.string().nullable(),
      origin: z
        .record(z.string(), z.string())
        .nullable()
        .describe('Where it came from, if not from a stored file'),
      name: z.string(),
      size: z.number(),
      sha256: z.string(),
    }),
  ),
  artifacts: differenceShape,
  limits: limitsShape,
});

export function shownExecution(execution: Execution): z.input<typeof executionShape> {
  return {
    execution_id: execution.id,
    tool: execution.tool,
    language: execution.language,
    code: execution.code,
    stdin_bytes: execution.stdinBytes,
    working_dir: execution.workingDir,
    end_reason: execution.reason,
    succeeded: execution.succeeded,
    exit_code: execution.exitCode,
    signal: execution.signal,
    timed_out: execution.reason === 'timeout',
    started_at: new Date(execution.startedAt).toISOString(),
    duration_ms: execution.durationMs,
    stdout: execution.stdout,
    stderr: execution.stderr,
    stdout_bytes: execution.stdoutBytes,
    stderr_bytes: execution.stderrBytes,
    truncated: execution.truncated,
    stdout_file: execution.stdoutFile,
    stderr_file: execution.stderrFile,
    artifacts: shownDifference(execution.artifacts),
    inputs: execution.inputs.map(shownInput),
    limits: shownLimits(execution),
  };
}

function shownInput({ fileId, origin, name, size, sha256 }: GivenFile) {
  return { file_id: fileId, origin: origin && { ...origin }, name, size, sha256 };
}

export function shownDifference({
  created,
  modified,
  deleted,
  complete,
}: Difference): z.input<typeof differenceShape> {
  return { created: [...created], modified: [...modified], deleted: [...deleted], complete };
}

function shownLimits({ limits }: Execution): z.input<typeof limitsShape> {
  return {
    timeout_ms: limits.timeoutMs,
    memory_bytes: limits.memoryBytes,
    processes: limits.processes,
    cpus: limits.cpus,
    file_bytes: limits.fileBytes,
    disk_bytes: limits.diskBytes,
    tmp_bytes: limits.tmpBytes,
    sandbox: limits.sandbox,
    runtime: limits.runtime,
    unenforced: [...limits.unenforced],
  };
}

/** Executions in a list, with the start of their code. */
export const pageShape = z.object({
  executions: z.array(
    z.object({
      execution_id: z.string(),
      tool: z.string(),
      language: z.enum(languages),
      code: z.string().describe('Its first 200 characters; get_execution has all'),
      end_reason: z.enum(reasons),
      succeeded: z.boolean(),
      exit_code: z.number().nullable(),
      started_at: z.string(),
      duration_ms: z.number().nullable(),
    }),
  ),
  next: z.string().nullable(),
});

export function shownPage({ executions, next }: FoundPage): z.input<typeof pageShape> {
  return { executions: executions.map(shownFound), next };
}

function shownFound(found: Found): z.input<typeof pageShape>['executions'][number] {
  return {
    execution_id: found.id,
    tool: found.tool,
    language: found.language,
    code: found.code,
    end_reason: found.reason,
    succeeded: found.succeeded,
    exit_code: found.exitCode,
    started_at: new Date(found.startedAt).toISOString(),
    duration_ms: found.durationMs,
  };
}
