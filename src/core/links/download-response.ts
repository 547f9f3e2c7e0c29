import { createHash, randomBytes } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { create } from 'content-disposition';
import type { BodySegment } from '../../platform/transfer/transfer.ts';
import type { Download, OpenDownload } from './download.ts';
import { toSavedName } from '../../platform/text/filenames.ts';

/** How a GET or HEAD is to be answered, decided before a byte is read. */
export interface DownloadPlan {
  readonly status: 200 | 206 | 304 | 412 | 416;
  readonly headers: Record<string, string | number>;
  /** The length of the body of a GET. */
  readonly length: number;
  body(opened: OpenDownload): Iterable<BodySegment> | AsyncIterable<BodySegment>;
  /** The stretch of the content that is sent, where it is one. */
  readonly range: ByteRange | null;
  /** All stretches of the content that are sent. */
  readonly stretches: readonly ByteRange[];
}

/** `judgeRanges` may narrow which ranges are honoured. */
export function planDownload(
  headers: IncomingHttpHeaders,
  download: Download,
  judgeRanges: (ranges: ByteRange[]) => ByteRange[] | null = (ranges) => ranges,
): DownloadPlan {
  const validators = { etag: getEtag(download), modified: download.modified };
  const verdict = checkConditions(headers, validators);
  if (verdict === 'failed') return toBodilessPlan(412, { 'Content-Length': 0 });
  if (verdict === 'not_modified') return toBodilessPlan(304, omitContentHeaders(download));
  const asked = rangeStillApplies(headers, validators)
    ? parseRangeHeader(headers.range, download.size)
    : null;
  if (asked?.length === 0)
    return toBodilessPlan(416, { 'Content-Range': `bytes */${download.size}`, 'Content-Length': 0 });
  const ranges = asked && judgeRanges(asked);
  if (ranges === null) return toWholePlan(download);
  return ranges.length === 1 ? toPartialPlan(download, ranges[0]!) : toMultipartPlan(download, ranges);
}

function toBodilessPlan(status: 304 | 412 | 416, headers: Record<string, string | number>): DownloadPlan {
  return { status, headers, length: 0, body: () => [], range: null, stretches: [] };
}

/** A 304 repeats what a cache needs and leaves out what describes a body. */
function omitContentHeaders(download: Download): Record<string, string> {
  const { 'Content-Type': _type, 'Content-Disposition': _disposition, ...rest } = downloadHeaders(download);
  return rest;
}

function toWholePlan(download: Download): DownloadPlan {
  const { size } = download;
  const range = { start: 0, end: size };
  return {
    status: 200,
    headers: { ...downloadHeaders(download), 'Content-Length': size },
    length: size,
    body: (opened) => opened.segments(0, size),
    range,
    stretches: [range],
  };
}

function toPartialPlan(download: Download, range: ByteRange): DownloadPlan {
  const length = range.end - range.start;
  return {
    status: 206,
    headers: {
      ...downloadHeaders(download),
      'Content-Range': toContentRange(range, download.size),
      'Content-Length': length,
    },
    length,
    body: (opened) => opened.segments(range.start, range.end),
    range,
    stretches: [range],
  };
}

const toContentRange = ({ start, end }: ByteRange, size: number): string =>
  `bytes ${start}-${end - 1}/${size}`;

function toMultipartPlan(download: Download, ranges: readonly ByteRange[]): DownloadPlan {
  const boundary = randomBytes(18).toString('hex');
  const head = (range: ByteRange): Buffer =>
    Buffer.from(
      `--${boundary}\r\nContent-Type: ${download.mediaType}\r\nContent-Range: ${toContentRange(range, download.size)}\r\n\r\n`,
    );
  const tail = Buffer.from(`--${boundary}--\r\n`);
  const lineEnd = Buffer.from('\r\n');
  const parts = ranges.map((range) => head(range).length + range.end - range.start + lineEnd.length);
  const length = parts.reduce((sum, part) => sum + part, tail.length);
  const body = async function* (opened: OpenDownload): AsyncGenerator<BodySegment> {
    for (const range of ranges) {
      yield { bytes: head(range) };
      yield* opened.segments(range.start, range.end);
      yield { bytes: lineEnd };
    }
    yield { bytes: tail };
  };
  return {
    status: 206,
    headers: {
      ...downloadHeaders(download),
      'Content-Type': `multipart/byteranges; boundary=${boundary}`,
      'Content-Length': length,
    },
    length,
    body,
    range: null,
    stretches: ranges,
  };
}

/** Types that a browser would run as a page of ours if it opened them. */
const activeMediaTypes = /^(?:text\/html|text\/xml|application\/xml|[a-z]+\/[a-z0-9.-]+\+xml)\b/i;

export function getEtag(download: Download): string {
  const { sha256, version } = download;
  return `"${sha256 ?? `v-${hashDownloadVersion(version ?? '')}`}"`;
}

/** Hashed, since a version may contain quotes, or something that clients should not see. */
function hashDownloadVersion(version: string): string {
  return createHash('sha256').update(version).digest('hex').slice(0, 32);
}

const headersCache = new WeakMap<Download, Record<string, string>>();

/** The headers that every answer about a download carries, whatever its status. */
export function downloadHeaders(download: Download): Record<string, string> {
  const headers = headersCache.get(download) ?? makeHeaders(download);
  headersCache.set(download, headers);
  return headers;
}

function makeHeaders(download: Download): Record<string, string> {
  return {
    'Content-Type': download.mediaType,
    'Content-Disposition': create(toSavedName(download.filename)),
    ETag: getEtag(download),
    'Last-Modified': new Date(download.modified).toUTCString(),
    'Accept-Ranges': 'bytes',
    'Cache-Control': 'private, no-store',
    'Referrer-Policy': 'no-referrer',
    'X-Content-Type-Options': 'nosniff',
    ...(activeMediaTypes.test(download.mediaType) ? { 'Content-Security-Policy': 'sandbox' } : {}),
  };
}

/** Bytes from `start` to before `end`. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/** More ranges than this would only make the server work; such a header is ignored. */
const maxRanges = 32;

const rangeHeaderForm = /^bytes=(.*)$/is;
const oneRangeForm = /^(?:(\d{1,300})-(\d{0,300})|-(\d{1,300}))$/;

/**
 * The ranges that a header asks for: null means the whole content (no header, or one that must be ignored:
 * another unit, bad grammar, too many), an empty list that none can be satisfied (416).
 *
 * By hand, since range-parser answers 416 to a suffix longer than the file, which means all of it.
 */
function parseRangeHeader(header: string | undefined, size: number): ByteRange[] | null {
  const specs = rangeHeaderForm
    .exec(header ?? '')?.[1]
    ?.split(',')
    .map((spec) => spec.trim())
    .filter((spec) => spec !== '');
  if (!specs || specs.length === 0 || specs.length > maxRanges) return null;
  const ranges: ByteRange[] = [];
  for (const spec of specs) {
    const range = parseRange(spec, size);
    if (range === 'malformed') return null;
    if (range.start < range.end) ranges.push(range);
  }
  return combineRanges(ranges);
}

/** A range cut to the content; an empty one cannot be satisfied. */
function parseRange(spec: string, size: number): ByteRange | 'malformed' {
  const match = oneRangeForm.exec(spec);
  if (!match) return 'malformed';
  const [, first, last, suffix] = match;
  if (suffix !== undefined) return { start: Math.max(0, size - Number(suffix)), end: size };
  if (last === '') return { start: Number(first), end: size };
  if (BigInt(last!) < BigInt(first!)) return 'malformed';
  return { start: Number(first), end: Math.min(size, Number(last) + 1) };
}

/** Overlapping and touching ranges become one; the others stay in the order asked for. */
function combineRanges(ranges: readonly ByteRange[]): ByteRange[] {
  const kept: ByteRange[] = [];
  for (const range of ranges.toSorted((a, b) => a.start - b.start)) {
    const before = kept.at(-1);
    if (!before || range.start > before.end) kept.push(range);
    else kept[kept.length - 1] = { start: before.start, end: Math.max(before.end, range.end) };
  }
  const rank = (range: ByteRange): number =>
    ranges.findIndex((asked) => asked.start >= range.start && asked.end <= range.end);
  return kept.sort((a, b) => rank(a) - rank(b));
}

/** The ranges in order; those that touch or overlap are joined. */
export function joinRanges(ranges: readonly ByteRange[]): ByteRange[] {
  const all: { start: number; end: number }[] = [];
  for (const { start, end } of ranges.toSorted((a, b) => a.start - b.start)) {
    const last = all.at(-1);
    if (last !== undefined && start <= last.end) last.end = Math.max(last.end, end);
    else if (start < end) all.push({ start, end });
  }
  return all;
}

/** Whether the ranges together cover content of this size. */
export function isWhole(ranges: readonly ByteRange[], size: number): boolean {
  // Nearly every download is one range, and needs no sorting.
  const [first, ...more] = ranges.length === 1 ? ranges : joinRanges(ranges);
  return size === 0 || (more.length === 0 && first?.start === 0 && first.end === size);
}

/** What a response can be compared with: a strong ETag, and when the content was made. */
export interface Validators {
  readonly etag: string;
  readonly modified: number;
}

export type ConditionVerdict = 'send' | 'not_modified' | 'failed';

/** Judges the conditions of a GET or HEAD in the order of RFC 9110, 13.2.2. */
function checkConditions(headers: IncomingHttpHeaders, { etag, modified }: Validators): ConditionVerdict {
  const match = headers['if-match'];
  if (match !== undefined) {
    if (!listsTag(match, etag, 'strong')) return 'failed';
  } else {
    const unmodifiedSince = parseHttpDate(headers['if-unmodified-since']);
    if (unmodifiedSince !== null && toWholeSeconds(modified) > unmodifiedSince) return 'failed';
  }
  const noneMatch = headers['if-none-match'];
  if (noneMatch !== undefined) return listsTag(noneMatch, etag, 'weak') ? 'not_modified' : 'send';
  const modifiedSince = parseHttpDate(headers['if-modified-since']);
  return modifiedSince !== null && toWholeSeconds(modified) <= modifiedSince ? 'not_modified' : 'send';
}

/** Whether the content is still what If-Range refers to. Without If-Range it is. */
function rangeStillApplies(headers: IncomingHttpHeaders, { etag, modified }: Validators): boolean {
  const condition = headers['if-range'];
  if (condition === undefined) return true;
  if (typeof condition !== 'string') return false;
  if (/^\s*(?:W\/)?"/.test(condition)) return condition.trim() === etag;
  return parseHttpDate(condition) === toWholeSeconds(modified);
}

function listsTag(list: string, etag: string, comparison: 'strong' | 'weak'): boolean {
  if (list.trim() === '*') return true;
  const tags = list.match(/(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"/g) ?? [];
  return tags.some((tag) => (comparison === 'weak' ? tag.replace(/^W\//, '') : tag) === etag);
}

const toWholeSeconds = (milliseconds: number): number => Math.floor(milliseconds / 1000) * 1000;

/** A date in a header; one that cannot be read counts as absent, as the RFC has it. */
function parseHttpDate(value: string | undefined): number | null {
  if (value === undefined || !/^[A-Z][a-z]{2,8},? /.test(value)) return null;
  const time = Date.parse(value);
  return Number.isNaN(time) ? null : time;
}
