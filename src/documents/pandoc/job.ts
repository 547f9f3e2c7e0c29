import { WorkcrateError } from '../../errors.ts';
import type { PandocJob, PandocWarning } from './pandoc.ts';

/** Names under which Pandoc itself keeps something beside the files of a job. */
const reservedFileNames = new Set(['stdin', 'stdout', 'stderr', 'warnings']);

const maxJobFileNameLength = 100;

/** Names are ours: they begin with a letter or digit and hold no slash. */
export function demandJobFileNames({ files = {} }: PandocJob): void {
  for (const name of Object.keys(files))
    if (!/^[a-z0-9][\w.-]*$/i.test(name) || name.length > maxJobFileNameLength || reservedFileNames.has(name))
      throw new WorkcrateError(
        'internal',
        `${JSON.stringify(name)} is not a valid name for a file of a Pandoc job.`,
      );
}

export const listJobFiles = ({ files = {} }: PandocJob): [name: string, bytes: Uint8Array][] =>
  Object.entries(files).map(([name, content]) => [name, toContentBytes(content)]);

export const toContentBytes = (content: string | Uint8Array): Uint8Array =>
  typeof content === 'string' ? Buffer.from(content) : content;

/** Where the output is written. No file of a job has a name like this. */
export const pandocOutputFile = '.output';

/** Longer ones hold the text that was not understood. */
const maxPandocMessageLength = 600;

/** What Pandoc refused, in its own words, with the line where that is known. */
export function pandocRefusedError(words: string): WorkcrateError {
  const line = findPandocLine(words);
  return new WorkcrateError('document_invalid', tidyPandocMessage(words), {
    details: line === null ? {} : { line },
  });
}

/** Names of files are ours, and mean nothing to whoever wrote the text. */
function tidyPandocMessage(words: string): string {
  const text = words
    .replace(/^(?:ERROR|pandoc\S*): /, '')
    .replace(/ at "[^"\n]*" \(line/, ' at (line')
    .trim();
  return text.length > maxPandocMessageLength ? `${text.slice(0, maxPandocMessageLength)}…` : text;
}

/** In YAML, lines are counted from 0 on, and from the line where the block begins. */
function findPandocLine(words: string): number | null {
  const at =
    matchNumber(words, /\(line (\d+), column \d+\)/) ?? matchNumber(words, /CiteprocXMLError: (\d+):\d+/);
  const inYaml = matchNumber(words, /YAML parse exception at line (\d+)/);
  return inYaml === null ? at : (at ?? 1) + inYaml;
}

function matchNumber(words: string, pattern: RegExp): number | null {
  const found = pattern.exec(words)?.[1];
  return found === undefined ? null : Number(found);
}

export function pandocMemoryError(bytes: number): WorkcrateError {
  const megabytes = Math.round(bytes / 1_000_000);
  return new WorkcrateError(
    'document_failed',
    `Building the document needs more than its ${megabytes} MB of memory. Make the document smaller, or ask the operator to raise --document-memory.`,
  );
}

/** `cause` is for the log. */
export const pandocFailedError = (cause: unknown): WorkcrateError =>
  new WorkcrateError(
    'document_failed',
    'Pandoc failed on this document. Simplify it, or build it in parts.',
    {
      cause,
    },
  );

const maxPandocWarnings = 200;

/** The log that Pandoc writes as JSON, without what is of no interest. */
export function parsePandocLog(text: string): PandocWarning[] {
  if (text.trim() === '') return [];
  return (JSON.parse(text) as PandocLogEntry[])
    .filter(({ verbosity }) => verbosity === 'WARNING' || verbosity === 'ERROR')
    .slice(0, maxPandocWarnings)
    .map((entry) => ({ type: entry.type, message: getLogEntryText(entry).slice(0, maxPandocMessageLength) }));
}

interface PandocLogEntry {
  readonly type: string;
  readonly verbosity: string;
  /** The whole of it in words; older versions have none. */
  readonly pretty?: string;
  readonly message?: string;
  readonly contents?: string;
}

function getLogEntryText({ type, pretty, message, contents }: PandocLogEntry): string {
  return pretty ?? message ?? contents ?? type;
}
