/**
 * Whether two files of another sha256 differ in dates and ids alone, as far as that is certain: by formats whose dates
 * and ids have known places. It opens no files.
 */
import { isUtf8 } from 'node:buffer';

/** `unknown` if nobody can tell without knowing the format. */
export type ReplayDifference = 'dates_and_ids' | 'content' | 'unknown';

/** Larger ones are not compared. */
export const maxComparedBytes = 64 * 1024 ** 2;

/** A format: how a file of it is known, and its bytes without dates and ids; null if it is damaged. */
interface Format {
  readonly matches: (bytes: Buffer) => boolean;
  readonly blank: (bytes: Buffer) => Buffer | null;
  /** Whether it may have dates in other places too, so that bytes that still differ prove nothing. */
  readonly mayHideDates?: boolean;
}

const matchStart =
  (text: string) =>
  (bytes: Buffer): boolean =>
    bytes.subarray(0, text.length).equals(Buffer.from(text, 'latin1'));

const pictureFormats: readonly Format[] = [
  { matches: matchStart('\x89PNG\r\n\x1a\n'), blank: blankPng },
  { matches: matchStart('%PDF-'), blank: blankPdf, mayHideDates: true },
  { matches: matchStart('PK\x03\x04'), blank: blankZip, mayHideDates: true },
  { matches: matchStart('\x1f\x8b'), blank: blankGzip, mayHideDates: true },
  { matches: isSvgText, blank: blankSvg },
];

/** Compares two files of which it is known that they are not the same. */
export function explainDifference(before: Buffer, after: Buffer): ReplayDifference {
  const format = pictureFormats.find(({ matches }) => matches(before) && matches(after));
  if (format === undefined) return isText(before) && isText(after) ? 'content' : 'unknown';
  const [one, other] = [format.blank(before), format.blank(after)];
  if (one === null || other === null) return 'unknown';
  if (one.equals(other)) return 'dates_and_ids';
  return format.mayHideDates === true ? 'unknown' : 'content';
}

const isText = (bytes: Buffer): boolean => isUtf8(bytes) && !bytes.includes(0);

function isSvgText(bytes: Buffer): boolean {
  return isText(bytes) && /<svg[\s>]/.test(bytes.subarray(0, 4096).toString());
}

/**
 * Ids become their number in the file: what refers to them, and what is drawn, stays the same. Only references that are
 * certain to be such are renamed, so that any other use of an id counts as content.
 */
function blankSvg(bytes: Buffer): Buffer {
  const text = bytes.toString();
  const numbers = new Map<string, number>();
  for (const [, id] of text.matchAll(/\sid="([^"]*)"/g))
    if (!numbers.has(id!)) numbers.set(id!, numbers.size + 1);
  const rename = (whole: string, start: string, id: string, end: string): string =>
    numbers.has(id) ? `${start}${numbers.get(id)}${end}` : whole;
  const blanked = text
    .replace(/<dc:date>[^<]*<\/dc:date>/g, '<dc:date/>')
    .replace(/(\sid=")([^"]*)(")/g, rename)
    .replace(/(\s(?:xlink:)?href="#)([^"]*)(")/g, rename)
    .replace(/(url\(#)([^)]*)(\))/g, rename);
  return Buffer.from(blanked);
}

/** The dates and the id of the document; not those in compressed parts. */
function blankPdf(bytes: Buffer): Buffer {
  const text = bytes
    .toString('latin1')
    .replace(/\/(CreationDate|ModDate) ?\(D:\d{4,14}[^()\\]{0,8}\)/g, '/$1 ()')
    .replace(/\/ID ?\[ ?<[0-9A-Fa-f]*> ?<[0-9A-Fa-f]*> ?\]/g, '/ID []');
  return Buffer.from(text, 'latin1');
}

const pngDateKeyword = /^(?:creation time|date(?::\w+)?)$/i;

/** Without the time of the last change, and without texts whose keyword is that of a date. */
function blankPng(bytes: Buffer): Buffer | null {
  const kept: Buffer[] = [];
  for (let at = 8; at < bytes.length;) {
    if (at + 12 > bytes.length) return null;
    const end = at + 12 + bytes.readUInt32BE(at);
    if (end > bytes.length) return null;
    const type = bytes.toString('latin1', at + 4, at + 8);
    const keyword = bytes.toString('latin1', at + 8, end - 4).split('\0', 1)[0]!;
    const isDate = type === 'tIME' || (/^(?:tEXt|zTXt|iTXt)$/.test(type) && pngDateKeyword.test(keyword));
    if (!isDate) kept.push(bytes.subarray(at, end));
    at = end;
  }
  return Buffer.concat(kept);
}

/** The time in the header. */
function blankGzip(bytes: Buffer): Buffer | null {
  return bytes.length < 18 ? null : Buffer.concat([bytes.subarray(0, 4), bytes.subarray(8)]);
}

const [endSignature, centralSignature, localSignature] = [0x06054b50, 0x02014b50, 0x04034b50];

/** The times of its members, in both places. Null for what has a comment, several disks or the form for large ones. */
function blankZip(bytes: Buffer): Buffer | null {
  const end = bytes.length - 22;
  if (end < 0 || bytes.readUInt32LE(end) !== endSignature) return null;
  const count = bytes.readUInt16LE(end + 10);
  const blanked = Buffer.from(bytes);
  let at = bytes.readUInt32LE(end + 16);
  for (let member = 0; member < count; member++) {
    if (at + 46 > end || bytes.readUInt32LE(at) !== centralSignature) return null;
    const local = bytes.readUInt32LE(at + 42);
    if (local + 30 > end || bytes.readUInt32LE(local) !== localSignature) return null;
    blanked.fill(0, at + 12, at + 16);
    blanked.fill(0, local + 10, local + 14);
    at += 46 + bytes.readUInt16LE(at + 28) + bytes.readUInt16LE(at + 30) + bytes.readUInt16LE(at + 32);
  }
  return blanked;
}
