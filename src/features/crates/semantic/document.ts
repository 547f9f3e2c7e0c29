import { createHash } from 'node:crypto';

/** A document of the index as the search by meaning takes it. */
export interface SemanticDocument {
  readonly document: number;
  readonly crateId: string;
  readonly text: string;
  /** Whether one user alone may see it. No model is fitted to it: it would show in what others find, and how near. */
  readonly isPrivate: boolean;
}

/** 16 bytes that are the same for the same text, on every machine, and for no other. Documents are ordered by them. */
export const keyOf = ({ text }: SemanticDocument): Buffer =>
  createHash('sha256').update(text).digest().subarray(0, 16);

/**
 * A number of 48 bits that decides between documents that are equally near: by text, and by crate where that is the
 * same. It is no number of a document, for those differ from machine to machine.
 */
export function tieOf(key: Buffer, { crateId }: SemanticDocument): number {
  const crate = createHash('sha256').update(crateId).digest();
  return key.readUIntBE(0, 3) * 2 ** 24 + crate.readUIntBE(0, 3);
}

/** So many at a time, where there may be any number. */
export async function* inBatches<T>(items: AsyncIterable<T>, size: number): AsyncGenerator<T[]> {
  let batch: T[] = [];
  for await (const item of items) {
    batch.push(item);
    if (batch.length < size) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

export function* slices<T>(items: readonly T[], size: number): Generator<readonly T[]> {
  for (let at = 0; at < items.length; at += size) yield items.slice(at, at + size);
}
