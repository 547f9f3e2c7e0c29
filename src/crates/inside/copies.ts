import { BoundedMap } from '../../concurrency/bounded-map.ts';
import { isWorkcrateError } from '../../errors.ts';
import { digestOf } from '../../files/files.ts';
import type { Source, SourceObject } from '../../storage/source.ts';
import type { Reference } from './reference.ts';

const mostKnown = 1000;

/**
 * Tells whether an object of a folder holds the bytes that a link was made for, although it has another stamp. It is
 * read for that, once: the answer is remembered, and links that are under way wait for one reading.
 */
export function createCopies() {
  const known = new BoundedMap<string, Promise<boolean>>({ mostEntries: mostKnown });
  return async (source: Source, reference: Reference, there: SourceObject): Promise<boolean> => {
    if (source.kind !== 'folder' || !mayBeCopy(reference, there)) return false;
    const { object, start, end, sha256, crc32 } = reference;
    const key = JSON.stringify([source.url, object, there.stamp, start, end, sha256, crc32]);
    const answer = known.get(key) ?? hasSameBytes(source, reference, there);
    known.set(key, answer);
    // A disk that fails for a moment says nothing of the bytes.
    answer.catch(() => known.delete(key));
    return answer;
  };
}

/** A sha256 proves it alone. A CRC does where size and time are the same, as a copy keeps them. */
function mayBeCopy({ stamp, sha256, crc32 }: Reference, there: SourceObject): boolean {
  if (sizeIn(stamp) !== there.size) return false;
  return sha256 !== null || (crc32 !== null && sizeAndTime(stamp) === sizeAndTime(there.stamp));
}

/** A stamp of a file begins with its size, see folder.ts. */
const sizeIn = (stamp: string): number => Number.parseInt(stamp, 36);

/** What a stamp of a file says before what a copy does not keep. */
const sizeAndTime = (stamp: string): string => stamp.split('-').slice(0, -2).join('-');

async function hasSameBytes(source: Source, reference: Reference, there: SourceObject): Promise<boolean> {
  const { object, start, end, sha256, crc32 } = reference;
  try {
    await using opened = await source.open(object);
    if (opened?.object.stamp !== there.stamp) return false;
    const found = await digestOf(opened.read(start, end));
    return sha256 === null ? found.crc32 === crc32 : found.sha256 === sha256;
  } catch (error) {
    if (isWorkcrateError(error, 'crate_changed') || isWorkcrateError(error, 'crate_gone')) return false;
    throw error;
  }
}
