import { createHash, randomBytes } from 'node:crypto';

/**
 * A block of ours. Its id says which attempt at an upload it belongs to, which append of that wrote it (its run), and
 * at which byte of the object it begins.
 */
export interface StagedBlock {
  readonly id: string;
  readonly attempt: string;
  readonly run: number;
  readonly offset: number;
  readonly size: number;
}

/** The maximum of the service for one blob. */
export const maxBlocks = 50_000;

/** In bytes. All ids within a blob must be of the same length, and lists of many should be short. */
const widths = { attempt: 8, run: 3, offset: 7 };
export const maxBlockRuns = 2 ** (8 * widths.run) - 1;
const idBytes = widths.attempt + widths.run + widths.offset;

/** A name for a new attempt. It begins with a hash of the upload, so that an upload recognizes its blocks. */
export const createAttempt = (uploadId: string): string =>
  hashUploadId(uploadId) + randomBytes(widths.attempt - 3).toString('hex');

export const isAttempt = (text: string): boolean =>
  /^[0-9a-f]+$/.test(text) && text.length === 2 * widths.attempt;

export const isOwnAttempt = (attempt: string, uploadId: string): boolean =>
  attempt.startsWith(hashUploadId(uploadId));

const hashUploadId = (uploadId: string): string =>
  createHash('sha256').update(uploadId).digest('hex').slice(0, 6);

export function toBlockId(attempt: string, run: number, offset: number): string {
  const hex =
    run.toString(16).padStart(2 * widths.run, '0') + offset.toString(16).padStart(2 * widths.offset, '0');
  return Buffer.from(attempt + hex, 'hex').toString('base64');
}

/** The blocks in a block list of the service; those of others are skipped. */
export function parseBlocks(xml: string): StagedBlock[] {
  const blocks: StagedBlock[] = [];
  for (const [, id, size] of xml.matchAll(/<Name>([^<]+)<\/Name>\s*<Size>(\d+)<\/Size>/g)) {
    const hex = Buffer.from(id!, 'base64').toString('hex');
    if (hex.length !== 2 * idBytes) continue;
    const [run, offset] = [2 * widths.attempt, 2 * (widths.attempt + widths.run)];
    blocks.push({
      id: id!,
      attempt: hex.slice(0, run),
      run: parseInt(hex.slice(run, offset), 16),
      offset: parseInt(hex.slice(offset), 16),
      size: Number(size),
    });
  }
  return blocks;
}

export interface BlockChain {
  readonly ids: string[];
  /** Where the last block ends. */
  readonly end: number;
}

/**
 * The blocks of an attempt that follow each other without a gap from `start`. Several are sent at a time, so that a
 * crash may leave one behind a gap. A later append fills the gap with other blocks; what was after it has an
 * earlier run than these, and is not part of the chain any more.
 */
export function findBlockChain(blocks: readonly StagedBlock[], attempt: string, start: number): BlockChain {
  const byOffset = Map.groupBy(
    blocks.filter((block) => block.attempt === attempt && block.size > 0),
    (block) => block.offset,
  );
  const ids: string[] = [];
  let [end, run] = [start, 0];
  for (;;) {
    const next = findLatestBlock(byOffset.get(end) ?? []);
    if (next === null || next.run < run) return { ids, end };
    ids.push(next.id);
    [end, run] = [end + next.size, next.run];
  }
}

function findLatestBlock(blocks: readonly StagedBlock[]): StagedBlock | null {
  return blocks.reduce<StagedBlock | null>(
    (best, block) => (best && best.run >= block.run ? best : block),
    null,
  );
}
