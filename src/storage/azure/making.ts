import { alreadyExists } from '../failures.ts';
import type { Blobs, Written } from './blobs.ts';
import { blockId } from './blocks.ts';

export interface Making {
  readonly key: string;
  readonly name: string;
  /** Written on the object, so that it is known again as our own. */
  readonly attempt: string;
  readonly size: number;
}

/** Makes one object of bytes or of blocks that are there, where there is none of that name. */
export function createMaking(blobs: Blobs) {
  /**
   * There is an object already. It may be our own: then the answer to an earlier try was lost, or the process that made
   * it died before it had cleared up. Null where there is none after all.
   */
  async function ownOne({ key, name, attempt, size }: Making): Promise<Written | null> {
    const found = await blobs.head(name);
    if (found === null) return null;
    if (found.metadata['attempt'] === attempt && found.size === size) return found;
    throw alreadyExists(key);
  }

  async function fromBlocks(making: Making, ids: readonly string[]): Promise<Written> {
    const { name, attempt } = making;
    const made = (await blobs.putBlockList(name, ids, { attempt }, true)) ?? (await ownOne(making));
    if (made === null) throw alreadyExists(making.key);
    return made;
  }

  /** Azurite takes a blob that has nothing but uncommitted blocks for one that is there; its block list it does take. */
  async function fromBytes(making: Making, bytes: Uint8Array): Promise<Written> {
    const { name, attempt } = making;
    const made = (await blobs.put(name, bytes, { attempt }, true)) ?? (await ownOne(making));
    if (made !== null) return made;
    if (bytes.length === 0) return fromBlocks(making, []);
    const id = blockId(attempt, 0, 0);
    await blobs.putBlock(name, id, bytes);
    return fromBlocks(making, [id]);
  }

  return { ownOne, fromBlocks, fromBytes };
}
