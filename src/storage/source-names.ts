import { WorkcrateError } from '../errors.ts';
import type { SourceObject, SourcePage } from './source.ts';

/** What stands in a source on its way to become an object begins so, in one of its parts. It is not listed. */
export const ownMark = '.workcrate-';

export const isOwnName = (name: string): boolean => name.split('/').some((part) => part.startsWith(ownMark));

/** Whether a name means one object only, here and on every way to it. */
export const isSourceName = (name: string): boolean =>
  name.isWellFormed() &&
  !name.includes('\0') &&
  name.split('/').every((part) => part !== '' && part !== '.' && part !== '..');

/** What a store says of an object; null for a name that cannot be read. */
export type Listed = Omit<SourceObject, 'name'> & { readonly name: string | null };

/** What of a store's page is below a prefix, under names from there on. Markers of folders are no objects. */
export function toldBelow(prefix: string, listed: readonly Listed[]): Omit<SourcePage, 'next'> {
  const objects: SourceObject[] = [];
  let passedOver = 0;
  for (const one of listed) {
    const name = one.name?.startsWith(prefix) ? one.name.slice(prefix.length) : null;
    if (name === '' || name?.endsWith('/') || (name !== null && isOwnName(name))) continue;
    if (name !== null && isSourceName(name) && isTold(one)) objects.push({ ...one, name });
    else passedOver++;
  }
  return { objects, passedOver };
}

const isTold = ({ size, stamp }: Listed): boolean => Number.isSafeInteger(size) && size >= 0 && stamp !== '';

/** Refuses a name to be written that could not be found again; the store takes names of 1,024 bytes. */
export function checkNewName(name: string, prefix = ''): void {
  if (isSourceName(name) && !isOwnName(name) && Buffer.byteLength(prefix + name) <= 1024) return;
  throw new WorkcrateError('invalid_input', `${JSON.stringify(name)} cannot be the name of an object.`);
}

/** The bytes as they are, if there are as many as was said. Nothing beyond them is passed on. */
export async function* exactly(bytes: AsyncIterable<Uint8Array>, size: number): AsyncGenerator<Uint8Array> {
  let left = size;
  for await (const chunk of bytes) {
    left -= chunk.length;
    if (left < 0) break;
    yield chunk;
  }
  if (left !== 0) throw new WorkcrateError('size_mismatch', `Not the announced ${size} bytes arrived.`);
}

/** Headers have an ETag in quotes, listings not always; what stands between may have made it a weak one. */
export const bareEtag = (etag: string): string => etag.replaceAll(/^(?:W\/)?"|"$/g, '');

/** The stamp of an object by the answer of a store. Without one, it was not the store that answered. */
export function stampIn(etag: string): string {
  if (bareEtag(etag) !== '') return bareEtag(etag);
  throw new WorkcrateError(
    'storage_failed',
    'The store listed an object without an ETag. Check its address, and any proxy in between.',
  );
}

export const quotedEtag = (stamp: string): string => `"${stamp}"`;
