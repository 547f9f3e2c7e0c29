import { BoundedMap } from '../../concurrency/bounded-map.ts';
import type { Database } from '../../database/database.ts';
import { WorkcrateError } from '../../errors.ts';
import { marks } from './many-rows.ts';

/** Blocks as they were read, those that were not used for longest forgotten first. They never change. */
export interface BlockCache {
  /** Blocks of a segment by number. `index_busy` where they are gone since the segment was merged. */
  blocks(segment: number, numbers: readonly number[]): Promise<Uint8Array[]>;
  /** The signatures of some blocks: see `signaturesPerPart`. */
  signatures(segment: number, part: number): Promise<Uint8Array>;
  /** Forgets the segments that are not among these. */
  keepOnly(segments: ReadonlySet<number>): void;
  readonly bytes: number;
}

/** Few texts of SQL, whatever the number of blocks. */
const portions = [1, 8, 64];
const perSegment = 2 ** 26;
/** Signatures are numbered after all blocks. */
const firstSignature = 2 ** 25;

export function createBlockCache(database: Database, mostBytes: number): BlockCache {
  const kept = new BoundedMap<number, Uint8Array>({
    mostWeight: mostBytes,
    heaviest: mostBytes / 4,
    weigh: ({ length }) => length,
  });

  return {
    async blocks(segment, numbers) {
      const found = numbers.map((number) => kept.use(segment * perSegment + number));
      const missing = numbers.filter((_, at) => found[at] === undefined);
      if (missing.length === 0) return found as Uint8Array[];
      const read = await readMissing(database, segment, missing);
      for (const [number, block] of read) kept.set(segment * perSegment + number, block);
      return numbers.map((number, at) => found[at] ?? read.get(number)!);
    },
    async signatures(segment, part) {
      const key = segment * perSegment + firstSignature + part;
      const known = kept.use(key);
      if (known !== undefined) return known;
      const [row] = await database.query<{ bytes: Uint8Array }>(
        "SELECT bytes FROM crate_segment_parts WHERE segment = ? AND name = 'signatures' AND part = ?",
        segment,
        part,
      );
      if (row === undefined) throw segmentReplacedError();
      kept.set(key, row.bytes);
      return row.bytes;
    },
    keepOnly(segments) {
      for (const key of kept.keys()) if (!segments.has(Math.floor(key / perSegment))) kept.delete(key);
    },
    get bytes() {
      return kept.weight;
    },
  };
}

async function readMissing(
  database: Database,
  segment: number,
  numbers: readonly number[],
): Promise<Map<number, Uint8Array>> {
  const read = new Map<number, Uint8Array>();
  for (let at = 0; at < numbers.length;) {
    const left = numbers.length - at;
    const portion = portions.find((most) => most >= left) ?? portions.at(-1)!;
    const some = Array.from(
      { length: portion },
      (_, index) => numbers[Math.min(at + index, numbers.length - 1)]!,
    );
    const rows = await database.query<{ block: number; bytes: Uint8Array }>(
      `SELECT block, bytes FROM crate_blocks WHERE segment = ? AND block IN (${marks(portion)})`,
      segment,
      ...some,
    );
    for (const { block, bytes } of rows) read.set(block, bytes);
    at += portion;
  }
  if (numbers.some((number) => !read.has(number))) throw segmentReplacedError();
  return read;
}

const segmentReplacedError = (): WorkcrateError =>
  new WorkcrateError('index_busy', 'The index is changing too fast to be read. Try again in a moment.');
