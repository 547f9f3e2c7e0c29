import { WorkcrateError } from '../../errors.ts';
import { findElementText, findElements } from '../../net/xml.ts';
import { bareEtag, toldBelow, type Listed } from '../source-names.ts';
import type { SourcePage } from '../source.ts';
import type { Blobs } from './blobs.ts';

/** A hundred million blobs; whoever lists for longer does not come to an end. */
const mostPages = 100_000;

/** How far a listing has come: the service's own marker, and after how many pages. */
type Reached = readonly [page: number, marker: string];

/** A page of names that others have chosen. Their order is the service's own, so only its marker tells of progress. */
export async function listPage(
  blobs: Blobs,
  root: string,
  wanted: { prefix?: string; after?: string },
  signal?: AbortSignal,
): Promise<SourcePage> {
  const [page, marker] =
    wanted.after === undefined ? ([0, ''] as const) : (JSON.parse(wanted.after) as Reached);
  const query = {
    prefix: root + (wanted.prefix ?? ''),
    maxresults: '1000',
    ...(marker === '' ? {} : { marker }),
  };
  const xml = await blobs.list(query, signal);
  const next = findElementText(xml, 'NextMarker') ?? '';
  if (next !== '' && (next === marker || page === mostPages))
    throw new WorkcrateError('storage_failed', 'The store lists without an end. See its log.');
  const listed = findElements(xml, 'Blob')
    .filter((blob) => !isFolder(blob))
    .map(listedIn);
  return { ...toldBelow(root, listed), next: next === '' ? null : JSON.stringify([page + 1, next]) };
}

/** Accounts with a hierarchy list its folders too. */
const isFolder = (xml: string): boolean => findElementText(xml, 'ResourceType') === 'directory';

const listedIn = (xml: string): Listed => ({
  name: nameIn(xml),
  size: Number(findElementText(xml, 'Content-Length') ?? NaN),
  modified: Date.parse(findElementText(xml, 'Last-Modified') ?? '') || 0,
  stamp: bareEtag(findElementText(xml, 'Etag') ?? ''),
});

/** What XML cannot hold is encoded, and said to be. */
function nameIn(xml: string): string | null {
  const name = findElementText(xml, 'Name');
  if (name === null || !/<Name\s[^<>]*Encoded="true"/.test(xml)) return name;
  try {
    return decodeURIComponent(name);
  } catch {
    return null;
  }
}
