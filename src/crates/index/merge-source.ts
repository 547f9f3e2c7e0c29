import type { Database } from '../../database/database.ts';
import { readColumns, type Columns } from './columns.ts';
import { lowerBound } from './merge-choosing.ts';
import { readPart, type SegmentRow } from './segment-rows.ts';

/** A segment as it goes into a merged one. */
export interface MergeSource {
  readonly segment: number;
  readonly blocks: number;
  readonly columns: Columns;
  isDead(at: number): boolean;
  /** How many documents of it are left out. */
  readonly deadCount: number;
}

/** Null where another process has replaced it. */
export async function openSource(
  database: Database,
  { segment, blocks }: SegmentRow,
  dead: readonly number[],
): Promise<MergeSource | null> {
  const bytes = await readPart(database, segment, 'columns');
  if (bytes === null) return null;
  const columns = readColumns(bytes);
  const gone = new Set<number>();
  for (const document of dead) {
    const at = lowerBound(columns.documents, document);
    if (columns.documents[at] === document) gone.add(at);
  }
  return { segment, blocks, columns, isDead: (at) => gone.has(at), deadCount: gone.size };
}
