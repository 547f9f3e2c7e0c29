import { belowRoot } from '../paths/paths.ts';
import type { Place } from './sandbox.ts';
import { unlinkedSpace } from './unlinked.ts';

/** What a user's folders take on disk. */
export interface PlaceSpace {
  /** Infinity where something cannot be counted. */
  readonly bytes: number;
  /** Runs of the user hold something that cannot be looked into. */
  readonly mayHideMore: boolean;
}

export interface Counting {
  readonly place: Place;
  /** Whether to look for files that have no name any more, which only runs under way can hold. */
  readonly withUnlinked: boolean;
  /** Beyond these the count is given up. */
  readonly mostEntries: number;
  readonly mostDescriptors: number;
}

/** Counts in short steps. Null where there is more than may be looked at. */
export function* countPlace(counting: Counting): Generator<void, PlaceSpace | null> {
  const { place, withUnlinked, mostEntries, mostDescriptors } = counting;
  let bytes = 0;
  for (const folder of [place.workspace, place.artifacts]) {
    const space = yield* belowRoot(folder).space(mostEntries);
    if (space.isCut) return null;
    bytes += space.bytes;
  }
  if (!withUnlinked || bytes === Infinity) return { bytes, mayHideMore: false };
  const unlinked = yield* unlinkedSpace(place, mostDescriptors);
  return unlinked.isCut ? null : { bytes: bytes + unlinked.bytes, mayHideMore: unlinked.mayHideMore };
}
