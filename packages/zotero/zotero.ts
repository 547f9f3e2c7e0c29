/**
 * The backend of the port: a Zotero library, by the web API or by a Zotero on this machine. Requests, retries and the
 * cache are in `client.ts`. It never writes to the library.
 */
import type { Clock, Log } from 'workcrate/toolkit';
import { createZoteroClient, type ZoteroClient } from './client.ts';
import { chooseCollection, createReferenceFinder, readCollections } from './collections.ts';
import { toBibtexEntry, sanitizeCsl, parseZoteroItems, toLibraryItem } from './items.ts';
import {
  toZoteroAddress,
  buildItemsListing,
  runLibraryCall,
  type ZoteroAddressOptions,
  type LibraryCall,
  type ZoteroLibrary,
  type LibraryItem,
  type LibraryQuery,
} from './library.ts';

export interface ZoteroOptions extends ZoteroAddressOptions {
  /** Limit for one request; a call with all its requests and pauses may take four times as long. */
  readonly timeoutMs?: number;
  readonly clock: Clock;
  readonly log: Log;
}

const zoteroTimeoutMs = 15_000;
const zoteroCallTimeouts = 4;

/** Uses version 3 of the API. Sends no request before the first call. */
export function openZotero({
  timeoutMs = zoteroTimeoutMs,
  clock,
  log,
  ...given
}: ZoteroOptions): ZoteroLibrary {
  const address = toZoteroAddress(given);
  const client = createZoteroClient({ address, timeoutMs, clock, log });
  const choose = createReferenceFinder(client, clock);
  const limits = { totalMs: timeoutMs * zoteroCallTimeouts, clock };
  const run = <T>(signal: AbortSignal, work: (call: LibraryCall) => Promise<T>): Promise<T> =>
    runLibraryCall(limits, signal, work);

  return {
    name: address.library,
    search: (query, signal) => run(signal, (call) => searchZoteroItems(client, query, call)),
    collections: (signal) => run(signal, (call) => readCollections(client, call)),
    references: (wanted, signal) =>
      run(signal, (call) => choose(wanted, 'csljson', (item, id) => sanitizeCsl(item.csljson, id), call)),
    bibtex: (wanted, signal) =>
      run(signal, (call) =>
        choose(wanted, 'bibtex', (item, id) => toBibtexEntry(item.bibtex, id, item.key), call),
      ),
  };
}

/** Returns one page of results. It reads collections too, because items have only their keys. */
async function searchZoteroItems(
  client: ZoteroClient,
  query: LibraryQuery,
  call: LibraryCall,
): Promise<{ total: number; items: LibraryItem[] }> {
  const collections = await readCollections(client, call);
  const paths = new Map(collections.map(({ key, path }) => [key, path]));
  const chosen = query.collection === undefined ? null : chooseCollection(collections, query.collection);
  const { path, params } = buildItemsListing(client, chosen?.key ?? null);
  const types = query.itemType === undefined ? params : [['itemType', query.itemType] as const];
  const listing = { path, params: [...types, ...buildSearchParams(query)], remember: true };
  // Without `since`, the answer is never null.
  const page = (await client.list(listing, call))!;
  const items = parseZoteroItems(page.objects).map((item) => toLibraryItem(item, paths));
  return { total: page.total ?? query.start + items.length, items: items.slice(0, query.limit) };
}

function buildSearchParams({
  text,
  everywhere,
  tag,
  limit,
  start,
}: LibraryQuery): (readonly [string, string])[] {
  return [
    ...(text === undefined || text.trim() === '' ? [] : [['q', text] as const]),
    ...(everywhere === true ? [['qmode', 'everything'] as const] : []),
    ...(tag === undefined ? [] : [['tag', tag] as const]),
    ['limit', String(limit)],
    ['start', String(start)],
  ];
}
