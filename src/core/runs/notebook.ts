/**
 * Writes executions as a notebook (.ipynb, nbformat 4.5): a code cell each, with its output, its results from stored
 * files, and its error. It is written cell by cell, so that no more than one result is in memory. What is gone or too
 * large is named in the text of its result. It stores nothing, and runs nothing.
 */
import type { Files } from '../files/files.ts';
import type { Caller } from '../identity.ts';
import type { Language } from '../../ports/sandbox/sandbox.ts';
import { collectText, collectBytes } from '../../platform/streams.ts';
import { formatBytes } from '../../platform/text/text.ts';
import { describeEndOfRun } from './answer.ts';
import type { Execution } from './fields.ts';
import { isJson, type ResultPart, type RunResult } from './results.ts';

export interface NotebookOptions {
  readonly files: Pick<Files, 'find' | 'open'>;
  readonly caller: Caller;
  readonly language: Language;
}

/** In all, before base64: people open notebooks in editors, which take long for more. */
const maxEmbeddedBytes = 32 * 1024 ** 2;

interface EmbeddingBudget {
  left: number;
}

/** The bytes of the notebook. Executions are cells in their order. */
export async function* writeNotebook(
  options: NotebookOptions,
  executions: Iterable<Execution> | AsyncIterable<Execution>,
): AsyncGenerator<Uint8Array> {
  const budget: EmbeddingBudget = { left: maxEmbeddedBytes };
  let number = 0;
  let runtime: string | null = null;
  yield Buffer.from('{\n "cells": [');
  for await (const execution of executions) {
    runtime ??= execution.limits.runtime;
    const start = number++ === 0 ? '\n' : ',\n';
    yield Buffer.from(`${start}${toNotebookJson(await toCell(options, budget, execution, number))}`);
  }
  const { language } = options;
  const metadata = { kernelspec: kernelspecs[language], language_info: toLanguageInfo(language, runtime) };
  yield Buffer.from(
    `\n ],\n "metadata": ${toNotebookJson(metadata)},\n "nbformat": 4,\n "nbformat_minor": 5\n}\n`,
  );
}

/** Half of a surrogate pair would be no UTF-8. */
const toNotebookJson = (value: unknown): string => JSON.stringify(value, null, 1);

const kernelspecs: Readonly<Record<Language, object>> = {
  python: { display_name: 'Python 3', language: 'python', name: 'python3' },
  node: { display_name: 'JavaScript (Node.js)', language: 'javascript', name: 'javascript' },
  bash: { display_name: 'Bash', language: 'bash', name: 'bash' },
};

const languageInfos: Readonly<Record<Language, object>> = {
  python: { name: 'python', file_extension: '.py', mimetype: 'text/x-python', pygments_lexer: 'ipython3' },
  node: { name: 'javascript', file_extension: '.js', mimetype: 'text/javascript' },
  bash: { name: 'bash', file_extension: '.sh', mimetype: 'text/x-sh', codemirror_mode: 'shell' },
};

function toLanguageInfo(language: Language, runtime: string | null): object {
  const [version] = /\d+(?:\.\d+)+/.exec(runtime ?? '') ?? [];
  return { ...languageInfos[language], ...(version === undefined ? {} : { version }) };
}

async function toCell(
  options: NotebookOptions,
  budget: EmbeddingBudget,
  execution: Execution,
  number: number,
): Promise<object> {
  const execution_count = execution.cell ?? number;
  const { error, stderr } = splitError(execution);
  const outputs: object[] = [...toStream('stdout', execution.stdout), ...toStream('stderr', stderr)];
  for (const result of execution.results)
    outputs.push(await toResultOutput(options, budget, result, execution_count));
  if (execution.moreResults > 0)
    outputs.push(...toStream('stderr', `${execution.moreResults} more results were only counted.\n`));
  if (error !== null) outputs.push(error);
  return {
    cell_type: 'code',
    execution_count,
    id: execution.id,
    metadata: {},
    outputs,
    source: execution.code.toWellFormed(),
  };
}

const toStream = (name: 'stdout' | 'stderr', text: string): object[] =>
  text === '' ? [] : [{ name, output_type: 'stream', text: text.toWellFormed() }];

/** Of Python and of Node. Names of classes may have dots, and need not end in Error. */
const tracebackStart = 'Traceback (most recent call last):\n';
const errorLine = /^(?:Uncaught )?(?<ename>[A-Za-z_$][\w.$]{0,100})(?:: (?<evalue>.*))?$/;
const nodeErrorLine = /^(?:Uncaught )?(?<ename>[A-Z][\w$]{0,100}(?:Error|Exception)): (?<evalue>.*)$/m;

/** The error of a cell, and what it printed on stderr besides. */
function splitError(execution: Execution): { error: object | null; stderr: string } {
  const { stderr, succeeded, reason } = execution;
  if (succeeded || reason === 'running') return { error: null, stderr };
  const at = stderr.lastIndexOf(tracebackStart);
  const isTraceback = execution.language === 'python' && at >= 0;
  const trace = isTraceback ? stderr.slice(at).trimEnd() : stderr;
  const named = isTraceback ? findRaised(trace) : nodeErrorLine.exec(trace)?.groups;
  const end = describeEndOfRun(execution);
  return {
    error: {
      output_type: 'error',
      ename: named?.['ename'] ?? reason,
      evalue: (named?.['ename'] === undefined ? end : (named['evalue'] ?? '')).toWellFormed(),
      traceback: (isTraceback ? trace : end).toWellFormed().split('\n'),
    },
    stderr: isTraceback ? stderr.slice(0, at) : stderr,
  };
}

/** The first line behind the frames, which are indented; a message may have further lines. */
function findRaised(trace: string): Record<string, string | undefined> | undefined {
  const lines = trace.split('\n');
  const last = lines.findLastIndex((line) => line.startsWith('  '));
  return errorLine.exec(lines[last + 1] ?? '')?.groups;
}

async function toResultOutput(
  options: NotebookOptions,
  budget: EmbeddingBudget,
  result: RunResult,
  execution_count: number,
): Promise<object> {
  const data: Record<string, unknown> = {};
  const notes: string[] = [];
  for (const part of result.parts) {
    const embedded = await embedPart(options, budget, part);
    if (typeof embedded === 'object') data[part.mime] = embedded.value;
    else notes.push(`[${part.mime}, ${formatBytes(part.size)}, is not in this notebook: ${embedded}]`);
  }
  data['text/plain'] = [(data['text/plain'] as string | undefined) ?? result.text, ...notes]
    .filter((text) => text !== '')
    .join('\n');
  if (result.kind !== 'value') return { output_type: 'display_data', data, metadata: {} };
  return { output_type: 'execute_result', execution_count, data, metadata: {} };
}

/** As the format has them: pictures and PDF in base64, JSON as a value, all else as text. */
const binaryTypes = /^(?:image\/(?!svg)|application\/pdf$)/;

/** The part, or why it is left out. */
async function embedPart(
  { files, caller }: NotebookOptions,
  budget: EmbeddingBudget,
  { mime, size, fileId, problem }: ResultPart,
): Promise<{ readonly value: unknown } | string> {
  if (mime === 'application/octet-stream') return 'its type is not known';
  if (fileId === null) return `it could not be stored: ${problem}`;
  if (size > budget.left) return `it is too large, its file_id is ${fileId}`;
  const file = await files.find(caller, fileId);
  await using object = file && (await files.open(file));
  if (object === null) return 'its file has expired';
  budget.left -= size;
  const bytes = object.read(0, object.size);
  if (binaryTypes.test(mime)) return { value: (await collectBytes(bytes)).toString('base64') };
  const text = await collectText(bytes);
  return isJson(mime) ? parseJsonPart(text) : { value: text };
}

function parseJsonPart(text: string): { readonly value: unknown } | string {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return 'it is not JSON';
  }
}
