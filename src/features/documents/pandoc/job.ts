import { WorkcrateError } from '../../../platform/errors.ts';
import type { PandocJob, PandocWarning } from './pandoc.ts';

/** Names that Pandoc itself uses in the folder of a job. */
const reservedFileNames = new Set(['stdin', 'stdout', 'stderr', 'warnings']);

const maxJobFileNameLength = 100;

/** Names are chosen by us, never by a user: they begin with a letter or digit and have no slash. */
export function checkJobFileNames({ files = {} }: PandocJob): void {
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

/** Longer messages contain the text that was not understood. */
const maxPandocMessageLength = 600;

/** Pandoc's own error message, with the line if it is known. */
export function pandocRefusedError(message: string): WorkcrateError {
  const line = findPandocLine(message);
  return new WorkcrateError('document_invalid', tidyPandocMessage(message), {
    details: line === null ? {} : { line },
  });
}

/** Removes our file names, which mean nothing to the author of the text. */
function tidyPandocMessage(message: string): string {
  const text = message
    .replace(/^(?:ERROR|pandoc\S*): /, '')
    .replace(/ at "[^"\n]*" \(line/, ' at (line')
    .trim();
  return text.length > maxPandocMessageLength ? `${text.slice(0, maxPandocMessageLength)}…` : text;
}

/** In YAML, lines are counted from 0, beginning where the block begins. */
function findPandocLine(message: string): number | null {
  const at =
    matchNumber(message, /\(line (\d+), column \d+\)/) ?? matchNumber(message, /CiteprocXMLError: (\d+):\d+/);
  const inYaml = matchNumber(message, /YAML parse exception at line (\d+)/);
  return inYaml === null ? at : (at ?? 1) + inYaml;
}

function matchNumber(message: string, pattern: RegExp): number | null {
  const found = pattern.exec(message)?.[1];
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

/** The warnings and errors in the log that Pandoc writes as JSON. */
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
  /** The whole message; older versions do not have it. */
  readonly pretty?: string;
  readonly message?: string;
  readonly contents?: string;
}

function getLogEntryText({ type, pretty, message, contents }: PandocLogEntry): string {
  return pretty ?? message ?? contents ?? type;
}
