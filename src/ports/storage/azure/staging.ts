import { isWorkcrateError, WorkcrateError } from '../../../platform/errors.ts';
import {
  splitIntoParts,
  readObjectRange,
  type ObjectNames,
  type UploadPart,
  type UploadParts,
} from '../remote/remote.ts';
import { alreadyExistsError, offsetConflictError, type Staging, type StoredObject } from '../storage.ts';
import { toBlockId, findBlockChain, isOwnAttempt, createAttempt, type BlockChain } from './blocks.ts';
import type { Blobs, WrittenBlob } from './client.ts';
import { listStagedBlobs } from './listing.ts';
import {
  beginStaged,
  getBlocksBlobName,
  loadStagedBlob,
  maxHeadBytes,
  noteStaged,
  writeBlocks,
  type StagedBlob,
} from './staged.ts';

/**
 * Staged uploads. An upload has a small blob of its own with its state, and with all of its bytes if they are few.
 * Otherwise its bytes are uncommitted blocks of the blob that they are meant for.
 */
export function createAzureStaging(blobs: Blobs, names: ObjectNames, partBytes: number): Staging {
  const committing = createBlobCommitter(blobs, names, partBytes);
  const load = (id: string): Promise<StagedBlob | null> => loadStagedBlob(blobs, names.staged(id));
  const chain = async (staged: StagedBlob): Promise<BlockChain> => {
    const blocks = staged.run === 0 ? [] : await blobs.blocks(getBlocksBlobName(names, staged));
    return findBlockChain(blocks, staged.attempt, staged.head.length);
  };

  /**
   * Blocks go to the key that they are meant for, unless it is in use. If it has an object, removing that would remove the
   * blocks; if another upload has begun there, the first commit drops the blocks of the other. Then the result is null:
   * blocks are kept apart, and copied in the end.
   */
  async function chooseKey(id: string, key: string | undefined): Promise<string | null> {
    if (key === undefined) return null;
    const name = names.object(key);
    const [found, blocks] = await Promise.all([blobs.head(name), blobs.blocks(name)]);
    return found === null && blocks.every((block) => isOwnAttempt(block.attempt, id)) ? key : null;
  }

  /** If only the source failed, the size so far is saved; after the store failed, the blocks say how far it came. */
  async function write(staged: StagedBlob, count: number, parts: UploadParts): Promise<number> {
    const { attempt, run, size: start } = staged;
    const target = { name: getBlocksBlobName(names, staged), attempt, run, start, count };
    const { end, failure } = await writeBlocks(blobs, target, parts);
    if (!failure?.isInStore && end > start) await noteStaged(blobs, staged, { size: end });
    if (failure) throw failure.error;
    return end;
  }

  async function begin(id: string, parts: UploadParts, key: string | undefined): Promise<number> {
    const first: UploadPart = (await parts.all.next()).value;
    const { length } = first.bytes;
    const facts = { name: names.staged(id), attempt: createAttempt(id), run: 0, size: length, key: null };
    if (length < partBytes && length <= maxHeadBytes) {
      await beginStaged(blobs, facts, first.bytes);
      // There are no more bytes, but the source may have failed.
      await parts.all.next();
      return length;
    }
    const blocks = { ...facts, run: 1, size: 0, key: await chooseKey(id, key) };
    const staged = await beginStaged(blobs, blocks, new Uint8Array());
    return write(staged, 0, { ...parts, all: prependPart(first, parts.all) });
  }

  async function continueUpload(
    id: string,
    offset: number,
    parts: UploadParts,
    key: string | undefined,
  ): Promise<number> {
    const staged = await load(id);
    const { ids, end } = staged ? await chain(staged) : { ids: [], end: 0 };
    if (staged === null || end !== offset) throw offsetConflictError(end);
    const home = staged.run === 0 ? await chooseKey(id, key) : staged.key;
    const noted = await noteStaged(blobs, staged, { run: staged.run + 1, size: end, key: home });
    return write(noted, ids.length, parts);
  }

  async function clearUp(staged: StagedBlob, key: string): Promise<void> {
    if (staged.run > 0 && staged.key !== key) await blobs.remove(getBlocksBlobName(names, staged));
    await blobs.remove(staged.name);
  }

  return {
    async size(id) {
      const staged = await load(id);
      return staged ? (await chain(staged)).end : 0;
    },
    async append(id, offset, bytes, { signal, key } = {}) {
      const parts = splitIntoParts(bytes, { partBytes, hash: 'md5', signal });
      await using _ = parts.all;
      return await (offset === 0 ? begin(id, parts, key) : continueUpload(id, offset, parts, key));
    },
    async commit(id, key) {
      const staged = await load(id);
      if (staged === null) return committing.empty(id, key);
      const made = await committing.staged(staged, await chain(staged), key);
      await clearUp(staged, key).catch(leaveToSweep);
      return made;
    },
    /** The store drops blocks at a key a week after the last of them: any other way would show an object. */
    async discard(id) {
      const name = names.staged(id);
      const found = await blobs.head(name);
      const home = getBlocksBlobName(names, { name, key: null });
      const isApart = Number(found?.metadata['run'] ?? 0) > 0 && found?.metadata['key'] === undefined;
      // Writing an empty blob drops all blocks.
      if (isApart) await blobs.put(home, new Uint8Array(), {});
      if (isApart || found === null) await blobs.remove(home);
      if (found !== null) await blobs.remove(name);
    },
    list: () => listStagedBlobs(blobs, names),
  };
}

/** The object is made, which is what counts. What is left is listed, and swept with abandoned uploads. */
function leaveToSweep(error: unknown): void {
  if (!isWorkcrateError(error)) throw error;
}

async function* prependPart(first: UploadPart, rest: AsyncGenerator<UploadPart>): AsyncGenerator<UploadPart> {
  yield first;
  yield* rest;
}

/** Makes objects, each whole or not at all, and never replaces one. */
function createBlobCommitter(blobs: Blobs, names: ObjectNames, partBytes: number) {
  const { findOwnObject, fromBlocks, fromBytes } = createBlobMaker(blobs);

  /** The ids of all staged blocks, after the head has become a block too. */
  async function allIds({ attempt, head }: StagedBlob, chain: BlockChain, home: string): Promise<string[]> {
    if (head.length === 0) return chain.ids;
    const id = toBlockId(attempt, 0, 0);
    await blobs.putBlock(home, id, head);
    return [id, ...chain.ids];
  }

  /** Uncommitted blocks cannot be read, so they are committed to a blob, which is copied. */
  async function fromElsewhere(
    target: BlobTarget,
    staged: StagedBlob,
    chain: BlockChain,
  ): Promise<WrittenBlob> {
    const own = await findOwnObject(target);
    if (own !== null) return own;
    const home = getBlocksBlobName(names, staged);
    const ids = await allIds(staged, chain, home);
    const { attempt, size } = target;
    const source =
      staged.key === null
        ? await blobs.putBlockList(home, ids, { attempt }, false)
        : await fromBlocks({ key: staged.key, name: home, attempt, size }, ids);
    const bytes = readObjectRange(blobs, { name: home, etag: source!.etag, size }, { start: 0, end: size });
    const blockTarget = {
      name: target.name,
      attempt: createAttempt(staged.name),
      run: 1,
      start: 0,
      count: 0,
    };
    const written = await writeBlocks(blobs, blockTarget, splitIntoParts(bytes, { partBytes, hash: 'md5' }));
    if (written.failure) throw written.failure.error;
    return fromBlocks(target, written.ids);
  }

  async function fromStaged(target: BlobTarget, staged: StagedBlob, chain: BlockChain): Promise<WrittenBlob> {
    if (staged.run === 0) return fromBytes(target, staged.head);
    const home = getBlocksBlobName(names, staged);
    if (home !== target.name) return fromElsewhere(target, staged, chain);
    return fromBlocks(target, await allIds(staged, chain, home));
  }

  /** The blocks are gone: with an earlier try that made the object, with the object of somebody else, or with time. */
  async function afterLoss({ key, name, attempt }: BlobTarget, staged: StagedBlob): Promise<StoredObject> {
    const found = await blobs.head(name);
    if (found === null) throw uploadLostError();
    if (found.metadata['attempt'] !== attempt || found.size < staged.size) throw alreadyExistsError(key);
    return { key, size: found.size, modified: found.modified };
  }

  const made = ({ key, size }: BlobTarget, { modified }: WrittenBlob): StoredObject => ({
    key,
    size,
    modified,
  });

  return {
    async empty(id: string, key: string): Promise<StoredObject> {
      const target = { key, name: names.object(key), attempt: createAttempt(id), size: 0 };
      return made(target, await fromBytes(target, new Uint8Array()));
    },
    async staged(staged: StagedBlob, chain: BlockChain, key: string): Promise<StoredObject> {
      const target = { key, name: names.object(key), attempt: staged.attempt, size: chain.end };
      // Bytes that the store has dropped must not be missing from the object silently.
      if (target.size < staged.size) return afterLoss(target, staged);
      return made(target, await fromStaged(target, staged, chain));
    },
  };
}

const uploadLostError = (): WorkcrateError =>
  new WorkcrateError(
    'storage_failed',
    'The store has dropped bytes of this upload, as it does a week after the last of them. Send it again.',
  );

export interface BlobTarget {
  readonly key: string;
  readonly name: string;
  /** In the metadata of the object, so that we recognize it as our own. */
  readonly attempt: string;
  readonly size: number;
}

/** Makes one object of bytes or of staged blocks, and never replaces one. */
export function createBlobMaker(blobs: Blobs) {
  /**
   * For a name that is taken. The object may be our own: then the answer to an earlier try was lost, or the process that
   * made it died before it had cleaned up. Null if there is none after all.
   */
  async function findOwnObject({ key, name, attempt, size }: BlobTarget): Promise<WrittenBlob | null> {
    const found = await blobs.head(name);
    if (found === null) return null;
    if (found.metadata['attempt'] === attempt && found.size === size) return found;
    throw alreadyExistsError(key);
  }

  async function fromBlocks(target: BlobTarget, ids: readonly string[]): Promise<WrittenBlob> {
    const { name, attempt } = target;
    const made = (await blobs.putBlockList(name, ids, { attempt }, true)) ?? (await findOwnObject(target));
    if (made === null) throw alreadyExistsError(target.key);
    return made;
  }

  /** For Azurite a blob with only uncommitted blocks exists; it does accept a block list for it. */
  async function fromBytes(target: BlobTarget, bytes: Uint8Array): Promise<WrittenBlob> {
    const { name, attempt } = target;
    const made = (await blobs.put(name, bytes, { attempt }, true)) ?? (await findOwnObject(target));
    if (made !== null) return made;
    if (bytes.length === 0) return fromBlocks(target, []);
    const id = toBlockId(attempt, 0, 0);
    await blobs.putBlock(name, id, bytes);
    return fromBlocks(target, [id]);
  }

  return { findOwnObject, fromBlocks, fromBytes };
}
