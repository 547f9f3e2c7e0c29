import { createHash } from 'node:crypto';
import { BoundedMap } from '../../concurrency/bounded-map.ts';
import { crateChanged, crateGone, type Source } from '../../storage/source.ts';

/** A stretch of an object, as it was when it had this stamp. */
export interface Range {
  readonly object: string;
  readonly stamp: string;
  readonly start: number;
  readonly end: number;
}

/** Null where it is not to be had without reading too much, or where nothing needs it. */
export type DigestRange = (source: Source, range: Range, signal: AbortSignal) => Promise<string | null>;

/** A quarter of a second's work. Of what is larger, a link has the CRC of the archive, or nothing. */
const mostBytes = 256 * 1024 ** 2;
const mostKnown = 1000;

/**
 * Hashes what links to a folder give. A copy of the folder, as a restored backup is, has other stamps: by the digest a
 * link can tell that the bytes are the same. Stores keep their stamps.
 */
export function createDigestRange(): DigestRange {
  const known = new BoundedMap<string, string>({ mostEntries: mostKnown });
  return async (source, range, signal) => {
    if (source.kind !== 'folder' || range.end - range.start > mostBytes) return null;
    const key = JSON.stringify([source.url, range.object, range.stamp, range.start, range.end]);
    const sha256 = known.get(key) ?? (await hashRange(source, range, signal));
    known.set(key, sha256);
    return sha256;
  };
}

async function hashRange(source: Source, range: Range, signal: AbortSignal): Promise<string> {
  const { object: name, stamp, start, end } = range;
  await using object = await source.open(name, signal);
  if (object === null) throw crateGone(source.url, name);
  if (object.object.stamp !== stamp) throw crateChanged(source.url, name);
  const hash = createHash('sha256');
  for await (const chunk of object.read(start, end, signal)) hash.update(chunk);
  return hash.digest('hex');
}
