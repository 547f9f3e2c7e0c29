import type { StoredFile } from '../../files/files.ts';
import type { Kept } from './awaited.ts';
import type { ReadFile } from './reading.ts';
import { demandSame, difference } from './said.ts';
import type { Source, Trip } from './trip.ts';

/** A file that is too large for memory: it is stored, for a while. */
export interface LargeFile extends Omit<ReadFile, 'bytes'> {
  readonly stored: StoredFile;
}

/** Large files stay where they were sent to, and later calls find them there, at any server. */
export function largeFile(trip: Trip, { rung, stored }: Source): LargeFile {
  const { file, keep } = stored!;
  demandSame(file, trip.errand);
  keep();
  return { ...asLarge(trip, { file, rung: rung as Kept['rung'] }), cached: false };
}

/** One of these later calls; null where the file is said to be another by now. */
export const keptFile = (trip: Trip, kept: Kept | null): LargeFile | null =>
  kept === null || difference(kept.file, trip.errand) !== null ? null : asLarge(trip, kept);

const asLarge = ({ errand }: Trip, { file, rung }: Kept): LargeFile => ({
  path: errand.path.relative,
  rung,
  mtime: null,
  sha256: file.sha256,
  encoding: null,
  cached: true,
  stored: file,
});
