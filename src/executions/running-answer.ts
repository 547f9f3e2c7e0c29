/**
 * What is said of runs that go on: the answer of a call that its run outlives, and how to follow and end such a run. The
 * answers about runs that are over are in `answer.ts` and `record-text.ts`.
 */
import type { z } from 'zod';
import type { ToolAnswer } from '../mcp/tool.ts';
import { formatDuration } from '../text.ts';
import type { endedShape } from './answer.ts';
import { showCell, toCellLines, type CellSlot } from './cell-slot.ts';
import { showDifference, unseenDifference } from './difference.ts';
import { type Background, type Execution } from './fields.ts';
import type { OutputPart } from './live-output.ts';
import type { LiveRun } from './live.ts';
import type { OutputBounds } from './truncation.ts';

/** The longest wait that one call of get_execution takes: most clients give up on a call after a minute. */
export const maxWaitMs = 50_000;

/** Why a run goes on, or went on, without the call that began it. */
const backgroundLines: Readonly<Record<Background, string>> = {
  asked: 'In the background, as asked.',
  detached: 'In the background, detached when its call had lasted as long as its client may wait.',
  adopted: 'In the background, adopted by a later call after its own had lost the connection.',
  task: 'In the background, as a task.',
};

/** In a line, if it does. */
export const toBackgroundLines = (background: Background | null): string[] =>
  background === null ? [] : [backgroundLines[background]];

/** Which saved script it runs or ran, in a line, if it does. */
export const toScriptLines = ({ script }: Pick<Execution, 'script'>): string[] =>
  script === null ? [] : [`Script ${script}.`];

/** How to go on with a run that is under way; null: what it prints cannot be read by offsets here. */
export function describeNextStep(id: string, outputFrom: number | null): string {
  const next = {
    execution_id: id,
    wait_ms: maxWaitMs,
    ...(outputFrom === null ? {} : { output_from: outputFrom }),
  };
  const gives = outputFrom === null ? '' : ', and gives the output from there on';
  return `Next: get_execution ${JSON.stringify(next)} waits for its end${gives}. cancel_execution ends it.`;
}

/** A part of what a run printed, with the offsets in words. */
export function toPartLines(part: OutputPart, asked: number, isRunning: boolean): string[] {
  const { text, from, next, end } = part;
  if (end === 0) return [isRunning ? 'No output yet.' : 'No output.'];
  return [
    ...(from > asked ? [`[... truncated ${from - asked} chars ...]`] : []),
    `--- output from ${from} to ${next} of ${end} characters${isRunning ? ' so far' : ''}, stderr too ---`,
    ...(text === '' ? [] : [text.replace(/\n$/, '')]),
  ];
}

/** The answer of a call whose run goes on without it. */
export function buildRunningAnswer(
  live: LiveRun,
  slot: CellSlot | null,
  bounds: OutputBounds,
  now: number,
): ToolAnswer<z.input<typeof endedShape>> {
  const { id, begun, background } = live;
  const output = live.output.read(0, bounds.most);
  const durationMs = Math.max(0, now - begun.startedAt);
  const { timeoutMs, unenforced } = begun.limits;
  return {
    text: [
      ...toPartLines(output, 0, true),
      `[${id}: still running after ${formatDuration(durationMs)}]`,
      ...toBackgroundLines(background),
      `It goes on without this call; its limit is ${formatDuration(timeoutMs)}. Changed files are told at its end.`,
      describeNextStep(id, output.next),
      ...toCellLines({ state: null }, slot),
      ...toScriptLines(begun),
      ...(unenforced.length === 0 ? [] : [`Not enforced here: ${unenforced.join(', ')}.`]),
    ].join('\n'),
    structured: {
      execution_id: id,
      language: begun.language,
      stdout: output.text,
      stderr: '',
      exit_code: null,
      signal: null,
      duration_ms: durationMs,
      timed_out: false,
      truncated: output.from > 0,
      end_reason: 'running',
      artifacts: showDifference(unseenDifference),
      unenforced: [...unenforced],
      hint: null,
      results: [],
      more_results: 0,
      full_stdout: null,
      full_stderr: null,
      background,
      output_next: output.next,
      ...(slot === null ? {} : { session: showCell({ state: null }, slot) }),
      ...(begun.script === null ? {} : { script: begun.script }),
    },
  };
}
