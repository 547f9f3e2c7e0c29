/**
 * The tools `get_execution` and `cancel_execution`: they follow a run that is under way, wherever it runs, show one that
 * is over, and end one. What they do is in `follow.ts`, the texts are in `record-text.ts` and `running-answer.ts`.
 */
import { z } from 'zod';
import { makeWholeNumber } from '../mcp/schema.ts';
import { defineTool, type Tool } from '../mcp/tool.ts';
import { toEndLines } from './answer.ts';
import type { Executions } from './executions.ts';
import { reasons } from './fields.ts';
import type { CancelledRun } from './follow.ts';
import { describeExecution } from './record-text.ts';
import { showResultPictures, wantsPictures, type ResultAnswerOptions } from './result-answer.ts';
import { describeNextStep, maxWaitMs } from './running-answer.ts';
import { executionId, executionShape, showExecution } from './schema.ts';
import type { OutputBounds } from './truncation.ts';

export interface FollowToolsOptions extends Pick<ResultAnswerOptions, 'files'> {
  readonly executions: Pick<Executions, 'follow' | 'cancel'>;
  readonly outputBounds: OutputBounds;
}

/** An execution, and what it printed from an offset on. */
const followedShape = z.object({
  ...executionShape.shape,
  output: z
    .object({ text: z.string(), from: z.number(), next: z.number(), end: z.number() })
    .nullable()
    .describe('What it printed, by offsets in characters: go on from next'),
  running_elsewhere: z.boolean().describe('It runs on another server of the same database'),
});

export function createGetExecutionTool(options: FollowToolsOptions): Tool {
  const { executions, outputBounds } = options;
  return defineTool({
    name: 'get_execution',
    group: 'code',
    title: 'See what was run',
    description:
      'Shows a run: code, inputs, output, changed files, limits, how it ended, and the file_id of output that was cut. Can wait for the end of one that is running.',
    input: z.strictObject({
      execution_id: executionId,
      wait_ms: makeWholeNumber(0, maxWaitMs, `How long to wait for its end, at most ${maxWaitMs}`).optional(),
      output_from: makeWholeNumber(
        0,
        Number.MAX_SAFE_INTEGER,
        'Only the output from this offset on, without the code',
      ).optional(),
    }),
    output: followedShape,
    annotations: { readOnlyHint: true, openWorldHint: false },
    auditFields: { subject: ['execution_id'], runEnd: { reason: 'end_reason', exitCode: 'exit_code' } },
    async handle({ execution_id, wait_ms: waitMs = 0, output_from }, { caller, client, signal }) {
      const run = await executions.follow(caller, execution_id, { waitMs, signal });
      const { execution, isElsewhere } = run;
      const isRunning = execution.reason === 'running';
      const output =
        isRunning || output_from !== undefined ? run.readOutput(output_from ?? 0, outputBounds.most) : null;
      const view = { output, isElsewhere, outputFrom: output_from ?? null };
      // Of a run in the background, this is the first answer that can show its figures.
      const { pictures } = wantsPictures(undefined, client)
        ? await showResultPictures(options, caller, execution)
        : { pictures: [] };
      return {
        text: describeExecution(execution, outputBounds, view),
        structured: { ...showExecution(execution), output, running_elsewhere: isElsewhere },
        content: pictures,
      };
    },
  });
}

export function createCancelExecutionTool({ executions }: FollowToolsOptions): Tool {
  return defineTool({
    name: 'cancel_execution',
    group: 'code',
    title: 'End a run',
    description:
      'Ends a run of yours that is running or waiting. get_execution then shows what it had printed.',
    input: z.strictObject({ execution_id: executionId }),
    output: z.object({
      execution_id: z.string(),
      cancelled: z.boolean().describe('False where it was over already, or is not over yet'),
      end_reason: z.enum(reasons),
    }),
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
    auditFields: { subject: ['execution_id'] },
    async handle({ execution_id }, { caller }) {
      const run = await executions.cancel(caller, execution_id);
      const { reason } = run.execution;
      return {
        text: describeCancelled(run),
        structured: { execution_id, cancelled: isCancelled(run), end_reason: reason },
      };
    },
  });
}

const isCancelled = ({ execution, wasOver }: CancelledRun): boolean =>
  !wasOver && execution.reason === 'cancelled';

function describeCancelled(run: CancelledRun): string {
  const { execution, wasOver } = run;
  const [end] = toEndLines(execution);
  if (wasOver) return `${end}\nIt was over already, so nothing was cancelled.`;
  if (isCancelled(run)) return `${end}\nIt has ended. get_execution shows what it had printed.`;
  if (execution.reason !== 'running') return `${end}\nIt ended by itself before it could be cancelled.`;
  return `${end}\nIts server was told to end it, and has not done so yet. ${describeNextStep(execution.id, null)}`;
}
