import { randomBytes } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { Segment } from '../transfer/transfer.ts';
import { judgeConditions, rangeStillApplies } from './conditions.ts';
import { downloadHeaders, etagOf } from './download-headers.ts';
import type { Download, OpenDownload } from './download.ts';
import { requestedRanges, type ByteRange } from './ranges.ts';

/** How a GET or HEAD is to be answered, decided before a byte is read. */
export interface DownloadPlan {
  readonly status: 200 | 206 | 304 | 412 | 416;
  readonly headers: Record<string, string | number>;
  /** The length of the body of a GET. */
  readonly length: number;
  body(opened: OpenDownload): Iterable<Segment> | AsyncIterable<Segment>;
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
  const validators = { etag: etagOf(download), modified: download.modified };
  const verdict = judgeConditions(headers, validators);
  if (verdict === 'failed') return bodiless(412, { 'Content-Length': 0 });
  if (verdict === 'not_modified') return bodiless(304, withoutContent(download));
  const asked = rangeStillApplies(headers, validators) ? requestedRanges(headers.range, download.size) : null;
  if (asked?.length === 0)
    return bodiless(416, { 'Content-Range': `bytes */${download.size}`, 'Content-Length': 0 });
  const ranges = asked && judgeRanges(asked);
  if (ranges === null) return whole(download);
  return ranges.length === 1 ? partial(download, ranges[0]!) : multipart(download, ranges);
}

function bodiless(status: 304 | 412 | 416, headers: Record<string, string | number>): DownloadPlan {
  return { status, headers, length: 0, body: () => [], range: null, stretches: [] };
}

/** A 304 repeats what a cache needs and leaves out what describes a body. */
function withoutContent(download: Download): Record<string, string> {
  const { 'Content-Type': _type, 'Content-Disposition': _disposition, ...rest } = downloadHeaders(download);
  return rest;
}

function whole(download: Download): DownloadPlan {
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

function partial(download: Download, range: ByteRange): DownloadPlan {
  const length = range.end - range.start;
  return {
    status: 206,
    headers: {
      ...downloadHeaders(download),
      'Content-Range': contentRange(range, download.size),
      'Content-Length': length,
    },
    length,
    body: (opened) => opened.segments(range.start, range.end),
    range,
    stretches: [range],
  };
}

const contentRange = ({ start, end }: ByteRange, size: number): string => `bytes ${start}-${end - 1}/${size}`;

function multipart(download: Download, ranges: readonly ByteRange[]): DownloadPlan {
  const boundary = randomBytes(18).toString('hex');
  const head = (range: ByteRange): Buffer =>
    Buffer.from(
      `--${boundary}\r\nContent-Type: ${download.mediaType}\r\nContent-Range: ${contentRange(range, download.size)}\r\n\r\n`,
    );
  const tail = Buffer.from(`--${boundary}--\r\n`);
  const lineEnd = Buffer.from('\r\n');
  const parts = ranges.map((range) => head(range).length + range.end - range.start + lineEnd.length);
  const length = parts.reduce((sum, part) => sum + part, tail.length);
  const body = async function* (opened: OpenDownload): AsyncGenerator<Segment> {
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
