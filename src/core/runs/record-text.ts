/**
 * The texts about earlier runs: all that the record of one says, and a line for each that was found. It reads no
 * records: `executions.ts` does.
 */
import { formatBytes, formatDuration, quoteName, toPlainJson } from '../../platform/text/text.ts';
import { toEndLines, toOutputLines, describeNextStep, toPartLines } from './answer.ts';
import { describeBackground, listLimits } from './describe-run.ts';
import type { Execution, ListedExecution } from './fields.ts';
import type { InputFileRecord } from './input-files.ts';
import { type OutputPart, truncateText, type OutputBounds } from './output.ts';
import type { RunRecord } from './record.ts';
import { toRecordedResultLines } from './results.ts';
import { showEnd } from './schema.ts';
import type { FoundPage } from './store.ts';

/** What get_execution knows of a run beside its record. */
export interface FollowedView {
  /** What it printed, from an offset on; null where only the record has that. */
  readonly output: OutputPart | null;
  readonly isElsewhere: boolean;
  /** The offset that was asked for; null where the whole record is wanted. */
  readonly outputFrom: number | null;
}

/** What get_execution answers. */
export function describeExecution(
  record: RunRecord,
  execution: Execution,
  bounds: OutputBounds,
  view: FollowedView,
): string {
  const { output, outputFrom } = view;
  return outputFrom === null || output === null
    ? describeWholeRun(record, execution, bounds, view)
    : [
        ...toPartLines(output, outputFrom, execution.reason === 'running'),
        ...toRecordedResultLines(execution),
        ...toEndLines(record, execution),
        ...toSessionLines(execution),
        ...record.describe(execution, 'answer'),
        ...describeBackground(execution.background),
        ...toNextLines(execution, view),
      ].join('\n');
}

function toNextLines({ id, reason }: Execution, { output, isElsewhere, outputFrom }: FollowedView): string[] {
  if (reason !== 'running') {
    if (outputFrom !== null && output === null)
      return ['Its output is not kept by offsets any more: this is all that was recorded.'];
    const isMore = output !== null && output.next < output.end;
    return isMore ? [`There is more: get_execution with output_from ${output.next}.`] : [];
  }
  const where = isElsewhere
    ? ['It runs on another server; its output is shown as that saved it last, some seconds ago.']
    : [];
  return [...where, describeNextStep(id, output?.next ?? null)];
}

/** While it runs, its output is only in its record where its server has saved it there. */
function toShownOutput(execution: Execution, { output }: FollowedView): string[] {
  if (execution.reason === 'running' && output !== null) return toPartLines(output, 0, true);
  return ['--- stdout ---', ...toOutputLines(execution)];
}

function describeWholeRun(
  record: RunRecord,
  execution: Execution,
  bounds: OutputBounds,
  view: FollowedView,
): string {
  const { tool, language, workingDir, startedAt, code, stdoutBytes, stderrBytes } = execution;
  const { stdoutFile, stderrFile, limits } = execution;
  const runtime = limits.runtime === null ? language : `${language} (${limits.runtime})`;
  return [
    `${tool}, ${runtime}, in ${quoteName(workingDir)} at ${new Date(startedAt).toISOString()}:`,
    truncateText(code, bounds),
    ...toInputLines(execution),
    ...record.describe(execution, 'inputs'),
    ...toShownOutput(execution, view),
    ...toRecordedResultLines(execution),
    ...toEndLines(record, execution),
    ...toSessionLines(execution),
    ...record.describe(execution, 'record'),
    `Output: ${stdoutBytes} bytes on stdout, ${stderrBytes} on stderr.`,
    ...(stdoutFile === null ? [] : [`All of stdout: share_file with file_id ${stdoutFile}`]),
    ...(stderrFile === null ? [] : [`All of stderr: share_file with file_id ${stderrFile}`]),
    ...describeBackground(execution.background),
    ...(execution.peakMemoryBytes === null ? [] : [`Peak memory: ${execution.peakMemoryBytes} bytes.`]),
    ...(execution.traceId === null ? [] : [`Trace: ${quoteName(execution.traceId)}.`]),
    `Limits in ${limits.sandbox}: ${listLimits(showEnd(execution).limits).join(', ')}.`,
    ...toNextLines(execution, view),
  ].join('\n');
}

function toSessionLines({ sessionId, cell, state }: Execution): string[] {
  if (sessionId === null) return [];
  return [`It was cell ${cell} of session ${sessionId}${state === null ? '' : `: state ${state}`}.`];
}

const maxNamedInputs = 20;

/** What it was given, in a line each. */
function toInputLines({ inputs, stdinBytes }: Execution): string[] {
  const more = inputs.length - maxNamedInputs;
  const files = [
    ...inputs.slice(0, maxNamedInputs).map(describeInput),
    ...(more > 0 ? [`Given: ${more} more files`] : []),
  ];
  return stdinBytes === 0 ? files : [...files, `Given on stdin: ${stdinBytes} bytes`];
}

function describeInput({ fileId, origin, name, size, sha256 }: InputFileRecord): string {
  const source = Object.entries(origin ?? {}).map(([key, value]) => `${quoteName(key)} ${quoteName(value)}`);
  const from = [...(fileId === null ? [] : [fileId]), ...source].join(', ');
  return `Given: ${quoteName(name)}, ${formatBytes(size)}, from ${from}, sha256 ${sha256}`;
}

const maxCodeInLine = 80;

/** What search_executions answers. */
export function describeFoundRuns({ executions, next }: FoundPage): string {
  const lines = executions.map(describeFoundRun);
  if (lines.length === 0) lines.push(next === null ? 'Nothing was found.' : 'Nothing yet.');
  if (next !== null) lines.push(`There may be more: search_executions with after ${next}`);
  return lines.join('\n');
}

function describeFoundRun(found: ListedExecution): string {
  const { id, tool, language, reason, exitCode, startedAt, durationMs, code } = found;
  const end = [
    reason === 'exit' || exitCode === null ? reason : `${reason}, exit code`,
    ...(exitCode === null ? [] : [exitCode]),
    ...(durationMs === null ? [] : [`after ${formatDuration(durationMs)}`]),
  ];
  const start = toPlainJson(code.slice(0, maxCodeInLine));
  return `${id} ${new Date(startedAt).toISOString().slice(0, 19)}Z ${tool} ${language}: ${end.join(' ')}: ${start}`;
}
