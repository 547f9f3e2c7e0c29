import type { Queries } from '../../database/database.ts';
import type { Block, BlockList } from './blocks.ts';
import { insertRows } from './many-rows.ts';
import { signatureBytes } from './signatures.ts';

export type SegmentRow = {
  segment: number;
  documents: number;
  first_document: number;
  last_document: number;
  blocks: number;
};

const partBytes = 1024 * 1024;
/** Of signatures few are needed at a time. */
export const signaturesPerPart = 64;

export async function insertBlocks(
  queries: Queries,
  segment: number,
  blocks: readonly Block[],
): Promise<void> {
  const rows = blocks.map(({ number, bytes }) => [segment, number, bytes]);
  await insertRows(queries, 'crate_blocks (segment, block, bytes)', rows);
}

export async function insertParts(
  queries: Queries,
  segment: number,
  columns: Uint8Array,
  { fences, signatures }: BlockList,
): Promise<void> {
  const rows = [
    ...partsOf('columns', columns, partBytes),
    ...partsOf('fences', fences, partBytes),
    ...partsOf('signatures', signatures, signaturesPerPart * signatureBytes),
  ].map(({ name, part, bytes }) => [segment, name, part, bytes]);
  for (const row of rows)
    await insertRows(queries, 'crate_segment_parts (segment, name, part, bytes)', [row]);
}

function partsOf(name: string, bytes: Uint8Array, most: number) {
  const count = Math.ceil(bytes.length / most);
  return Array.from({ length: count }, (_, part) => ({
    name,
    part,
    bytes: bytes.subarray(part * most, (part + 1) * most),
  }));
}

/** A column or list of a segment, put together again; null where the segment is gone. */
export async function readPart(queries: Queries, segment: number, name: string): Promise<Uint8Array | null> {
  const parts: Uint8Array[] = [];
  for (;;) {
    const rows = await queries.query<{ bytes: Uint8Array }>(
      'SELECT bytes FROM crate_segment_parts WHERE segment = ? AND name = ? AND part = ?',
      segment,
      name,
      parts.length,
    );
    if (rows.length === 0) break;
    parts.push(rows[0]!.bytes);
  }
  return parts.length === 0 ? null : Buffer.concat(parts);
}

/** Those that are searched, the oldest documents first. */
export const liveSegments = (queries: Queries): Promise<SegmentRow[]> =>
  queries.query<SegmentRow>(
    `SELECT segment, documents, first_document, last_document, blocks FROM crate_segments
     WHERE state = 'live' ORDER BY first_document`,
  );
