/**
 * What `workcrate ask` prints: a line for each thing that happens, the answer and its links, or one JSON document. The key
 * of the endpoint is in none of it, whoever repeats it.
 */
import { escapeControls, formatDuration, quoteName, quoteShort, toPlainJson } from 'workcrate/toolkit';
import type { AgentEvent, AgentResult, SavedLink, SentFile, StepRecord } from './agent.ts';

/** Shorter texts are words, and replacing them everywhere would hide nothing. */
const minKeyLength = 6;

/** Removes a key from a text, also where it is part of JSON. */
export function createKeyFilter(key: string | null): (text: string) => string {
  if (key === null || key.length < minKeyLength) return (text) => text;
  const spellings = [key, toPlainJson(key).slice(1, -1), encodeURIComponent(key)];
  return (text) => spellings.reduce((left, spelling) => left.replaceAll(spelling, '(key)'), text);
}

const maxShownOutput = 200;

/** One line for what happened. */
export function formatEvent(event: AgentEvent): string {
  switch (event.type) {
    case 'text':
      return toPrintable(event.text.trim());
    case 'call':
      return `→ ${quoteName(event.tool)} ${cutShown(toPlainJson(event.input))}`;
    case 'progress':
      return `  ${quoteShort(event.message, maxShownOutput)}`;
    case 'result':
      return `← ${event.call.outcome}: ${quoteShort(event.call.text, maxShownOutput)}`;
    case 'malformed':
      return `Asking again at temperature ${event.temperature}: ${event.problem}`;
    case 'retry':
      return `Asking again${event.waitMs === 0 ? '' : ` after ${formatDuration(event.waitMs)}`}: ${event.problem}`;
  }
}

const cutShown = (text: string): string =>
  text.length <= maxShownOutput ? text : `${text.slice(0, maxShownOutput - 1)}…`;

/** Words of a model: lines stay lines, and no terminal acts on the rest. */
const toPrintable = (text: string): string => text.split('\n').map(toPrintedLine).join('\n');
const toPrintedLine = (line: string): string => line.split('\t').map(escapeControls).join('\t');

export interface AskResult extends AgentResult {
  readonly files: readonly SentFile[];
  readonly saved: readonly SavedLink[];
}

/** The answer and the links, for standard output. */
export function formatAnswer({ answer, links, saved }: AskResult): string {
  const shown = answer === null ? '' : `${toPrintable(answer.trim())}\n`;
  const paths = new Map(saved.map(({ link, path }) => [link.url, path]));
  const lines = links.map(({ url, filename }) => {
    const path = paths.get(url);
    const where =
      path === undefined ? '' : path === null ? ' (could not be saved)' : `, saved as ${quoteName(path)}`;
    return `  ${filename === null ? '' : `${quoteName(filename)}: `}${escapeControls(url)}${where}\n`;
  });
  return `${shown}${lines.length === 0 ? '' : `\nLinks\n${lines.join('')}`}`;
}

/** How much was used, and why it failed if it did, for standard error. */
export function formatEnd({ steps, tokens, failure }: AskResult): string {
  const each = steps.map((step, at) => `step ${at + 1}: ${formatTokens(step.tokens)}`).join('; ');
  const used = `${steps.length} ${steps.length === 1 ? 'step' : 'steps'}, ${formatTokens(tokens)}${steps.length > 1 ? ` (${each})` : ''}`;
  return failure === null ? `${used}\n` : `${used}\nworkcrate: ${failure.message} ${failure.remedy}\n`;
}

function formatTokens({ input, output }: StepRecord['tokens']): string {
  if (input === null || output === null) return 'tokens not told by the endpoint';
  return `${input} tokens in, ${output} out`;
}

/** The whole as one JSON document. Its keys are a contract. */
export const toAskJson = ({ answer, failure, files, links, saved, steps, tokens }: AskResult): string =>
  `${toPlainJson(
    {
      answer,
      error: failure,
      files: files.map(({ filename, fileId, size }) => ({ filename, file_id: fileId, size })),
      links: links.map(({ url, filename }) => ({
        url,
        filename,
        path: saved.find(({ link }) => link.url === url)?.path ?? null,
      })),
      steps: steps.map((step) => ({
        temperature: step.temperature,
        malformed: step.malformed,
        calls: step.calls.map(({ tool, input, outcome, text }) => ({
          tool,
          arguments: input,
          outcome,
          text,
        })),
        tokens_in: step.tokens.input,
        tokens_out: step.tokens.output,
      })),
      tokens_in: tokens.input,
      tokens_out: tokens.output,
    },
    2,
  )}\n`;
