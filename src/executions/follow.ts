import { isOurFault } from '../errors.ts';
import type { Run, RunEnd } from '../sandbox/sandbox.ts';
import type { ExecutionsOptions } from './executions.ts';
import { takeOutput, type Output } from './output.ts';
import { createOutputProgress, type Report } from './progress.ts';
import type { Execution } from './fields.ts';
import { createSpool, type Budget, type Spool } from './spool.ts';

export interface Outputs {
  readonly stdout: Output;
  readonly stderr: Output;
}

type Stream = keyof Outputs;

/** Reads both outputs of a run to their ends, passing them on as they come. */
export async function follow(
  room: ExecutionsOptions,
  execution: Execution,
  run: Run,
  report: Report,
): Promise<{ end: RunEnd; outputs: Outputs }> {
  using progress = createOutputProgress(report);
  // A file may not be larger than files may be, or none of it would be kept.
  const budget: Budget = { left: Math.min(room.outputBytes, room.files.maxFileSize) };
  const take = (stream: Stream): Promise<Output> =>
    takeOutput(run[stream], {
      bounds: room.outputBounds,
      spool: () => spoolFor(room, execution, stream, budget),
      heard: progress.heard,
    });
  const [stdout, stderr, end] = await Promise.all([take('stdout'), take('stderr'), run.ended]);
  reportLosses(room, execution, { stdout, stderr });
  return { end, outputs: { stdout, stderr } };
}

function spoolFor(
  { files, keepOutputSeconds: keepSeconds }: ExecutionsOptions,
  { id, owner: user }: Execution,
  stream: Stream,
  budget: Budget,
): Spool {
  const file = { name: `${id}.${stream}.txt`, origin: 'output', keepSeconds };
  return createSpool((bytes) => files.add({ user }, file, bytes), budget);
}

function reportLosses({ log }: ExecutionsOptions, { id }: Execution, outputs: Outputs): void {
  for (const { spooled } of Object.values(outputs) as Output[]) {
    const error = spooled?.failure;
    if (error) log[isOurFault(error) ? 'error' : 'info']('execution.output_not_kept', { id, error });
  }
}
