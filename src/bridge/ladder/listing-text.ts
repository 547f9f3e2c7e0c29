import { WorkcrateError } from '../../errors.ts';
import type { RawEntry } from './errand.ts';

const mostRecord = 32 * 1024;

/** NUL and line feed. Which of them ends records shows in the first that comes: find writes NULs, all others lines. */
const enders = { nul: 0, line: 10 };

/**
 * Reads a listing as clients write them, in whichever way: records of GNU find, one JSON object a line, lines of
 * `type size mtime path`, or plain paths. What is none of these is null, so that whoever reads can
 * count it: a listing may be made of nothing else.
 */
export async function* listingFrom(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<RawEntry | null> {
  let rest = Buffer.alloc(0);
  let ender: number | null = null;
  for await (const chunk of chunks) {
    const bytes = Buffer.concat([rest, chunk]);
    ender ??= enderIn(bytes);
    let start = 0;
    for (let end = next(bytes, ender, start); end !== -1; end = next(bytes, ender, start)) {
      yield entryFrom(bytes.toString('utf8', start, end), ender!);
      start = end + 1;
    }
    rest = Buffer.from(bytes.subarray(start));
    if (rest.length > mostRecord)
      throw new WorkcrateError('invalid_input', 'What came is no listing: a line of it is too long.');
  }
  const last = entryFrom(rest.toString('utf8'), ender ?? enders.line);
  if (last !== null) yield last;
}

const next = (bytes: Buffer, ender: number | null, from: number): number =>
  ender === null ? -1 : bytes.indexOf(ender, from);

/** A line in a name must not end the record of find that holds it, so the tabs of find are looked for. */
function enderIn(bytes: Buffer): number | null {
  if (/^[a-zA-Z?]\t\d+\t-?[\d.]+\t/.test(bytes.toString('latin1', 0, 64)))
    return bytes.includes(enders.nul) ? enders.nul : null;
  return bytes.includes(enders.line) ? enders.line : null;
}

function entryFrom(record: string, ender: number): RawEntry | null {
  const line = ender === enders.nul ? record : record.replace(/\r$/, '');
  if (line.trim() === '') return null;
  if (line.startsWith('{')) return fromJson(line);
  const tabbed = /^(?<type>[a-zA-Z?])\t(?<size>\d+)\t(?<seconds>-?[\d.]+)\t(?<path>[^]+)$/.exec(line)?.groups;
  if (tabbed) return fromFind(tabbed);
  const worded = /^(?<type>file|folder|link|other) (?<size>\d+|-) (?<mtime>\S+) (?<path>.+)$/.exec(
    line,
  )?.groups;
  if (worded) return fromWords(worded);
  const path = line.trim();
  return path.endsWith('/') ? entry(path.slice(0, -1), 'folder', null, null) : entry(path, null, null, null);
}

type Parts = Record<string, string>;

const kinds: Readonly<Record<string, string>> = { f: 'file', d: 'folder', l: 'link' };

const fromFind = ({ type, size, seconds, path }: Parts): RawEntry =>
  entry(path!, kinds[type!] ?? 'other', Number(size), Number(seconds) * 1000);

function fromWords({ type, size, mtime, path }: Parts): RawEntry {
  const time = /^\d+$/.test(mtime!) ? Number(mtime) : Date.parse(mtime!);
  return entry(path!, type!, size === '-' ? null : Number(size), Number.isNaN(time) ? null : time);
}

function fromJson(line: string): RawEntry | null {
  try {
    const { path, type, size, mtime } = JSON.parse(line) as Record<string, unknown>;
    if (typeof path !== 'string') return null;
    return entry(path, typeof type === 'string' ? type : null, numberIn(size), numberIn(mtime));
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

const numberIn = (value: unknown): number | null =>
  typeof value === 'number' && Number.isFinite(value) ? value : null;

const entry = (path: string, type: string | null, size: number | null, mtime: number | null): RawEntry => ({
  path,
  type,
  size,
  mtime: mtime === null ? null : Math.trunc(mtime),
});
