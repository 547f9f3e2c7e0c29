/**
 * The results of a run, as a notebook shows them: how a report of code becomes one, how its parts become stored files, and
 * how an answer shows it. Reports are hostile input, so each is parsed within bounds, and pictures are told by their bytes.
 */
import { z } from 'zod';
import { detectPictureType } from '../../platform/pictures.ts';
import type { Report } from '../../ports/sandbox/sandbox.ts';
import { asWorkcrateError, isOurFault, publicMessage, isWorkcrateError } from '../../platform/errors.ts';
import type { ExecutionsOptions } from './executions.ts';
import type { Execution } from './fields.ts';
import type { OutputGate } from './extension.ts';
import type { ContentBlock } from '@modelcontextprotocol/server';
import type { Files } from '../files/files.ts';
import type { Caller } from '../identity.ts';
import { linkShape, toLinkAnswer } from '../links/link-result.ts';
import type { Links } from '../links/links.ts';
import type { McpClient } from '../offer/tool.ts';
import { collectBytes } from '../../platform/streams.ts';
import { keepStart, formatBytes } from '../../platform/text/text.ts';

/** The value of the last expression, what code passed to `display`, and a figure that it drew. */
const resultKinds = ['value', 'display', 'figure'] as const;
type ResultKind = (typeof resultKinds)[number];

/** A result in one media type, as a stored file. */
export interface ResultPart {
  readonly mime: string;
  readonly size: number;
  /** Null where it could not be stored, and in records of earlier releases. */
  readonly sha256: string | null;
  /** Null where it could not be stored. */
  readonly fileId: string | null;
  /** Why it could not be stored. */
  readonly problem: string | null;
}

export interface RunResult {
  readonly kind: ResultKind;
  readonly text: string;
  /** Whether the text is only the start. */
  readonly cut: boolean;
  /** Of a table. */
  readonly rows: number | null;
  readonly columns: number | null;
  /** The one that shows most of it comes first. */
  readonly parts: readonly ResultPart[];
}

export const maxResults = 16;
const maxResultCharacters = 2000;
/** What one is also: as much as objects give in earnest. */
const maxParts = 8;
const maxClaimedParts = 32;

const partShape = z.object({
  mime: z.string(),
  size: z.number().int(),
  file_id: z.string().nullable(),
  problem: z.string().nullable().describe('Why there is no file'),
});

export const resultShape = z.object({
  kind: z.enum(resultKinds),
  text: z.string(),
  cut: z.boolean().describe('Whether the text is only the start'),
  rows: z.number().int().nullable().describe('Of a table'),
  columns: z.number().int().nullable().describe('Null of a series'),
  parts: z.array(partShape),
});

/** Rows of earlier releases have no hashes. */
export const restoreResults = (parsed: readonly RunResult[]): readonly RunResult[] =>
  parsed.map((result) => ({
    ...result,
    parts: result.parts.map((part) => ({ ...part, sha256: part.sha256 ?? null })),
  }));

const showPart = ({ mime, size, fileId, problem }: ResultPart): z.input<typeof partShape> => ({
  mime,
  size,
  file_id: fileId,
  problem,
});

export function showResult({ parts, ...result }: RunResult): z.input<typeof resultShape> {
  return { ...result, parts: parts.map(showPart) };
}

/** A result before its parts are stored. */
interface ReportedResult extends Omit<RunResult, 'parts'> {
  readonly parts: readonly { readonly mime: string; readonly bytes: Uint8Array }[];
}

const count = z.int().nonnegative();

const headerShape = z.object({
  type: z.literal('result'),
  kind: z.enum(resultKinds),
  text: z.string(),
  cut: z.boolean().optional(),
  rows: count.nullish(),
  columns: count.nullish(),
  parts: z
    .array(z.object({ mime: z.string(), size: count }))
    .max(maxClaimedParts)
    .optional(),
});

/** Null for what is not a result, or contradicts itself: code wrote it, so there is nobody to tell. */
export function parseResult({ header, payload }: Report): ReportedResult | null {
  const { success, data } = headerShape.safeParse(header);
  if (!success) return null;
  const { parts: claimed = [], rows = null, columns = null } = data;
  if (claimed.reduce((sum, { size }) => sum + size, 0) !== payload.length) return null;
  const text = keepStart(data.text, maxResultCharacters).toWellFormed();
  const cut = data.cut === true || data.text.length > maxResultCharacters;
  return {
    kind: data.kind,
    text,
    cut,
    rows,
    columns: rows === null ? null : columns,
    parts: splitPayload(claimed, payload),
  };
}

function splitPayload(claimed: readonly { mime: string; size: number }[], payload: Uint8Array) {
  let at = 0;
  const parts = claimed.map(({ mime, size }) => {
    const bytes = payload.subarray(at, (at += size));
    return { mime: judgeMediaType(mime, bytes), bytes };
  });
  const isFirst = ({ mime }: { mime: string }, index: number): boolean =>
    parts.findIndex((other) => other.mime === mime) === index;
  return sortByRichness(parts.filter(isFirst)).slice(0, maxParts);
}

/** What is counted beyond the results that are reported; 0 for anything else. */
export function parseFurtherResults({ header }: Report): number {
  const { success, data } = furtherShape.safeParse(header);
  return success ? data.results : 0;
}

const furtherShape = z.object({ type: z.literal('more'), results: count });

const unknownType = 'application/octet-stream';

/** The types that are believed, with the extension of their files. Richer ones come first. */
const extensions: Readonly<Record<string, string>> = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/gif': 'gif',
  'image/webp': 'webp',
  'image/svg+xml': 'svg',
  'application/pdf': 'pdf',
  'text/html': 'html',
  'text/markdown': 'md',
  'text/latex': 'tex',
  'application/json': 'json',
  'text/csv': 'csv',
  'text/plain': 'txt',
  [unknownType]: 'bin',
};

/** Of libraries, such as Plotly and Vega. */
const jsonType = /^application\/[a-z0-9][a-z0-9.-]{0,80}\+json$/;

export const getExtension = (mime: string): string =>
  extensions[mime] ?? (jsonType.test(mime) ? 'json' : 'bin');
export const isJson = (mime: string): boolean => getExtension(mime) === 'json';

/** Pictures that clients can show; SVG and HTML are no such thing, whatever they claim. */
const pictureTypes = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp']);
const isPicture = ({ mime }: { readonly mime: string }): boolean => pictureTypes.has(mime);

function judgeMediaType(claimed: string, bytes: Uint8Array): string {
  const start = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, 16));
  if (pictureTypes.has(claimed)) return detectPictureType(start) ?? unknownType;
  return Object.hasOwn(extensions, claimed) || jsonType.test(claimed) ? claimed : unknownType;
}

const order = Object.keys(extensions);

function getRank({ mime }: { readonly mime: string }): number {
  const rank = order.indexOf(mime);
  return rank < 0 ? order.indexOf(unknownType) - 0.5 : rank;
}

/** A picture shows more of a result than HTML, and HTML more than text. */
const sortByRichness = <Part extends { readonly mime: string }>(parts: readonly Part[]): Part[] =>
  parts.toSorted((a, b) => getRank(a) - getRank(b));

/** The results of one run, and how many more there were. */
export type RunResults = Pick<Execution, 'results' | 'moreResults'>;

type CollectorOptions = Pick<ExecutionsOptions, 'files' | 'keepOutputSeconds' | 'log'>;

/** Beyond it, a number is no count of anything. */
const maxCounted = 1e9;

/** Takes the reports of a run one after the other, those of other kinds too. */
export function createResultCollector(
  options: CollectorOptions,
  execution: Pick<Execution, 'id' | 'owner'>,
  gates: readonly Pick<OutputGate, 'checkPart'>[] = [],
) {
  const room = { ...options, gates };
  const results: RunResult[] = [];
  const counts: Record<ResultKind, number> = { value: 0, display: 0, figure: 0 };
  let moreResults = 0;

  return {
    async take(report: Report): Promise<void> {
      moreResults = Math.min(maxCounted, moreResults + parseFurtherResults(report));
      const reported = parseResult(report);
      if (reported === null) return;
      if (results.length === maxResults) {
        moreResults++;
        return;
      }
      const stem = `${execution.id}-${reported.kind}-${++counts[reported.kind]}`;
      results.push(await storeParts(room, execution, stem, reported));
    },
    results: (): RunResults => ({ results, moreResults }),
  };
}

interface StoreOptions extends CollectorOptions {
  /** Reads parts before they are stored. */
  readonly gates: readonly Pick<OutputGate, 'checkPart'>[];
}

async function storeParts(
  room: StoreOptions,
  execution: Pick<Execution, 'id' | 'owner'>,
  stem: string,
  reported: ReportedResult,
): Promise<RunResult> {
  const parts: ResultPart[] = [];
  for (const part of reported.parts) parts.push(await storePart(room, execution, stem, part));
  return { ...reported, parts };
}

async function storePart(
  { files, keepOutputSeconds: keepSeconds, gates, log }: StoreOptions,
  { id, owner: user }: Pick<Execution, 'id' | 'owner'>,
  stem: string,
  { mime, bytes }: ReportedResult['parts'][number],
): Promise<ResultPart> {
  const file = { name: `${stem}.${getExtension(mime)}`, mediaType: mime, origin: 'result', keepSeconds };
  try {
    for (const gate of gates) await gate.checkPart(mime, bytes);
    const { id: fileId, size, sha256 } = await files.add({ user }, file, toStream(bytes));
    return { mime, size, sha256, fileId, problem: null };
  } catch (error) {
    const known = asWorkcrateError(error);
    log[isOurFault(known) ? 'error' : 'info']('execution.result_not_kept', { id, error });
    return { mime, size: bytes.length, sha256: null, fileId: null, problem: publicMessage(known) };
  }
}

async function* toStream(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

/** As in the record, with a link to what matters most. */
const linkedResultShape = resultShape.extend({
  parts: z.array(partShape.extend({ link: linkShape.nullable() })),
});

export const resultFields = {
  results: z.array(linkedResultShape).describe('Values, displays and figures'),
  more_results: z.number().int().describe('Results that were only counted'),
};

export interface ResultAnswerOptions {
  readonly links: Pick<Links, 'share'>;
  readonly linkSeconds: number;
  readonly baseUrl: () => string;
  /** Where the pictures of results are; without it none are shown. */
  readonly files?: Pick<Files, 'find' | 'open'>;
}

interface ResultAnswer {
  readonly lines: readonly string[];
  readonly structured: z.input<z.ZodObject<typeof resultFields>>;
  /** Links to resources. */
  readonly content: readonly ContentBlock[];
}

type Linked = ReturnType<typeof toLinkAnswer<string>>;

/** Each value as text, each figure as a line with its link. */
export async function buildResultAnswer(
  options: ResultAnswerOptions,
  caller: Caller,
  { results, moreResults }: Pick<Execution, 'results' | 'moreResults'>,
): Promise<ResultAnswer> {
  const lines: string[] = [];
  const content: ContentBlock[] = [];
  const shown: ResultAnswer['structured']['results'] = [];
  for (const result of results) {
    const links = new Map<ResultPart, Linked>();
    for (const part of listLinkedParts(result)) {
      const link = part.fileId === null ? null : await shareStored(options, caller, part.fileId);
      if (link !== null) links.set(part, link);
      content.push(...(link?.content ?? []));
    }
    lines.push(...toResultLines(result, (part) => links.get(part)?.text ?? null));
    const parts = result.parts.map((part) => ({
      ...showPart(part),
      link: links.get(part)?.structured ?? null,
    }));
    shown.push({ ...result, parts });
  }
  lines.push(...toFurtherLines(moreResults));
  return { lines, structured: { results: shown, more_results: moreResults }, content };
}

/** The same of an earlier run, without links. */
export const toRecordedResultLines = ({ results, moreResults }: Execution): string[] => [
  ...results.flatMap((result) => toResultLines(result, () => null)),
  ...toFurtherLines(moreResults),
];

const toFurtherLines = (more: number): string[] =>
  more === 0 ? [] : [`${more} more results were only counted: ${maxResults} of a run are kept.`];

/** What the text cannot show. Of a table it shows the start, and its HTML shows little more. */
function listLinkedParts({ parts, cut, rows }: RunResult): ResultPart[] {
  return parts.filter((part, index) => (index === 0 && rows === null) || (cut && part.mime === 'text/plain'));
}

const kindLabels = { value: 'Value', display: 'Displayed', figure: 'Figure' };

/** The label, the text, and each part in a line. */
function toResultLines(result: RunResult, findLink: (part: ResultPart) => string | null): string[] {
  const { kind, text, cut, rows, columns, parts } = result;
  const shape = [
    ...(rows === null ? [] : [`${rows} rows`]),
    ...(columns === null ? [] : [`${columns} columns`]),
  ];
  const label = `${[kindLabels[kind], ...shape, ...(cut ? ['cut'] : [])].join(', ')}:`;
  const partLines = parts.map((part) => describePart(part, findLink(part)));
  if (text === '') return [`${label} ${partLines[0] ?? 'nothing that is text'}`, ...partLines.slice(1)];
  return [text.includes('\n') ? `${label}\n${text.replace(/\n$/, '')}` : `${label} ${text}`, ...partLines];
}

function describePart({ mime, size, fileId, problem }: ResultPart, link: string | null): string {
  if (link !== null) return link;
  const what = `${mime}, ${formatBytes(size)}`;
  if (fileId === null) return `${what}, could not be stored: ${problem}`;
  return `${what}: share_file with file_id ${fileId}`;
}

/** Null where the file is gone again. */
async function shareStored(
  { links, linkSeconds: ttlSeconds, baseUrl }: ResultAnswerOptions,
  caller: Caller,
  fileId: string,
): Promise<Linked | null> {
  try {
    return toLinkAnswer(await links.share(caller, fileId, { ttlSeconds, singleUse: false }), baseUrl());
  } catch (error) {
    if (isWorkcrateError(error, 'not_found')) return null;
    throw error;
  }
}

/** Agents whose models were seen to get a picture without asking for it (docs/reference/clients.md); others have `show`. */
const clientsThatShow = ['claude-code', 'codex-mcp-client', 'gemini-cli-mcp-client', 'opencode'];

/** Whether pictures of results are shown, as the caller wishes or its client is known to do. */
export function wantsPictures(show: boolean | undefined, { name }: Pick<McpClient, 'name'>): boolean {
  return show ?? clientsThatShow.some((client) => name?.startsWith(`${client} `));
}

const maxShownPictures = 4;
/** A figure of matplotlib has some 30 KB. */
const maxShownBytes = 200 * 1024;

/** The pictures of results, and a line for what is not shown. */
export async function showResultPictures(
  { files }: Pick<ResultAnswerOptions, 'files'>,
  caller: Caller,
  { results }: Pick<Execution, 'results'>,
): Promise<{ readonly pictures: ContentBlock[]; readonly notes: readonly string[] }> {
  const found = results.flatMap(({ parts }) => parts.find((part) => isPicture(part) && part.fileId) ?? []);
  const small = found.filter(({ size }) => size <= maxShownBytes);
  const pictures: ContentBlock[] = [];
  for (const part of small.slice(0, maxShownPictures)) {
    const picture = files && (await readResultPicture(files, caller, part.fileId!));
    if (picture) pictures.push(picture);
  }
  const large = found.length - small.length;
  const further = Math.max(0, small.length - maxShownPictures);
  return {
    pictures,
    notes: [
      ...(large > 0 ? [`Not shown: ${large} larger than ${formatBytes(maxShownBytes)}.`] : []),
      ...(further > 0 ? [`Not shown: ${further} more; an answer shows ${maxShownPictures}.`] : []),
    ],
  };
}

/** Judged again by its bytes: a picture of a wrong type may cost a whole conversation. */
async function readResultPicture(
  files: Pick<Files, 'find' | 'open'>,
  caller: Caller,
  fileId: string,
): Promise<ContentBlock | null> {
  const file = await files.find(caller, fileId);
  if (file === null || file.size > maxShownBytes) return null;
  await using object = await files.open(file);
  if (object === null) return null;
  const bytes = await collectBytes(object.read(0, object.size), {
    limit: maxShownBytes,
    tooLong: 'truncate',
  });
  const mimeType = detectPictureType(bytes);
  return mimeType === null ? null : { type: 'image', data: bytes.toString('base64'), mimeType };
}
