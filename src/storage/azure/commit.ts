import { WorkcrateError } from '../../errors.ts';
import { alreadyExists } from '../failures.ts';
import { partsOf, readRange, type Names } from '../remote/remote.ts';
import type { StoredObject } from '../storage.ts';
import type { Blobs, Written } from './blobs.ts';
import { writeBlocks } from './block-writer.ts';
import { blockId, newAttempt, type Chain } from './blocks.ts';
import { createMaking, type Making } from './making.ts';
import { homeOf, type Staged } from './staged.ts';

/** Makes objects, each whole or not at all, where there is none of that key. */
export function createCommitting(blobs: Blobs, names: Names, partBytes: number) {
  const { ownOne, fromBlocks, fromBytes } = createMaking(blobs);

  /** The ids of all that was staged, for which the head becomes a block too. */
  async function allIds({ attempt, head }: Staged, chain: Chain, home: string): Promise<string[]> {
    if (head.length === 0) return chain.ids;
    const id = blockId(attempt, 0, 0);
    await blobs.putBlock(home, id, head);
    return [id, ...chain.ids];
  }

  /** Uncommitted blocks cannot be read: where they are becomes a blob, which is copied. */
  async function fromElsewhere(making: Making, staged: Staged, chain: Chain): Promise<Written> {
    const own = await ownOne(making);
    if (own !== null) return own;
    const home = homeOf(names, staged);
    const ids = await allIds(staged, chain, home);
    const { attempt, size } = making;
    const source =
      staged.key === null
        ? await blobs.putBlockList(home, ids, { attempt }, false)
        : await fromBlocks({ key: staged.key, name: home, attempt, size }, ids);
    const bytes = readRange(blobs, { name: home, etag: source!.etag, size }, { start: 0, end: size });
    const target = { name: making.name, attempt: newAttempt(staged.name), run: 1, start: 0, count: 0 };
    const written = await writeBlocks(blobs, target, partsOf(bytes, { partBytes, hash: 'md5' }));
    if (written.failure) throw written.failure.error;
    return fromBlocks(making, written.ids);
  }

  async function fromStaged(making: Making, staged: Staged, chain: Chain): Promise<Written> {
    if (staged.run === 0) return fromBytes(making, staged.head);
    const home = homeOf(names, staged);
    if (home !== making.name) return fromElsewhere(making, staged, chain);
    return fromBlocks(making, await allIds(staged, chain, home));
  }

  /** The blocks are gone: with an earlier try that made the object, with the object of somebody else, or with time. */
  async function afterLoss({ key, name, attempt }: Making, staged: Staged): Promise<StoredObject> {
    const found = await blobs.head(name);
    if (found === null) throw lost();
    if (found.metadata['attempt'] !== attempt || found.size < staged.size) throw alreadyExists(key);
    return { key, size: found.size, modified: found.modified };
  }

  const made = ({ key, size }: Making, { modified }: Written): StoredObject => ({ key, size, modified });

  return {
    async empty(id: string, key: string): Promise<StoredObject> {
      const making = { key, name: names.object(key), attempt: newAttempt(id), size: 0 };
      return made(making, await fromBytes(making, new Uint8Array()));
    },
    async staged(staged: Staged, chain: Chain, key: string): Promise<StoredObject> {
      const making = { key, name: names.object(key), attempt: staged.attempt, size: chain.end };
      // What the store has dropped must not be missing from the object without a word.
      if (making.size < staged.size) return afterLoss(making, staged);
      return made(making, await fromStaged(making, staged, chain));
    },
  };
}

const lost = (): WorkcrateError =>
  new WorkcrateError(
    'storage_failed',
    'The store has dropped bytes of this upload, as it does a week after the last of them. Send it again.',
  );
