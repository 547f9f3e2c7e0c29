import type { FoundReferences } from 'workcrate/toolkit';
import { z } from 'zod';
import { type Clock, WorkcrateError } from 'workcrate/toolkit';
import type { ZoteroClient } from './client.ts';
import {
  findCitationKey,
  createCitationKeyIndex,
  parseZoteroItems,
  toSafeLine,
  type ZoteroItem,
} from './items.ts';
import {
  buildItemsListing,
  tooManyReferencesError,
  libraryUnreachableError,
  type LibraryCall,
  type LibraryCollection,
  type WantedReferences,
} from './library.ts';
import { readZoteroPages } from './pages.ts';

const zoteroKeySchema = z.string().regex(/^[A-Z0-9]{8}$/);
const collectionSchema = z.object({
  key: zoteroKeySchema,
  meta: z
    .object({ numItems: z.number().int().nonnegative().nullable().catch(null) })
    .catch({ numItems: null }),
  data: z.object({ name: z.string(), parentCollection: zoteroKeySchema.nullable().catch(null) }),
});

type ZoteroCollection = z.output<typeof collectionSchema>;

const maxCollectionDepth = 32;
const maxCollectionNameLength = 200;
const maxCollectionPathLength = 1000;

export async function readCollections(client: ZoteroClient, call: LibraryCall): Promise<LibraryCollection[]> {
  const pages = await readZoteroPages(
    client,
    { path: 'collections', params: [], remember: true },
    parseCollections,
    call,
  );
  const byKey = new Map((pages?.taken ?? []).map((collection) => [collection.key, collection]));
  return [...byKey.values()]
    .map((collection) => ({
      key: collection.key,
      name: getCollectionName(collection),
      path: buildCollectionPath(collection, byKey),
      items: collection.meta.numItems,
    }))
    .sort((a, b) => (a.path < b.path ? -1 : 1));
}

function parseCollections(objects: readonly unknown[]): readonly ZoteroCollection[] {
  const parsed = z.array(collectionSchema).safeParse(objects);
  if (!parsed.success)
    throw libraryUnreachableError('its collections do not have the form of the Zotero API');
  return parsed.data;
}

const getCollectionName = ({ data }: ZoteroCollection): string =>
  toSafeLine(data.name, maxCollectionNameLength) || 'Untitled';

function buildCollectionPath(
  collection: ZoteroCollection,
  byKey: ReadonlyMap<string, ZoteroCollection>,
): string {
  const seen = new Set<ZoteroCollection>();
  let at: ZoteroCollection | undefined = collection;
  while (at !== undefined && !seen.has(at) && seen.size < maxCollectionDepth) {
    seen.add(at);
    at = byKey.get(at.data.parentCollection ?? '');
  }
  const names = [...seen].toReversed().map(getCollectionName);
  return toSafeLine(names.join('/'), maxCollectionPathLength);
}

/** Finds a collection by key, path or name, in this order; first with exact case, then without. */
export function chooseCollection(all: readonly LibraryCollection[], wanted: string): LibraryCollection {
  const lower = wanted.toLowerCase();
  const ways: ((one: LibraryCollection) => boolean)[] = [
    (one) => one.key === wanted,
    (one) => one.path === wanted,
    (one) => one.name === wanted,
    (one) => one.path.toLowerCase() === lower,
    (one) => one.name.toLowerCase() === lower,
  ];
  for (const way of ways) {
    const [first, ...others] = all.filter(way);
    if (first !== undefined && others.length === 0) return first;
    if (first !== undefined) throw ambiguousCollectionError(wanted, [first, ...others]);
  }
  throw collectionNotFoundError(wanted, all);
}

const maxListedCollections = 20;
const listCollections = (some: readonly LibraryCollection[]): string =>
  some
    .slice(0, maxListedCollections)
    .map((one) => `${one.key} ${JSON.stringify(one.path)}`)
    .join(', ') + (some.length > maxListedCollections ? ' …' : '');

const ambiguousCollectionError = (wanted: string, some: readonly LibraryCollection[]): WorkcrateError =>
  new WorkcrateError(
    'invalid_input',
    `Several collections are called ${JSON.stringify(wanted)}. Give the key of one: ${listCollections(some)}.`,
  );

const collectionNotFoundError = (wanted: string, all: readonly LibraryCollection[]): WorkcrateError =>
  new WorkcrateError(
    'not_found',
    `The Zotero library has no collection ${JSON.stringify(wanted)}. ${all.length === 0 ? 'It has none' : `There are: ${listCollections(all)}`}.`,
  );

/** The limit of the API for `itemKey`. */
const maxKeysPerRequest = 50;
const maxReferenceKeys = 1000;
/** Of a collection. */
const maxCollectionItems = 2000;

/** What the API returns for each item, besides its data. */
type ReferenceFormat = 'csljson' | 'bibtex';

/** An item, and the key by which it is cited. */
interface ChosenItem {
  readonly id: string;
  readonly item: ZoteroItem;
}

/** Finds the wanted items and converts each by `make`, which returns null if the API returned nothing usable. */
export function createReferenceFinder(client: ZoteroClient, clock: Clock) {
  const citationKeys = createCitationKeyIndex(client, clock);

  async function byKeys(
    keys: readonly string[],
    writing: ReferenceFormat,
    call: LibraryCall,
  ): Promise<Map<string, ZoteroItem>> {
    const items = new Map<string, ZoteroItem>();
    for (let at = 0; at < keys.length; at += maxKeysPerRequest) {
      const itemKey = keys.slice(at, at + maxKeysPerRequest).join(',');
      const params = [
        ['itemKey', itemKey],
        ['include', `data,${writing}`],
        ['limit', '100'],
      ] as const;
      const page = (await client.list({ path: 'items', params, remember: true }, call))!;
      for (const item of parseZoteroItems(page.objects)) items.set(item.key, item);
    }
    return items;
  }

  /** A key that looks like an item key may still be a citation key. */
  async function wantedKeys(keys: readonly string[], writing: ReferenceFormat, call: LibraryCall) {
    const direct = await byKeys(keys.filter(isItemKey), writing, call);
    const others = keys.filter((key) => !direct.has(key));
    if (others.length === 0) return { chosen: keys.map((id) => ({ id, item: direct.get(id)! })), notes: [] };
    const cited = await citationKeys.find(others, call);
    const candidates = new Set(others.flatMap((key) => cited.items.get(key) ?? []));
    const found = await byKeys([...candidates], writing, call);
    const itemOf = (key: string): ZoteroItem | undefined =>
      direct.get(key) ?? cited.items.get(key)?.flatMap((one) => found.get(one) ?? [])[0];
    const chosen = keys.flatMap((id): ChosenItem[] => {
      const item = itemOf(id);
      return item === undefined ? [] : [{ id, item }];
    });
    return { chosen, notes: cited.isComplete || chosen.length === keys.length ? [] : [libraryTooLargeNote] };
  }

  async function allOf(wanted: string, writing: ReferenceFormat, call: LibraryCall) {
    const collection = chooseCollection(await readCollections(client, call), wanted);
    const { path, params } = buildItemsListing(client, collection.key);
    const listing = { path, params: [...params, ['include', `data,${writing}`] as const], remember: true };
    const pages = (await readZoteroPages(client, listing, parseZoteroItems, call))!;
    if (pages.taken.length > maxCollectionItems || !pages.isComplete)
      throw tooManyReferencesError(
        `The collection ${JSON.stringify(collection.path)} is too large`,
        maxCollectionItems,
      );
    return { chosen: assignCitationIds(pages.taken), notes: [] };
  }

  return async <T>(
    wanted: WantedReferences,
    writing: ReferenceFormat,
    make: (item: ZoteroItem, id: string) => T | null,
    call: LibraryCall,
  ): Promise<FoundReferences<T>> => {
    const keys = 'collection' in wanted ? [] : [...new Set(wanted)];
    if (keys.length > maxReferenceKeys)
      throw tooManyReferencesError('These are too many keys', maxReferenceKeys);
    const { chosen, notes } =
      'collection' in wanted
        ? await allOf(wanted.collection, writing, call)
        : await wantedKeys(keys, writing, call);
    const made = chosen.map(({ id, item }) => ({ id, reference: make(item, id) }));
    const got = new Set(made.filter(({ reference }) => reference !== null).map(({ id }) => id));
    const missing = [...keys, ...chosen.map(({ id }) => id)].filter((id) => !got.has(id));
    return {
      references: made.flatMap(({ reference }) => (reference === null ? [] : [reference])),
      missing: [...new Set(missing)],
      notes,
    };
  };
}

const isItemKey = (key: string): boolean => /^[A-Z0-9]{8}$/.test(key);

/** By its citation key; by its item key if it has none, or if another item has the same. */
function assignCitationIds(items: readonly ZoteroItem[]): ChosenItem[] {
  const taken = new Set<string>();
  return [...new Map(items.map((item) => [item.key, item])).values()].map((item) => {
    const cited = findCitationKey(item);
    const id = cited === null || taken.has(cited) ? item.key : cited;
    taken.add(id);
    return { id, item };
  });
}

const libraryTooLargeNote =
  'The library is too large to search all of it for citation keys: only the items that were changed last were searched. Cite by the key of the item instead, which search_library shows.';
