import type { Source, SourcePage } from '../../storage/source.ts';
import type { CratePlace } from '../crate.ts';
import { folderOf, metadataNames, placeOf, type OwnerOf } from './place.ts';

export interface Candidates {
  readonly source: Source;
  readonly ownerOf: OwnerOf;
  /** Told of each page: how much was looked at, and how much could not be told. */
  readonly looked?: (page: { readonly objects: number; readonly passedOver: number }) => void;
}

/** Everything in a source that looks like a crate, as it is listed. Nothing of it is opened. */
export async function* candidatesIn(
  { source, ownerOf, looked }: Candidates,
  signal?: AbortSignal,
): AsyncGenerator<CratePlace> {
  const isSecond = secondsOfTheirFolder();
  for (let after: string | null | undefined; after !== null;) {
    const page: SourcePage = await source.list({
      ...(after === undefined ? {} : { after }),
      ...(signal === undefined ? {} : { signal }),
    });
    for (const object of page.objects) {
      const place = placeOf(source, object, ownerOf);
      if (place !== null && !isSecond(place)) yield place;
    }
    looked?.({ objects: page.objects.length, passedOver: page.passedOver });
    after = page.next;
  }
}

/**
 * Whether a folder's crate has been told already, by the other name of its metadata. That one is listed before this
 * one, with nothing between but what stands in the same folder: so only the folders on the way here are remembered.
 */
function secondsOfTheirFolder(): (place: CratePlace) => boolean {
  const told: string[] = [];
  return ({ kind, object }) => {
    while (told.length > 0 && !object.startsWith(told.at(-1)!)) told.pop();
    if (kind !== 'folder') return false;
    const folder = folderOf(object);
    if (object === folder + metadataNames[0]) told.push(folder);
    else return told.includes(folder);
    return false;
  };
}
