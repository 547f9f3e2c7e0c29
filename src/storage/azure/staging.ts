import { isWorkcrateError } from '../../errors.ts';
import { offsetConflict } from '../failures.ts';
import { partsOf, type Names, type Part, type Parts } from '../remote/remote.ts';
import type { Staging } from '../storage.ts';
import type { Blobs } from './blobs.ts';
import { writeBlocks } from './block-writer.ts';
import { chainOf, isOwnAttempt, newAttempt, type Chain } from './blocks.ts';
import { createCommitting } from './commit.ts';
import { listStaged } from './listing.ts';
import { beginStaged, homeOf, loadStaged, longestHead, noteStaged, type Staged } from './staged.ts';

/**
 * Bytes on their way in. An upload has a small blob of its own, which says what is known of it and holds all of it
 * where it is small. Otherwise its bytes are uncommitted blocks of the blob that they are meant for.
 */
export function azureStaging(blobs: Blobs, names: Names, partBytes: number): Staging {
  const committing = createCommitting(blobs, names, partBytes);
  const load = (id: string): Promise<Staged | null> => loadStaged(blobs, names.staged(id));
  const chain = async (staged: Staged): Promise<Chain> => {
    const blocks = staged.run === 0 ? [] : await blobs.blocks(homeOf(names, staged));
    return chainOf(blocks, staged.attempt, staged.head.length);
  };

  /**
   * Blocks go to the key that they are meant for. Where an object stands there already, it may yet be removed, and they
   * with it; where another upload has begun there, whoever commits first drops the other's. So then they are kept
   * apart, and copied in the end.
   */
  async function homeFor(id: string, key: string | undefined): Promise<string | null> {
    if (key === undefined) return null;
    const name = names.object(key);
    const [found, blocks] = await Promise.all([blobs.head(name), blobs.blocks(name)]);
    return found === null && blocks.every((block) => isOwnAttempt(block.attempt, id)) ? key : null;
  }

  /** Where nothing but the source failed, how far it came is noted; after the store failed, the blocks tell. */
  async function write(staged: Staged, count: number, parts: Parts): Promise<number> {
    const { attempt, run, size: start } = staged;
    const target = { name: homeOf(names, staged), attempt, run, start, count };
    const { end, failure } = await writeBlocks(blobs, target, parts);
    if (!failure?.isInStore && end > start) await noteStaged(blobs, staged, { size: end });
    if (failure) throw failure.error;
    return end;
  }

  async function begin(id: string, parts: Parts, key: string | undefined): Promise<number> {
    const first: Part = (await parts.all.next()).value;
    const { length } = first.bytes;
    const facts = { name: names.staged(id), attempt: newAttempt(id), run: 0, size: length, key: null };
    if (length < partBytes && length <= longestHead) {
      await beginStaged(blobs, facts, first.bytes);
      // There is nothing more, but it may have failed.
      await parts.all.next();
      return length;
    }
    const blocks = { ...facts, run: 1, size: 0, key: await homeFor(id, key) };
    const staged = await beginStaged(blobs, blocks, new Uint8Array());
    return write(staged, 0, { ...parts, all: withFirst(first, parts.all) });
  }

  async function goOn(id: string, offset: number, parts: Parts, key: string | undefined): Promise<number> {
    const staged = await load(id);
    const { ids, end } = staged ? await chain(staged) : { ids: [], end: 0 };
    if (staged === null || end !== offset) throw offsetConflict(end);
    const home = staged.run === 0 ? await homeFor(id, key) : staged.key;
    const noted = await noteStaged(blobs, staged, { run: staged.run + 1, size: end, key: home });
    return write(noted, ids.length, parts);
  }

  async function clearUp(staged: Staged, key: string): Promise<void> {
    if (staged.run > 0 && staged.key !== key) await blobs.remove(homeOf(names, staged));
    await blobs.remove(staged.name);
  }

  return {
    async size(id) {
      const staged = await load(id);
      return staged ? (await chain(staged)).end : 0;
    },
    async append(id, offset, bytes, { signal, key } = {}) {
      const parts = partsOf(bytes, { partBytes, hash: 'md5', signal });
      await using _ = parts.all;
      return await (offset === 0 ? begin(id, parts, key) : goOn(id, offset, parts, key));
    },
    async commit(id, key) {
      const staged = await load(id);
      if (staged === null) return committing.empty(id, key);
      const made = await committing.staged(staged, await chain(staged), key);
      await clearUp(staged, key).catch(leaveToSweep);
      return made;
    },
    /** Blocks at a key are dropped by the store, a week after the last of them: any other way would show an object. */
    async discard(id) {
      const name = names.staged(id);
      const found = await blobs.head(name);
      const home = homeOf(names, { name, key: null });
      const isApart = Number(found?.metadata['run'] ?? 0) > 0 && found?.metadata['key'] === undefined;
      // An empty blob takes the place of all blocks.
      if (isApart) await blobs.put(home, new Uint8Array(), {});
      if (isApart || found === null) await blobs.remove(home);
      if (found !== null) await blobs.remove(name);
    },
    list: () => listStaged(blobs, names),
  };
}

/** The object is made, and that is what was asked for. What is left is listed, and discarded with what nobody goes on with. */
function leaveToSweep(error: unknown): void {
  if (!isWorkcrateError(error)) throw error;
}

async function* withFirst(first: Part, rest: AsyncGenerator<Part>): AsyncGenerator<Part> {
  yield first;
  yield* rest;
}
