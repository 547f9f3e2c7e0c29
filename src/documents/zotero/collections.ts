import { z } from 'zod';
import { WorkcrateError } from '../../errors.ts';
import type { Client } from './client.ts';
import type { Errand } from './errand.ts';
import { unreachable } from './failures.ts';
import type { LibraryCollection } from './library.ts';
import { readPages } from './pages.ts';
import { shownLine } from './text.ts';

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
