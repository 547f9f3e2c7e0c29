import type { StoredFile } from '../../files/files.ts';
import type { ReadFile } from './reading.ts';
import { demandSame } from './said.ts';
import type { Source, Trip } from './trip.ts';

/** A file that is too large for memory: it is stored, for a while. */
export interface LargeFile extends Omit<ReadFile, 'bytes'> {
  readonly stored: StoredFile;
}

/** Large files stay where they were sent to, and the next call finds them there, at any server. */
export function largeFile({ errand }: Trip, { rung, stored }: Source): LargeFile {
  const { file, keep } = stored!;
  demandSame(file, errand);
  keep();
  const { relative: path } = errand.path;
  const facts = { path, rung, mtime: null, sha256: file.sha256, encoding: null, cached: false };
  return { ...facts, stored: file };
}
