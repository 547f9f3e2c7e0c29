import { createHash } from 'node:crypto';
import { fileURLToPath, pathToFileURL } from 'node:url';
import {
  getKnownUrl,
  type Source,
  type SourceObject,
  type SourcePage,
} from '../../../ports/storage/source.ts';
import type { CrateKind, CrateLocation } from '../crate.ts';

export interface CandidateSearch {
  readonly source: Source;
  readonly ownerOf: GetObjectOwner;
  /** Called for each page with the number of objects that were seen and that were skipped. */
  readonly looked?: (page: { readonly objects: number; readonly passedOver: number }) => void;
}

/** Everything in a source that looks like a crate by its name. Nothing is opened. */
export async function* findCandidates(
  { source, ownerOf, looked }: CandidateSearch,
  signal?: AbortSignal,
): AsyncGenerator<CrateLocation> {
  const isSecond = createDuplicateFolderFilter();
  for (let after: string | null | undefined; after !== null;) {
    const page: SourcePage = await source.list({
      ...(after === undefined ? {} : { after }),
      ...(signal === undefined ? {} : { signal }),
    });
    for (const object of page.objects) {
      const place = toCrateLocation(source, object, ownerOf);
      if (place !== null && !isSecond(place)) yield place;
    }
    looked?.({ objects: page.objects.length, passedOver: page.passedOver });
    after = page.next;
  }
}

/**
 * Whether a folder's crate was found already by the other name of its metadata. That name is listed first, with nothing
 * between the two but entries of the same folder, so only the folders above the current one need to be remembered.
 */
function createDuplicateFolderFilter(): (place: CrateLocation) => boolean {
  const found: string[] = [];
  return ({ kind, object }) => {
    while (found.length > 0 && !object.startsWith(found.at(-1)!)) found.pop();
    if (kind !== 'folder') return false;
    const folder = getFolderPrefix(object);
    if (object === folder + metadataFileNames[0]) found.push(folder);
    else return found.includes(folder);
    return false;
  };
}

/** The only user who may see the object of that name; null for everybody. */
export type GetObjectOwner = (name: string) => string | null;

export const ownedByEverybody: GetObjectOwner = () => null;

/** The location of an object as a crate; null if it does not look like one. Hidden files never do. */
export function toCrateLocation(
  source: Source,
  object: SourceObject,
  ownerOf: GetObjectOwner,
): CrateLocation | null {
  const { name, size, modified, stamp } = object;
  const kind = detectCrateKind(name);
  if (kind === null) return null;
  // The same for both possible names of the metadata of a folder.
  const neutral = kind === 'folder' ? getFolderPrefix(name) : name;
  return {
    crateId: computeCrateId(source, neutral),
    source: source.url,
    kind,
    object: name,
    locator: toObjectUrl(source, neutral),
    owner: ownerOf(name),
    stamp,
    size,
    modified,
  };
}

/** `neutral` is the name of the archive, or of the folder. */
export function computeCrateId(source: Source, neutral: string): string {
  const hash = createHash('sha256')
    .update(`${getKnownUrl(source)}\0${neutral}`)
    .digest('hex');
  return `crate_${hash.slice(0, 24)}`;
}

function detectCrateKind(name: string): CrateKind | null {
  if (name.split('/').some((part) => part.startsWith('.'))) return null;
  const last = name.slice(name.lastIndexOf('/') + 1);
  if (/\.(?:zip|eln)$/i.test(last)) return 'zip';
  if (metadataFileNames.includes(last)) return 'folder';
  return last.endsWith(`-${metadataFileNames[0]}`) ? 'detached' : null;
}

/** If both exist, the first is used. */
export const metadataFileNames: readonly string[] = ['ro-crate-metadata.json', 'ro-crate-metadata.jsonld'];

/** Empty, or ending in `/`. */
export const getFolderPrefix = (name: string): string => name.slice(0, name.lastIndexOf('/') + 1);

/** Names are literal in addresses of stores, and percent-encoded in file URLs. */
const toObjectUrl = ({ kind, url }: Source, name: string): string =>
  kind === 'folder' ? pathToFileURL(fileURLToPath(url) + name).href : url + name;
