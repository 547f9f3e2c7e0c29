import { WorkcrateError } from '../errors.ts';
import { centralHeaderSize, localHeaderSize } from './records.ts';
import type { ZipEntry } from './entry.ts';

/**
 * Where each entry's records begin in the archive: 16 bytes per entry instead of the records themselves.
 * Each array has one number more than there are entries, namely where its section ends.
 */
export interface Offsets {
  readonly local: Float64Array;
  readonly central: Float64Array;
}

export function offsetsOf(entries: readonly ZipEntry[]): Offsets {
  const local = new Float64Array(entries.length + 1);
  entries.forEach((entry, index) => {
    local[index + 1] = at(local, index) + localHeaderSize(entry) + entry.size;
  });
  const central = new Float64Array(entries.length + 1);
  central[0] = end(local);
  entries.forEach((entry, index) => {
    central[index + 1] = at(central, index) + centralHeaderSize(entry, at(local, index));
  });
  return checked({ local, central });
}

/** Beyond 2^53 the sums are rounded, and the archive would not be what its size says. */
function checked(offsets: Offsets): Offsets {
  if (end(offsets.central) <= 2 ** 52) return offsets;
  throw new WorkcrateError('invalid_input', 'These files are too large for one ZIP; make several.');
}

/** An offset that is known to exist. */
export function at(offsets: Float64Array, index: number): number {
  return offsets[index] as number;
}

/** Where the section ends. */
export function end(offsets: Float64Array): number {
  return at(offsets, offsets.length - 1);
}

/** The last index whose offset is not beyond `position`; 0 when all are. */
export function indexAt(offsets: Float64Array, position: number): number {
  let low = 0;
  let high = offsets.length - 1;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (at(offsets, middle) <= position) low = middle;
    else high = middle - 1;
  }
  return low;
}
