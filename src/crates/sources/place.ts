import { createHash } from 'node:crypto';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { lastingName, type Source, type SourceObject } from '../../storage/source.ts';
import type { CrateKind, CratePlace } from '../crate.ts';

/** Who alone may see the object of that name; null for everybody. */
export type OwnerOf = (name: string) => string | null;

export const everybodys: OwnerOf = () => null;

/** What an object is as a crate; null where it does not look like one. What is hidden is none. */
export function placeOf(source: Source, object: SourceObject, ownerOf: OwnerOf): CratePlace | null {
  const { name, size, modified, stamp } = object;
  const kind = kindOf(name);
  if (kind === null) return null;
  // The same for both names that the metadata of a folder may have.
  const neutral = kind === 'folder' ? folderOf(name) : name;
  return {
    crateId: crateIdOf(source, neutral),
    source: source.url,
    kind,
    object: name,
    locator: addressOf(source, neutral),
    owner: ownerOf(name),
    stamp,
    size,
    modified,
  };
}

/** `neutral` is the name of the archive, or of the folder. */
export function crateIdOf(source: Source, neutral: string): string {
  const hash = createHash('sha256')
    .update(`${lastingName(source)}\0${neutral}`)
    .digest('hex');
  return `crate_${hash.slice(0, 24)}`;
}

function kindOf(name: string): CrateKind | null {
  if (name.split('/').some((part) => part.startsWith('.'))) return null;
  const last = name.slice(name.lastIndexOf('/') + 1);
  if (/\.(?:zip|eln)$/i.test(last)) return 'zip';
  if (metadataNames.includes(last)) return 'folder';
  return last.endsWith(`-${metadataNames[0]}`) ? 'detached' : null;
}

/** The first is taken where both are there. */
export const metadataNames: readonly string[] = ['ro-crate-metadata.json', 'ro-crate-metadata.jsonld'];

/** Empty, or ending in `/`. */
export const folderOf = (name: string): string => name.slice(0, name.lastIndexOf('/') + 1);

/** Names stand in the addresses of stores as they are, in those of files as URLs have them. */
const addressOf = ({ kind, url }: Source, name: string): string =>
  kind === 'folder' ? pathToFileURL(fileURLToPath(url) + name).href : url + name;
