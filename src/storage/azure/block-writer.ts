import { WorkcrateError } from '../../errors.ts';
import type { Blobs } from './blobs.ts';
import { blockId, mostBlocks } from './blocks.ts';
import type { Parts } from './parts.ts';

/** With the part that is being filled, four are in memory. */
const mostInFlight = 3;

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
  /** What stopped it, in the source or in the store; null where nothing did. */
  readonly failure: BlockFailure | null;
}

interface BlockFailure {
  readonly at: number;
  readonly error: unknown;
  /** Whether it was the store that failed, and not the source. */
  readonly isInStore: boolean;
}

/** Writes parts as blocks, several at a time. Whatever fails, those on their way are waited for. */
export async function writeBlocks(blobs: Blobs, target: BlockTarget, parts: Parts): Promise<WrittenBlocks> {
  const inFlight = new Set<Promise<void>>();
  const ids: string[] = [];
  const failures: BlockFailure[] = [];
  let end = target.start;
  const put = async (part: Uint8Array, at: number): Promise<void> => {
    const id = blockId(target.attempt, target.run, at);
    ids.push(id);
    await blobs
      .putBlock(target.name, id, part)
      .catch((error: unknown) => failures.push({ at, error, isInStore: true }));
    parts.giveBack(part);
  };
  try {
    for await (const part of parts.all) {
      if (part.length === 0) continue;
      while (inFlight.size >= mostInFlight) await Promise.race(inFlight);
      if (failures.length > 0) break;
      if (target.count + ids.length >= mostBlocks - 1) throw tooMany();
      const going: Promise<void> = put(part, end).finally(() => inFlight.delete(going));
      inFlight.add(going);
      end += part.length;
    }
  } catch (error) {
    failures.push({ at: end, error, isInStore: false });
  }
  await Promise.all(inFlight);
  const failure = failures.toSorted((a, b) => a.at - b.at)[0] ?? null;
  return { ids, end: failure?.at ?? end, failure };
}

const tooMany = (): WorkcrateError =>
  new WorkcrateError(
    'too_large',
    `The store takes no more than ${mostBlocks} parts of an object. Send it in fewer requests, or raise --part-size.`,
  );
