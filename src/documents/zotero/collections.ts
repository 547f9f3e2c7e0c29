import { z } from 'zod';
import type { Clock } from '../../clock.ts';
import { WorkcrateError } from '../../errors.ts';
import type { Client } from './client.ts';
import { citationKeyOf, createCitationKeys, itemsOf, shownLine, type Item } from './items.ts';
import {
  regularItems,
  tooMany,
  unreachable,
  type Errand,
  type Found,
  type LibraryCollection,
  type Wanted,
} from './library.ts';
import { readPages } from './pages.ts';

const key = z.string().regex(/^[A-Z0-9]{8}$/);
const collectionShape = z.object({
  key,
  meta: z
    .object({ numItems: z.number().int().nonnegative().nullable().catch(null) })
    .catch({ numItems: null }),
  data: z.object({ name: z.string(), parentCollection: key.nullable().catch(null) }),
});

type Collection = z.output<typeof collectionShape>;

const mostDepth = 32;
const mostName = 200;
const mostPath = 1000;

export async function readCollections(client: Client, errand: Errand): Promise<LibraryCollection[]> {
  const pages = await readPages(client, { path: 'collections', params: [], remember: true }, take, errand);
  const byKey = new Map((pages?.taken ?? []).map((collection) => [collection.key, collection]));
  return [...byKey.values()]
    .map((collection) => ({
      key: collection.key,
      name: nameOf(collection),
      path: pathOf(collection, byKey),
      items: collection.meta.numItems,
    }))
    .sort((a, b) => (a.path < b.path ? -1 : 1));
}

function take(objects: readonly unknown[]): readonly Collection[] {
  const parsed = z.array(collectionShape).safeParse(objects);
  if (!parsed.success) throw unreachable('its collections are not as the Zotero API gives them');
  return parsed.data;
}

const nameOf = ({ data }: Collection): string => shownLine(data.name, mostName) || 'Untitled';

function pathOf(collection: Collection, byKey: ReadonlyMap<string, Collection>): string {
  const seen = new Set<Collection>();
  let at: Collection | undefined = collection;
  while (at !== undefined && !seen.has(at) && seen.size < mostDepth) {
    seen.add(at);
    at = byKey.get(at.data.parentCollection ?? '');
  }
  const names = [...seen].toReversed().map(nameOf);
  return shownLine(names.join('/'), mostPath);
}

/** The one that is meant by a key, a path or a name, in this order; upper and lower case count only at first. */
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
    if (first !== undefined) throw ambiguous(wanted, [first, ...others]);
  }
  throw notThere(wanted, all);
}

const mostTold = 20;
const told = (some: readonly LibraryCollection[]): string =>
  some
    .slice(0, mostTold)
    .map((one) => `${one.key} ${JSON.stringify(one.path)}`)
    .join(', ') + (some.length > mostTold ? ' …' : '');

const ambiguous = (wanted: string, some: readonly LibraryCollection[]): WorkcrateError =>
  new WorkcrateError(
    'invalid_input',
    `Several collections are called ${JSON.stringify(wanted)}. Give the key of one: ${told(some)}.`,
  );

const notThere = (wanted: string, all: readonly LibraryCollection[]): WorkcrateError =>
  new WorkcrateError(
    'not_found',
    `The Zotero library has no collection ${JSON.stringify(wanted)}. ${all.length === 0 ? 'It has none' : `There are: ${told(all)}`}.`,
  );

/** As many as the API takes in `itemKey`. */
const keysAtOnce = 50;
const mostKeys = 1000;
/** Of a collection. */
const mostItems = 2000;

/** What the API is to write of each item, beside its data. */
type Writing = 'csljson' | 'bibtex';

/** An item under what it is cited by. */
interface Chosen {
  readonly id: string;
  readonly item: Item;
}

/** Finds what is wanted and makes of each item what `make` does; null where the API wrote nothing of use. */
export function choosing(client: Client, clock: Clock) {
  const citationKeys = createCitationKeys(client, clock);

  async function byKeys(
    keys: readonly string[],
    writing: Writing,
    errand: Errand,
  ): Promise<Map<string, Item>> {
    const items = new Map<string, Item>();
    for (let at = 0; at < keys.length; at += keysAtOnce) {
      const itemKey = keys.slice(at, at + keysAtOnce).join(',');
      const params = [
        ['itemKey', itemKey],
        ['include', `data,${writing}`],
        ['limit', '100'],
      ] as const;
      const page = (await client.list({ path: 'items', params, remember: true }, errand))!;
      for (const item of itemsOf(page.objects)) items.set(item.key, item);
    }
    return items;
  }

  /** What looks like the key of an item may still be a citation key. */
  async function wantedKeys(keys: readonly string[], writing: Writing, errand: Errand) {
    const direct = await byKeys(keys.filter(isItemKey), writing, errand);
    const others = keys.filter((key) => !direct.has(key));
    if (others.length === 0) return { chosen: keys.map((id) => ({ id, item: direct.get(id)! })), notes: [] };
    const cited = await citationKeys.find(others, errand);
    const candidates = new Set(others.flatMap((key) => cited.items.get(key) ?? []));
    const found = await byKeys([...candidates], writing, errand);
    const itemOf = (key: string): Item | undefined =>
      direct.get(key) ?? cited.items.get(key)?.flatMap((one) => found.get(one) ?? [])[0];
    const chosen = keys.flatMap((id): Chosen[] => {
      const item = itemOf(id);
      return item === undefined ? [] : [{ id, item }];
    });
    return { chosen, notes: cited.isComplete || chosen.length === keys.length ? [] : [tooLarge] };
  }

  async function allOf(wanted: string, writing: Writing, errand: Errand) {
    const collection = chooseCollection(await readCollections(client, errand), wanted);
    const { path, params } = regularItems(client, collection.key);
    const listing = { path, params: [...params, ['include', `data,${writing}`] as const], remember: true };
    const pages = (await readPages(client, listing, itemsOf, errand))!;
    if (pages.taken.length > mostItems || !pages.isComplete)
      throw tooMany(`The collection ${JSON.stringify(collection.path)} is large`, mostItems);
    return { chosen: underOwnNames(pages.taken), notes: [] };
  }

  return async <T>(
    wanted: Wanted,
    writing: Writing,
    make: (item: Item, id: string) => T | null,
    errand: Errand,
  ): Promise<Found<T>> => {
    const keys = 'collection' in wanted ? [] : [...new Set(wanted)];
    if (keys.length > mostKeys) throw tooMany('These are many keys', mostKeys);
    const { chosen, notes } =
      'collection' in wanted
        ? await allOf(wanted.collection, writing, errand)
        : await wantedKeys(keys, writing, errand);
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

/** Each by its citation key; by its own where it has none, or where another has the same. */
function underOwnNames(items: readonly Item[]): Chosen[] {
  const taken = new Set<string>();
  return [...new Map(items.map((item) => [item.key, item])).values()].map((item) => {
    const cited = citationKeyOf(item);
    const id = cited === null || taken.has(cited) ? item.key : cited;
    taken.add(id);
    return { id, item };
  });
}

const tooLarge =
  'The library is too large to be looked through for citation keys: only what was changed last was. Cite by the key of the item instead, as search_library shows it.';
