/**
 * The texts about earlier runs: all that the record of one says, and a line for each that was found. It reads no
 * records: `executions.ts` does.
 */
import { formatBytes, formatDuration, quoteName, toPlainJson } from '../text.ts';
import { toEndLines, toOutputLines } from './answer.ts';
import type { Background, Execution, ListedExecution, RunLimits } from './fields.ts';
import type { InputFileRecord } from './input-files.ts';
import { toKnownInputLines } from './known-inputs.ts';
import { toRecordedResultLines } from './result-answer.ts';
import type { FoundPage } from './search.ts';
import { truncateText, type OutputBounds } from './truncation.ts';

/** What get_execution answers. */
export function describeExecution(execution: Execution, bounds: OutputBounds): string {
  const { tool, language, workingDir, startedAt, code, stdoutBytes, stderrBytes } = execution;
  const { stdoutFile, stderrFile, limits } = execution;
  const runtime = limits.runtime === null ? language : `${language} (${limits.runtime})`;
  return [
    `${tool}, ${runtime}, in ${quoteName(workingDir)} at ${new Date(startedAt).toISOString()}:`,
    truncateText(code, bounds),
    ...toInputLines(execution),
    ...toKnownInputLines(execution),
    '--- stdout ---',
    ...toOutputLines(execution),
    ...toRecordedResultLines(execution),
    ...toEndLines(execution),
    ...toSessionLines(execution),
    `Output: ${stdoutBytes} bytes on stdout, ${stderrBytes} on stderr.`,
    ...(stdoutFile === null ? [] : [`All of stdout: share_file with file_id ${stdoutFile}`]),
    ...(stderrFile === null ? [] : [`All of stderr: share_file with file_id ${stderrFile}`]),
    ...(execution.background === null ? [] : [backgroundLines[execution.background]]),
    describeLimits(limits),
  ].join('\n');
}

function toSessionLines({ sessionId, cell, state }: Execution): string[] {
  if (sessionId === null) return [];
  return [`It was cell ${cell} of session ${sessionId}${state === null ? '' : `: state ${state}`}.`];
}

/** Why it went on without the call that began it. */
const backgroundLines: Readonly<Record<Background, string>> = {
  asked: 'It ran in the background, as asked.',
  detached: 'It went on in the background, detached when its call had lasted long enough.',
  adopted: 'Its call lost the connection; it went on, adopted by a later call.',
  task: 'It ran in the background, as a task.',
};

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

function describeLimits(limits: RunLimits): string {
  const { timeoutMs, memoryBytes, processes, cpus, fileBytes, diskBytes, tmpBytes, sandbox } = limits;
  const walls = [
    formatDuration(timeoutMs),
    `${formatBytes(memoryBytes)} of memory`,
    `${processes} processes`,
    `${cpus} CPUs`,
    `${formatBytes(fileBytes)} a file`,
    `${formatBytes(diskBytes)} on disk`,
    `${formatBytes(tmpBytes)} in /tmp`,
  ];
  return `Limits in ${sandbox}: ${walls.join(', ')}.`;
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
