import { WorkcrateError } from '../../errors.ts';
import type { PandocJob, PandocWarning } from './pandoc.ts';

/** Names under which Pandoc itself keeps something beside the files of a job. */
const taken = new Set(['stdin', 'stdout', 'stderr', 'warnings']);

const mostName = 100;

/** Names are ours: they begin with a letter or digit and hold no slash. */
export function demandNames({ files = {} }: PandocJob): void {
  for (const name of Object.keys(files))
    if (!/^[a-z0-9][\w.-]*$/i.test(name) || name.length > mostName || taken.has(name))
      throw new WorkcrateError('internal', `${JSON.stringify(name)} is no name for a file of Pandoc's.`);
}

export const filesOf = ({ files = {} }: PandocJob): [name: string, bytes: Uint8Array][] =>
  Object.entries(files).map(([name, content]) => [name, bytesOf(content)]);

export const bytesOf = (content: string | Uint8Array): Uint8Array =>
  typeof content === 'string' ? Buffer.from(content) : content;

/** Where the output is written. No file of a job has a name like this. */
export const outputFile = '.output';

/** Longer ones hold the text that was not understood. */
const mostLength = 600;

/** What Pandoc refused, in its own words, with the line where that is known. */
export function refused(words: string): WorkcrateError {
  const line = lineOf(words);
  return new WorkcrateError('document_invalid', tidy(words), {
    details: line === null ? {} : { line },
  });
}

/** Names of files are ours, and mean nothing to whoever wrote the text. */
function tidy(words: string): string {
  const text = words
    .replace(/^(?:ERROR|pandoc\S*): /, '')
    .replace(/ at "[^"\n]*" \(line/, ' at (line')
    .trim();
  return text.length > mostLength ? `${text.slice(0, mostLength)}…` : text;
}

/** In YAML, lines are counted from 0 on, and from the line where the block begins. */
function lineOf(words: string): number | null {
  const at = numberIn(words, /\(line (\d+), column \d+\)/) ?? numberIn(words, /CiteprocXMLError: (\d+):\d+/);
  const inYaml = numberIn(words, /YAML parse exception at line (\d+)/);
  return inYaml === null ? at : (at ?? 1) + inYaml;
}

function numberIn(words: string, pattern: RegExp): number | null {
  const found = pattern.exec(words)?.[1];
  return found === undefined ? null : Number(found);
}

export function lacksMemory(bytes: number): WorkcrateError {
  const megabytes = Math.round(bytes / 1_000_000);
  return new WorkcrateError(
    'document_failed',
    `This needs more memory than the ${megabytes} MB that building a document may have. Make the document smaller, or raise document-memory.`,
  );
}

/** `cause` is for the log. */
export const broke = (cause: unknown): WorkcrateError =>
  new WorkcrateError('document_failed', 'Pandoc failed at this. Simplify the document, or try it in parts.', {
    cause,
  });

const mostWarnings = 200;

/** The log that Pandoc writes as JSON, without what is of no interest. */
export function warningsIn(text: string): PandocWarning[] {
  if (text.trim() === '') return [];
  return (JSON.parse(text) as LogEntry[])
    .filter(({ verbosity }) => verbosity === 'WARNING' || verbosity === 'ERROR')
    .slice(0, mostWarnings)
    .map((entry) => ({ type: entry.type, message: wordsOf(entry).slice(0, mostLength) }));
}

interface LogEntry {
  readonly type: string;
  readonly verbosity: string;
  /** The whole of it in words; older versions have none. */
  readonly pretty?: string;
  readonly message?: string;
  readonly contents?: string;
}

function wordsOf({ type, pretty, message, contents }: LogEntry): string {
  return pretty ?? message ?? contents ?? type;
}
