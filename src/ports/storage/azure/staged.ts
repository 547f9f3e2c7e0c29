import { z } from 'zod';
import { WorkcrateError } from '../../../platform/errors.ts';
import { collectBytes } from '../../../platform/streams.ts';
import {
  readObjectRange,
  sendParts,
  type ObjectNames,
  type UploadPart,
  type UploadParts,
  type SendingFailure,
} from '../remote/remote.ts';
import { isStorageKey } from '../storage.ts';
import { toBlockId, isAttempt, maxBlocks, maxBlockRuns } from './blocks.ts';
import type { Blobs, Metadata } from './client.ts';

/**
 * The state of an upload, in a small blob of its own, so that any process finds it by the id. It is written when the
 * upload starts; after that only its metadata change.
 */
export interface StagedBlob {
  readonly name: string;
  readonly attempt: string;
  /** How many appends have written blocks; 0 where there are none. */
  readonly run: number;
  /** At least so many bytes are durable, head and blocks together. */
  readonly size: number;
  /** The key whose blob has the blocks; null if they are in a blob of the upload's own. */
  readonly key: string | null;
  /** The first bytes of the upload, if it began with few: a small object needs no blocks at all. */
  readonly head: Uint8Array;
  readonly etag: string;
}

/** The blob with the blocks of an upload. */
export const getBlocksBlobName = (
  names: ObjectNames,
  { name, key }: Pick<StagedBlob, 'name' | 'key'>,
): string => (key === null ? `${name}/data` : names.object(key));

export const maxHeadBytes = 1024 * 1024;

const digits = z
  .string()
  .regex(/^\d{1,16}$/)
  .transform(Number);

/** What a blob of ours says of itself, in its metadata. */
const notedForm = z.object({
  attempt: z.string().refine(isAttempt),
  run: digits.refine((run) => run <= maxBlockRuns),
  size: digits.refine(Number.isSafeInteger),
  key: z.string().refine(isStorageKey).nullable().default(null),
});

export async function loadStagedBlob(blobs: Blobs, name: string): Promise<StagedBlob | null> {
  const answer = await blobs.get(name);
  if (answer === null) return null;
  const { size, etag, metadata } = answer.facts;
  const { data: noted } = notedForm.safeParse(metadata);
  if (noted === undefined || size > maxHeadBytes) {
    answer.body.destroy();
    throw new WorkcrateError(
      'storage_failed',
      `The blob ${name} is damaged, or Workcrate did not write it. Discard the upload or remove the blob, and send the file again; ` +
        'if it belongs to somebody else, set another --azure-prefix.',
    );
  }
  const about = { name, ...noted, etag };
  try {
    const head = await collectBytes(answer.body);
    if (head.length === size) return { ...about, head };
  } catch {
    // If the connection broke, it is read again below, with retries.
  }
  return {
    ...about,
    head: await collectBytes(readObjectRange(blobs, { name, etag, size }, { start: 0, end: size })),
  };
}

type StagedFacts = Pick<StagedBlob, 'name' | 'attempt' | 'run' | 'size' | 'key'>;

const toStagedMetadata = ({ attempt, run, size, key }: StagedFacts): Metadata => ({
  attempt,
  run: `${run}`,
  size: `${size}`,
  ...(key === null ? {} : { key }),
});

/** Begins afresh: whatever was held under this name is dropped. */
export async function beginStaged(blobs: Blobs, facts: StagedFacts, head: Uint8Array): Promise<StagedBlob> {
  const { etag } = (await blobs.put(facts.name, head, toStagedMetadata(facts)))!;
  return { ...facts, head, etag };
}

/** Notes how far it is. Refuses where somebody else has noted something meanwhile. */
export async function noteStaged(
  blobs: Blobs,
  staged: StagedBlob,
  changes: Partial<StagedFacts>,
): Promise<StagedBlob> {
  const next = { ...staged, ...changes };
  const written = await blobs.setMetadata(staged.name, toStagedMetadata(next), staged.etag);
  if (written !== null) return { ...next, etag: written.etag };
  // The answer to a try that succeeded may have been lost.
  const found = await loadStagedBlob(blobs, staged.name);
  if (found !== null && JSON.stringify(toStagedMetadata(found)) === JSON.stringify(toStagedMetadata(next)))
    return found;
  throw new WorkcrateError('storage_failed', 'Another request writes to the same upload. Try again.');
}

export interface BlockTarget {
  readonly name: string;
  readonly attempt: string;
  readonly run: number;
  /** At which byte of the object the first part begins. */
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
export async function writeBlocks(
  blobs: Blobs,
  target: BlockTarget,
  parts: UploadParts,
): Promise<WrittenBlocks> {
  const { name, attempt, run, start, count } = target;
  const ids: string[] = [];
  let [next, end] = [start, start];
  const send = async ({ bytes, digest }: UploadPart): Promise<{ id: string; size: number }> => {
    const [id, size] = [toBlockId(attempt, run, next), bytes.length];
    next += size;
    await blobs.putBlock(name, id, bytes, digest);
    return { id, size };
  };
  const arrived = ({ id, size }: { id: string; size: number }): void => {
    ids.push(id);
    end += size;
  };
  const failure = await sendParts(parts, { send, arrived, count, most: maxBlocks - 1 });
  return { ids, end, failure };
}
