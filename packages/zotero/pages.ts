import type { ZoteroClient, ZoteroListing, ZoteroPage } from './client.ts';
import { libraryUnreachableError, type LibraryCall } from './library.ts';

/** Of one call; the client sends at most four requests of all calls at once. */
const maxPagesAtOnce = 2;
const maxZoteroPages = 100;
const maxPageAttempts = 3;

/** The most items that one request returns. */
const getZoteroPageSize = ({ address }: ZoteroClient): number => (address.isLocal ? 500 : 100);

export interface ZoteroPages<T> {
  readonly taken: readonly T[];
  readonly version: number | null;
  /** False if the list is longer than what we read. */
  readonly isComplete: boolean;
}

/**
 * Reads a whole list, page by page, and takes from each page what is needed. All pages are of one version of the library:
 * if it changes meanwhile, everything is read again. Null if nothing has changed since `listing.since`. URLs of further
 * pages are built here, and never taken from the server.
 */
export async function readZoteroPages<T>(
  client: ZoteroClient,
  listing: ZoteroListing,
  take: (objects: readonly unknown[]) => readonly T[],
  call: LibraryCall,
): Promise<ZoteroPages<T> | null> {
  for (let attempt = 1; attempt <= maxPageAttempts; attempt++) {
    const first = await client.list(toPageListing(client, listing, 0), call);
    if (first === null) return null;
    const rest = await readRemainingPages(client, listing, first, take, call);
    if (rest === null) continue;
    const taken = [...take(first.objects), ...rest.flat()];
    return { taken, version: first.version, isComplete: isListComplete(first, getZoteroPageSize(client)) };
  }
  throw libraryUnreachableError('it keeps changing while it is read');
}

/** A server may return fewer items than requested, so the first page decides the step. */
async function readRemainingPages<T>(
  client: ZoteroClient,
  listing: ZoteroListing,
  first: ZoteroPage,
  take: (objects: readonly unknown[]) => readonly T[],
  call: LibraryCall,
): Promise<(readonly T[])[] | null> {
  const step = first.objects.length;
  const count = step === 0 ? 1 : Math.min(maxZoteroPages, Math.ceil((first.total ?? 0) / step));
  const { since: _, ...later } = listing;
  const read: (readonly T[])[] = [];
  let next = 1;
  let hasChanged = false;
  const reader = async (): Promise<void> => {
    while (next < count && !hasChanged) {
      const at = next++;
      const page = await client.list(toPageListing(client, later, at * step), call);
      hasChanged ||= page === null || page.version !== first.version || page.total !== first.total;
      if (page !== null) read[at - 1] = take(page.objects);
    }
  };
  await Promise.all(Array.from({ length: maxPagesAtOnce }, reader));
  return hasChanged ? null : read;
}

function toPageListing(client: ZoteroClient, listing: ZoteroListing, start: number): ZoteroListing {
  const paging = [
    ['limit', String(getZoteroPageSize(client))],
    ...(start === 0 ? [] : [['start', String(start)]]),
  ];
  return { ...listing, params: [...listing.params, ...(paging as [string, string][])] };
}

const isListComplete = ({ objects, total }: ZoteroPage, size: number): boolean =>
  total === null ? objects.length < size : objects.length * maxZoteroPages >= total;
