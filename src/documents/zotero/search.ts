import type { Client } from './client.ts';
import { chooseCollection, readCollections } from './collections.ts';
import type { Errand } from './errand.ts';
import { itemsOf, shownItem } from './items.ts';
import type { LibraryItem, LibraryQuery } from './library.ts';
import { regularItems } from './listings.ts';

/** One page of what fits. Collections are read along, since items tell only their keys. */
export async function searchItems(
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
