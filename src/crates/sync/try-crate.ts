import { isWorkcrateError, type ErrorCode } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { Source } from '../../storage/source.ts';
import type { BrokenCrate, CratePlace, ReadCrate } from '../crate.ts';
import { lacksMetadata, readCrate, type ReadingOptions } from './read-crate.ts';

/** What came of an attempt to read a crate. */
export type Tried =
  | { readonly crate: ReadCrate }
  | { readonly broken: BrokenCrate }
  /** An archive without metadata. */
  | { readonly loose: CratePlace }
  /** It takes too much memory to be read beside others. */
  | { readonly large: CratePlace }
  /** It is written to at the moment, and is left for the next time. */
  | { readonly changing: CratePlace }
  | { readonly gone: CratePlace };

/** What is wrong with a crate itself, and stays so until it changes. */
const faults: ReadonlySet<ErrorCode> = new Set([
  'not_a_zip',
  'zip_encrypted',
  'zip_truncated',
  'zip_damaged',
  'metadata_invalid',
  'too_large',
  'unsupported',
]);

/** In bytes. Metadata take some ten times as much once they are understood. */
const mostBesideOthers = 4 * 1024 * 1024;

export interface TryCrateOptions extends ReadingOptions {
  readonly log: Log;
}

/** Reads a crate, unless its metadata are so large that it should be alone. */
export async function tryBesideOthers(
  source: Source,
  place: CratePlace,
  options: TryCrateOptions,
): Promise<Tried> {
  const maxMetadata = Math.min(mostBesideOthers, options.maxMetadata);
  try {
    return { crate: await readCrate(source, place, { ...options, maxMetadata }) };
  } catch (error) {
    if (isWorkcrateError(error, 'too_large')) return { large: place };
    return toldOf(error, place, options);
  }
}

export async function tryAlone(source: Source, place: CratePlace, options: TryCrateOptions): Promise<Tried> {
  try {
    return { crate: await readCrate(source, place, options) };
  } catch (error) {
    return toldOf(error, place, options);
  }
}

/** What concerns this crate alone; anything else is thrown. */
function toldOf(error: unknown, place: CratePlace, { signal, log }: TryCrateOptions): Tried {
  signal.throwIfAborted();
  if (isWorkcrateError(error, 'crate_changed')) return { changing: place };
  if (isWorkcrateError(error, 'crate_gone')) return { gone: place };
  if (lacksMetadata(error)) return { loose: place };
  if (isWorkcrateError(error) && !faults.has(error.code)) throw error;
  const { code, reason } = isWorkcrateError(error) ? { code: error.code, reason: error.message } : ourFault;
  const { crateId: crate, locator } = place;
  if (code === 'internal') log.error('crates.reading_failed', { crate, locator, error });
  else log.info('crates.broken', { crate, locator, code });
  return { broken: { place, code, reason } };
}

/** A crate that brings out a fault of ours must not keep all others out of the index. */
const ourFault = {
  code: 'internal' as const,
  reason: 'The server failed while it read this crate. Its log says why.',
};
