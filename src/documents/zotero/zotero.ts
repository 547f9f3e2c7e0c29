import type { Clock } from '../../clock.ts';
import type { Log } from '../../observability/log.ts';
import { createClient, type Client } from './client.ts';
import { chooseCollection, choosing, readCollections } from './collections.ts';
import { bibtexOf, cslOf, itemsOf, shownItem } from './items.ts';
import {
  addressOf,
  regularItems,
  runErrand,
  type AddressOptions,
  type Errand,
  type Library,
  type LibraryItem,
  type LibraryQuery,
} from './library.ts';

export interface ZoteroOptions extends AddressOptions {
  /** Of one request; a call with all its requests and pauses may take four times as long. */
  readonly timeoutMs?: number;
  readonly clock: Clock;
  readonly log: Log;
}

const usualTimeoutMs = 15_000;
const timeoutsInAll = 4;

/** A Zotero library, by the web API (version 3) or by a Zotero on this machine. Nothing is asked before it is used. */
export function openZotero({ timeoutMs = usualTimeoutMs, clock, log, ...given }: ZoteroOptions): Library {
  const address = addressOf(given);
  const client = createClient({ address, timeoutMs, clock, log });
  const choose = choosing(client, clock);
  const limits = { totalMs: timeoutMs * timeoutsInAll, clock };
  const run = <T>(signal: AbortSignal, work: (errand: Errand) => Promise<T>): Promise<T> =>
    runErrand(limits, signal, work);

  return {
    name: address.library,
    search: (query, signal) => run(signal, (errand) => searchItems(client, query, errand)),
    collections: (signal) => run(signal, (errand) => readCollections(client, errand)),
    references: (wanted, signal) =>
      run(signal, (errand) => choose(wanted, 'csljson', (item, id) => cslOf(item.csljson, id), errand)),
    bibtex: (wanted, signal) =>
      run(signal, (errand) =>
        choose(wanted, 'bibtex', (item, id) => bibtexOf(item.bibtex, id, item.key), errand),
      ),
  };
}

/** One page of what fits. Collections are read along, since items tell only their keys. */
async function searchItems(
  client: Client,
  query: LibraryQuery,
  errand: Errand,
): Promise<{ total: number; items: LibraryItem[] }> {
  const collections = await readCollections(client, errand);
  const paths = new Map(collections.map(({ key, path }) => [key, path]));
  const chosen = query.collection === undefined ? null : chooseCollection(collections, query.collection);
  const { path, params } = regularItems(client, chosen?.key ?? null);
  const types = query.itemType === undefined ? params : [['itemType', query.itemType] as const];
  const listing = { path, params: [...types, ...paramsOf(query)], remember: true };
  // Without a version to compare with there always is an answer.
  const page = (await client.list(listing, errand))!;
  const items = itemsOf(page.objects).map((item) => shownItem(item, paths));
  return { total: page.total ?? query.start + items.length, items: items.slice(0, query.limit) };
}

function paramsOf({ text, everywhere, tag, limit, start }: LibraryQuery): (readonly [string, string])[] {
  return [
    ...(text === undefined || text.trim() === '' ? [] : [['q', text] as const]),
    ...(everywhere === true ? [['qmode', 'everything'] as const] : []),
    ...(tag === undefined ? [] : [['tag', tag] as const]),
    ['limit', String(limit)],
    ['start', String(start)],
  ];
}
