import { damaged, split, truncated } from './failures.ts';
import { CENTRAL_SIGNATURE, FULL_16, FULL_32 } from './fields.ts';
import type { Ranged } from './ranged.ts';
import { pieceOf, startsAsZip, type Tail } from './tail.ts';
import { readZip64, type Zip64 } from './zip64.ts';

/** Where the directory of an archive stands. */
export interface DirectoryPlace {
  readonly count: number;
  readonly start: number;
  readonly end: number;
  /** What has to be added to every offset that the archive states: the length of what was put in front of it. */
  readonly prefix: number;
}

interface Stated {
  readonly count: number;
  readonly size: number;
  readonly offset: number;
}

export async function findDirectory(
  bytes: Ranged,
  tail: Tail,
  signal?: AbortSignal,
): Promise<DirectoryPlace> {
  const wide = await readZip64(bytes, tail, signal);
  const stated = wide === null ? plainEnd(tail) : agreeing(tail, wide);
  const before = wide?.start ?? tail.start + tail.end;
  const gap = before - (stated.offset + stated.size);
  if (gap < 0) throw truncated('its directory lies beyond its end');
  if (wide !== null && gap !== wide.prefix) throw damaged('its ZIP64 records disagree with each other');
  const prefix = gap === 0 ? 0 : await prefixWithin(bytes, tail, stated, gap, signal);
  const start = stated.offset + prefix;
  return { count: stated.count, start, end: start + stated.size, prefix };
}

function plainEnd({ buffer, end }: Tail): Stated {
  if (buffer.readUInt32LE(end + 4) !== 0) throw split();
  const count = buffer.readUInt16LE(end + 10);
  if (buffer.readUInt16LE(end + 8) !== count) throw split();
  return { count, size: buffer.readUInt32LE(end + 12), offset: buffer.readUInt32LE(end + 16) };
}

/** What the old record states has to be the same, or all ones. */
function agreeing({ buffer, end }: Tail, wide: Zip64): Stated {
  const agrees =
    [4, 6].every((at) => [0, FULL_16].includes(buffer.readUInt16LE(end + at))) &&
    [8, 10].every((at) => [wide.count, FULL_16].includes(buffer.readUInt16LE(end + at))) &&
    [wide.size, FULL_32].includes(buffer.readUInt32LE(end + 12)) &&
    [wide.offset, FULL_32].includes(buffer.readUInt32LE(end + 16));
  if (!agrees) throw damaged('its two end records disagree');
  return wide;
}

/**
 * Bytes between the directory and the end record are either there, or as many were put in front of the archive, such
 * as a program that unpacks it. It is where the directory is found that tells.
 */
async function prefixWithin(
  bytes: Ranged,
  tail: Tail,
  stated: Stated,
  gap: number,
  signal?: AbortSignal,
): Promise<number> {
  if (stated.count === 0) return gap;
  const isAt = async (at: number) => {
    const piece = await pieceOf(bytes, tail, at, 4, signal);
    return piece.length === 4 && piece.readUInt32LE(0) === CENTRAL_SIGNATURE;
  };
  const [inFront, between] = [await isAt(stated.offset + gap), await isAt(stated.offset)];
  if (inFront === between) throw damaged('its directory is not where its end record says');
  if (between) return 0;
  // The end of a zip within a zip that was cut short behind it looks the same.
  if (await startsAsZip(bytes, signal))
    throw damaged('two archives stand one behind the other, or it was cut short within a zip that it holds');
  return gap;
}
