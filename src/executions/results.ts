/**
 * The results of a run, as a notebook shows them: what one is, and how a report of code becomes one. Reports are hostile
 * input, so each is parsed within bounds, and pictures are told by their bytes. It stores nothing (`result-files.ts`)
 * and writes no answer (`result-answer.ts`).
 */
import { z } from 'zod';
import { detectPictureType } from '../pictures.ts';
import type { Report } from '../sandbox/sandbox.ts';
import { keepStart } from './truncation.ts';

/** The value of the last expression, what code passed to `display`, and a figure that it drew. */
const resultKinds = ['value', 'display', 'figure'] as const;
export type ResultKind = (typeof resultKinds)[number];

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

export const partShape = z.object({
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

export const showPart = ({ mime, size, fileId, problem }: ResultPart): z.input<typeof partShape> => ({
  mime,
  size,
  file_id: fileId,
  problem,
});

export function showResult({ parts, ...result }: RunResult): z.input<typeof resultShape> {
  return { ...result, parts: parts.map(showPart) };
}

/** A result before its parts are stored. */
export interface ReportedResult extends Omit<RunResult, 'parts'> {
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
export const isPicture = ({ mime }: { readonly mime: string }): boolean => pictureTypes.has(mime);

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
