/**
 * Search in the audit log: the tool `search_audit`, and the same search for the command line. It marks lines that were
 * changed, but checks no chain: `verify.ts` does.
 */
import { join } from 'node:path';
import { z } from 'zod';
import { getErrno, WorkcrateError } from '../../platform/errors.ts';
import { listAs, makeText, makeWholeNumber } from '../offer/schema.ts';
import { declareTool, type DeclaredTool } from '../offer/tool.ts';
import { programName } from '../../platform/program.ts';
import { toPlainJson } from '../../platform/text/text.ts';
import { auditLevels, type AuditLevel } from './audit.ts';
import {
  listAuditFiles,
  auditDayMs,
  getFileDay,
  toFileOfStem,
  compareAuditFiles,
  momentSchema,
  NotAFile,
  getFileStem,
  parseMoment,
} from './files.ts';
import { isSealIntact, parseAuditLine, type AuditLine } from './line.ts';
import { readBackwards } from './read.ts';

export interface AuditRoom {
  readonly folder: string;
  readonly key: string | null;
}

/** The form of a `next`. */
export const positionForm = /^(\d{4}-\d{2}-\d{2}(?:\.[1-9]\d{0,5})?):(\d{1,15})$/;

const makeMoment = (description: string) => listAs(momentSchema, { type: 'string', description }).optional();

const foundLineSchema = z.object({
  seq: z.number(),
  time: z.string(),
  level: z.enum(auditLevels),
  operation: z.string(),
  user: z.string(),
  client: z.string().nullable(),
  subject: z.string().nullable(),
  result: z.string(),
  details: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()])),
  intact: z.boolean().describe('False for a line that was changed after it was written'),
});

/** What `search_audit` answers. */
export const auditPageShape = z.object({ lines: z.array(foundLineSchema), next: z.string().nullable() });

const searchAuditTool = declareTool({
  name: 'search_audit',
  group: 'operator',
  title: 'Search the audit log',
  description: `For operators: who did what on this server, all users, newest first. Violations have level warning; folded counts similar ones within a minute. ${programName} audit verify checks that no line was changed or removed.`,
  input: z.strictObject({
    text: makeText(1000, 'Anywhere in a line, in any case').optional(),
    user: makeText(200).optional(),
    operation: makeText(200, 'Such as read_client_file').optional(),
    result: makeText(200, 'ok, failed (anything else), or an error code').optional(),
    level: z.enum(auditLevels).optional().describe('The least severe'),
    since: makeMoment('From then on: 2026-05-04, or 2026-05-04T12:00Z'),
    until: makeMoment('Before then; 2026-05-05 ends with 2026-05-04'),
    limit: makeWholeNumber(1, 200, 'Default 50, at most 200').optional(),
    before: listAs(z.string().regex(positionForm), {
      type: 'string',
      description: 'The next of the previous page',
    }).optional(),
  }),
  output: auditPageShape,
  annotations: { readOnlyHint: true, openWorldHint: false },
  auditFields: { subject: [] },
  async handle({ folder, key }: AuditRoom, { since, until, limit = 50, ...query }, { mayUse, signal }) {
    // Those without authentication may use every group; keys and tokens have to name this one.
    if (!mayUse('operator'))
      throw new WorkcrateError(
        'forbidden',
        'The audit log is for operators, and this key has no operator scope.',
      );
    const times = { since: parseMoment(since), until: parseMoment(until) };
    const page = await searchAudit(folder, { ...query, limit, ...times }, { key, signal });
    return {
      text: formatFoundPage(page, (next) => `before ${next}.`),
      structured: { lines: page.lines.map(toFoundLine), next: page.next },
    };
  },
});

/** Tools for those who look after the server. */
export const auditTools: readonly DeclaredTool<AuditRoom>[] = [searchAuditTool];

function toFoundLine({
  prev: _prev,
  hash: _hash,
  details = {},
  ...line
}: FoundLine): z.input<typeof foundLineSchema> {
  return { ...line, details: { ...details } };
}

export interface AuditQuery {
  /** Text in any field of a line, also in names of details; upper or lower case. */
  readonly text?: string | undefined;
  readonly user?: string | undefined;
  readonly operation?: string | undefined;
  /** `ok`, `failed` for all else, or a code. */
  readonly result?: string | undefined;
  /** The least severe. */
  readonly level?: AuditLevel | undefined;
  /** From then on, in milliseconds. */
  readonly since?: number | undefined;
  /** Before then. */
  readonly until?: number | undefined;
  readonly limit: number;
  /** The `next` of the page before. */
  readonly before?: string | undefined;
}

export interface FoundLine extends AuditLine {
  /** Whether it is what its hash was made of. `workcrate audit verify` checks the chain as well. */
  readonly intact: boolean;
}

export interface FoundLines {
  readonly lines: readonly FoundLine[];
  /** Given as `before`, it goes on from there; null at the end of the log. */
  readonly next: string | null;
  /** Names of files of the log that are a link, a folder or a pipe. They are not read. */
  readonly passedOver: readonly string[];
}

export interface SearchOptions {
  readonly key: string | null;
  readonly signal?: AbortSignal;
  /** How much is read for a page, which may end early for that. */
  readonly mostBytes?: number;
}

const defaultSearchBytes = 256 * 1024 ** 2;

/** The newest lines first. Files are read from their ends, a piece at a time. */
export async function searchAudit(
  folder: string,
  query: AuditQuery,
  { key, signal, mostBytes = defaultSearchBytes }: SearchOptions,
): Promise<FoundLines> {
  const isWanted = createLineFilter(query);
  const from = query.before === undefined ? null : parsePosition(query.before);
  const lines: FoundLine[] = [];
  const passedOver: string[] = [];
  let [left, next] = [mostBytes, query.before ?? null];
  for (const file of await listFilesSince(folder, query, from))
    for await (const stretch of readLinesOfFile(folder, file, from, passedOver)) {
      signal?.throwIfAborted();
      for (const [at, line] of stretch.lines.entries()) {
        if (lines.length === query.limit) return { lines, next, passedOver };
        next = `${getFileStem(file)}:${stretch.starts[at]!}`;
        const hit = isWanted(line);
        if (hit !== null) lines.push({ ...hit, intact: isSealIntact(line, hit, key) });
      }
      left -= stretch.bytes;
      if (left <= 0 && next !== (query.before ?? null)) return { lines, next, passedOver };
    }
  return { lines, next: null, passedOver };
}

/** A place in a file, which stays where it is: nothing that a line says can lead elsewhere. */
interface Position {
  readonly file: string;
  readonly at: number;
}

function parsePosition(text: string): Position {
  const [, stem = '', at] = positionForm.exec(text) ?? [];
  const file = toFileOfStem(stem);
  if (file === null)
    throw new WorkcrateError('invalid_input', 'before takes the `next` of the previous page, unchanged.');
  return { file, at: Number(at) };
}

/** No line of a file is of a later day than the file; where the clock was set back, some are of an earlier. */
async function listFilesSince(
  folder: string,
  { since = 0 }: AuditQuery,
  from: Position | null,
): Promise<string[]> {
  const files = await listAuditFiles(folder);
  return files.toReversed().filter((file) => {
    const isBefore = from === null || compareAuditFiles(file, from.file) <= 0;
    return isBefore && Date.parse(getFileDay(file)) + auditDayMs > since;
  });
}

async function* readLinesOfFile(folder: string, file: string, from: Position | null, passedOver: string[]) {
  try {
    yield* readBackwards(join(folder, file), file === from?.file ? from.at : Infinity);
  } catch (error) {
    if (error instanceof NotAFile) passedOver.push(file);
    // Its time had come.
    else if (getErrno(error) !== 'ENOENT') throw error;
  }
}

/** Most lines are passed over for what their bytes lack, which costs less than to read them as JSON. */
function createLineFilter(query: AuditQuery): (line: Buffer) => AuditLine | null {
  const { user, operation } = query;
  const needles = Object.entries({ operation, user })
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => Buffer.from(`"${name}":${toPlainJson(value)}`));
  const text = query.text?.toLowerCase();
  return (line) => {
    if (!needles.every((needle) => line.includes(needle))) return null;
    const parsed = parseAuditLine(line);
    return parsed !== null && matchesQuery(parsed, query) && (!text || containsText(parsed, text))
      ? parsed
      : null;
  };
}

function matchesQuery(
  line: AuditLine,
  { user, operation, result, level, since = 0, until = Infinity }: AuditQuery,
) {
  const time = Date.parse(line.time);
  return (
    (user === undefined || line.user === user) &&
    (operation === undefined || line.operation === operation) &&
    (result === undefined || line.result === result || (result === 'failed' && line.result !== 'ok')) &&
    (level === undefined || auditLevels.indexOf(line.level) >= auditLevels.indexOf(level)) &&
    time >= since &&
    time < until
  );
}

/** All but number, time and hashes, which contain nearly any number. */
function containsText(line: AuditLine, text: string): boolean {
  const { level, operation, user, client, subject, result, details = {} } = line;
  const values = [level, operation, user, client, subject, result, ...Object.entries(details).flat()];
  return values.some((value) => value !== null && String(value).toLowerCase().includes(text));
}

/** A page for people, with what has to be said to go on from it. */
export function formatFoundPage(
  { lines, next, passedOver }: FoundLines,
  more: (next: string) => string,
): string {
  const parts = [
    ...(lines.length === 0 ? [next === null ? 'No line matches.' : 'No line matches so far.'] : []),
    ...lines.map(formatFoundLine),
    ...(next === null ? [] : [`There may be more: ${more(next)}`]),
    ...passedOver.map((file) => `${file} is a link, a folder or a pipe, and was not read.`),
  ];
  return parts.join('\n');
}

/** A line for people. Nothing in it acts on a terminal or looks like another line. */
function formatFoundLine({ time, level, user, operation, result, subject, ...more }: FoundLine): string {
  const parts = [
    quoteUnlessPlain(time),
    quoteUnlessPlain(level).padEnd(7),
    quoteUnlessPlain(user),
    quoteUnlessPlain(operation),
    quoteUnlessPlain(result),
    ...(subject === null ? [] : [toPlainJson(subject)]),
    ...(more.client === null ? [] : [`client=${toPlainJson(more.client)}`]),
    ...Object.entries(more.details ?? {}).map(
      ([name, value]) => `${quoteUnlessPlain(name)}=${toPlainJson(value)}`,
    ),
    ...(more.intact ? [] : ['(changed after it was written)']),
  ];
  return parts.join('  ');
}

/** Quotes only what is not a plain name. */
const quoteUnlessPlain = (name: string): string => (/^[\w.@:+-]+$/.test(name) ? name : toPlainJson(name));
