import { crateChanged, crateGone, type OpenSourceObject, type Source } from '../../storage/source.ts';
import type { CratePlace } from '../crate.ts';
import type { CrateContainer } from './contents.ts';
import { objectContainer } from './object-container.ts';
import { zipContainer } from './zip-container.ts';

/** Opens a crate, if it is still what it was: else `crate_changed`, or `crate_gone`. */
export async function openContainer(
  source: Source,
  place: CratePlace,
  { signal }: { readonly signal?: AbortSignal | undefined } = {},
): Promise<CrateContainer> {
  const object = await source.open(place.object, signal);
  if (object === null) throw crateGone(source.url, place.object);
  try {
    if (object.object.stamp !== place.stamp) throw crateChanged(source.url, place.object);
    return await opened(source, place, object, signal);
  } catch (error) {
    await object[Symbol.asyncDispose]();
    throw error;
  }
}

const opened = async (
  source: Source,
  place: CratePlace,
  object: OpenSourceObject,
  signal: AbortSignal | undefined,
): Promise<CrateContainer> =>
  place.kind === 'zip' ? zipContainer(source, object, signal) : objectContainer(source, place.kind, object);
