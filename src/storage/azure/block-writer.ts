import { sendParts, type Part, type Parts, type SendingFailure } from '../remote/remote.ts';
import type { Blobs } from './blobs.ts';
import { blockId, mostBlocks } from './blocks.ts';

export interface BlockTarget {
  readonly name: string;
  readonly attempt: string;
  readonly run: number;
  /** At which byte of the object the first part stands. */
  readonly start: number;
  /** How many blocks there are before. */
  readonly count: number;
}

export interface WrittenBlocks {
  readonly ids: string[];
  /** Up to here everything is durable, whatever failed. */
  readonly end: number;
  readonly failure: SendingFailure | null;
}

/** Writes parts as blocks. One block is left for the head of the upload. */
export async function writeBlocks(blobs: Blobs, target: BlockTarget, parts: Parts): Promise<WrittenBlocks> {
  const { name, attempt, run, start, count } = target;
  const ids: string[] = [];
  let [next, end] = [start, start];
  const send = async ({ bytes, digest }: Part): Promise<{ id: string; size: number }> => {
    const [id, size] = [blockId(attempt, run, next), bytes.length];
    next += size;
    await blobs.putBlock(name, id, bytes, digest);
    return { id, size };
  };
  const arrived = ({ id, size }: { id: string; size: number }): void => {
    ids.push(id);
    end += size;
  };
  const failure = await sendParts(parts, { send, arrived, count, most: mostBlocks - 1 });
  return { ids, end, failure };
}
