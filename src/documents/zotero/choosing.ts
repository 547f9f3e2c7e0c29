import type { Clock } from '../../clock.ts';
import { createCitationKeys } from './citation-keys.ts';
import type { Client } from './client.ts';
import { chooseCollection, readCollections } from './collections.ts';
import type { Errand } from './errand.ts';
import { tooMany } from './failures.ts';
import { citationKeyOf, itemsOf, type Item } from './items.ts';
import type { Found, Wanted } from './library.ts';
import { regularItems } from './listings.ts';
import { readPages } from './pages.ts';

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
