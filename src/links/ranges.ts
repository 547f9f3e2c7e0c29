/** Bytes from `start` to before `end`. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/** More ranges than this are a way to make a server work for nothing; such a header is ignored. */
const mostRanges = 32;

const form = /^bytes=(.*)$/is;
const one = /^(?:(\d{1,300})-(\d{0,300})|-(\d{1,300}))$/;

/**
 * The ranges that a header asks for: null means the whole content (no header, or one that must be ignored:
 * another unit, bad grammar, too many), an empty list that none can be satisfied (416).
 *
 * By hand, since range-parser answers 416 to a suffix longer than the file, which means all of it.
 */
export function requestedRanges(header: string | undefined, size: number): ByteRange[] | null {
  const specs = form
    .exec(header ?? '')?.[1]
    ?.split(',')
    .map((spec) => spec.trim())
    .filter((spec) => spec !== '');
  if (!specs || specs.length === 0 || specs.length > mostRanges) return null;
  const ranges: ByteRange[] = [];
  for (const spec of specs) {
    const range = parseOne(spec, size);
    if (range === 'malformed') return null;
    if (range.start < range.end) ranges.push(range);
  }
  return combined(ranges);
}

/** A range cut to the content; an empty one cannot be satisfied. */
function parseOne(spec: string, size: number): ByteRange | 'malformed' {
  const match = one.exec(spec);
  if (!match) return 'malformed';
  const [, first, last, suffix] = match;
  if (suffix !== undefined) return { start: Math.max(0, size - Number(suffix)), end: size };
  if (last === '') return { start: Number(first), end: size };
  if (BigInt(last!) < BigInt(first!)) return 'malformed';
  return { start: Number(first), end: Math.min(size, Number(last) + 1) };
}

/** Overlapping and touching ranges become one; the others stay in the order asked for. */
function combined(ranges: readonly ByteRange[]): ByteRange[] {
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

/** All of them in order, those that touch or overlap as one. */
export function joinRanges(ranges: readonly ByteRange[]): ByteRange[] {
  const all: { start: number; end: number }[] = [];
  for (const { start, end } of ranges.toSorted((a, b) => a.start - b.start)) {
    const last = all.at(-1);
    if (last !== undefined && start <= last.end) last.end = Math.max(last.end, end);
    else if (start < end) all.push({ start, end });
  }
  return all;
}

/** Whether they are all of something of that size. */
export function isWhole(ranges: readonly ByteRange[], size: number): boolean {
  // Nearly every download is one range, and needs no sorting.
  const [first, ...more] = ranges.length === 1 ? ranges : joinRanges(ranges);
  return size === 0 || (more.length === 0 && first?.start === 0 && first.end === size);
}
