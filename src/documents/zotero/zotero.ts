/**
 * The backend of the port: a Zotero library, by the web API or by a Zotero on this machine. Requests, retries and the
 * cache are in `client.ts`. It never writes to the library.
 */
import type { Clock } from '../../clock.ts';
import type { Log } from '../../observability/log.ts';
import { createZoteroClient, type ZoteroClient } from './client.ts';
import { chooseCollection, createReferenceFinder, readCollections } from './collections.ts';
import { toBibtexEntry, sanitizeCsl, parseZoteroItems, toLibraryItem } from './items.ts';
import {
  toZoteroAddress,
  buildItemsListing,
  runLibraryRequest,
  type ZoteroAddressOptions,
  type LibraryRequest,
  type ReferenceLibrary,
  type LibraryItem,
  type LibraryQuery,
} from './library.ts';

export interface ZoteroOptions extends ZoteroAddressOptions {
  /** Of one request; a call with all its requests and pauses may take four times as long. */
  readonly timeoutMs?: number;
  readonly clock: Clock;
  readonly log: Log;
}

const zoteroTimeoutMs = 15_000;
const zoteroCallTimeouts = 4;

/** A Zotero library, by the web API (version 3) or by a Zotero on this machine. Nothing is asked before it is used. */
export function openZotero({
  timeoutMs = zoteroTimeoutMs,
  clock,
  log,
  ...given
}: ZoteroOptions): ReferenceLibrary {
  const address = toZoteroAddress(given);
  const client = createZoteroClient({ address, timeoutMs, clock, log });
  const choose = createReferenceFinder(client, clock);
  const limits = { totalMs: timeoutMs * zoteroCallTimeouts, clock };
  const run = <T>(signal: AbortSignal, work: (errand: LibraryRequest) => Promise<T>): Promise<T> =>
    runLibraryRequest(limits, signal, work);

  return {
    name: address.library,
    search: (query, signal) => run(signal, (errand) => searchZoteroItems(client, query, errand)),
    collections: (signal) => run(signal, (errand) => readCollections(client, errand)),
    references: (wanted, signal) =>
      run(signal, (errand) => choose(wanted, 'csljson', (item, id) => sanitizeCsl(item.csljson, id), errand)),
    bibtex: (wanted, signal) =>
      run(signal, (errand) =>
        choose(wanted, 'bibtex', (item, id) => toBibtexEntry(item.bibtex, id, item.key), errand),
      ),
  };
}

/** One page of what fits. Collections are read along, since items tell only their keys. */
async function searchZoteroItems(
  client: ZoteroClient,
  query: LibraryQuery,
  errand: LibraryRequest,
): Promise<{ total: number; items: LibraryItem[] }> {
  const collections = await readCollections(client, errand);
  const paths = new Map(collections.map(({ key, path }) => [key, path]));
  const chosen = query.collection === undefined ? null : chooseCollection(collections, query.collection);
  const { path, params } = buildItemsListing(client, chosen?.key ?? null);
  const types = query.itemType === undefined ? params : [['itemType', query.itemType] as const];
  const listing = { path, params: [...types, ...buildSearchParams(query)], remember: true };
  // Without a version to compare with there always is an answer.
  const page = (await client.list(listing, errand))!;
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
