import type { Client, Listing, Page } from './client.ts';
import { unreachable, type Errand } from './library.ts';

/** Together with those of other errands four go out at a time. */
const pagesAtOnce = 2;
const mostPages = 100;
const attempts = 3;

/** The most that one request gives. */
const pageSize = ({ address }: Client): number => (address.isLocal ? 500 : 100);

export interface Pages<T> {
  readonly taken: readonly T[];
  readonly version: number | null;
  /** False where the list is longer than we read. */
  readonly isComplete: boolean;
}

/**
 * Reads a whole list, page by page, and takes from each page what is wanted. All pages are of one version of the
 * library: where it changes in between, all is read again. Null where nothing has changed since `listing.since`.
 * Addresses of further pages are made here, not taken from what the server says.
 */
export async function readPages<T>(
  client: Client,
  listing: Listing,
  take: (objects: readonly unknown[]) => readonly T[],
  errand: Errand,
): Promise<Pages<T> | null> {
  for (let attempt = 1; attempt <= attempts; attempt++) {
    const first = await client.list(pageOf(client, listing, 0), errand);
    if (first === null) return null;
    const rest = await readRest(client, listing, first, take, errand);
    if (rest === null) continue;
    const taken = [...take(first.objects), ...rest.flat()];
    return { taken, version: first.version, isComplete: isRead(first, pageSize(client)) };
  }
  throw unreachable('it keeps changing while it is read');
}

/** A server may give fewer at once than it was asked for: the first page tells. */
async function readRest<T>(
  client: Client,
  listing: Listing,
  first: Page,
  take: (objects: readonly unknown[]) => readonly T[],
  errand: Errand,
): Promise<(readonly T[])[] | null> {
  const step = first.objects.length;
  const count = step === 0 ? 1 : Math.min(mostPages, Math.ceil((first.total ?? 0) / step));
  const { since: _, ...later } = listing;
  const read: (readonly T[])[] = [];
  let next = 1;
  let hasChanged = false;
  const reader = async (): Promise<void> => {
    while (next < count && !hasChanged) {
      const at = next++;
      const page = await client.list(pageOf(client, later, at * step), errand);
      hasChanged ||= page === null || page.version !== first.version || page.total !== first.total;
      if (page !== null) read[at - 1] = take(page.objects);
    }
  };
  await Promise.all(Array.from({ length: pagesAtOnce }, reader));
  return hasChanged ? null : read;
}

function pageOf(client: Client, listing: Listing, start: number): Listing {
  const paging = [['limit', String(pageSize(client))], ...(start === 0 ? [] : [['start', String(start)]])];
  return { ...listing, params: [...listing.params, ...(paging as [string, string][])] };
}

const isRead = ({ objects, total }: Page, size: number): boolean =>
  total === null ? objects.length < size : objects.length * mostPages >= total;
