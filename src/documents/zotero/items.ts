import { z } from 'zod';
import type { Clock } from '../../clock.ts';
import type { Client } from './client.ts';
import {
  regularItems,
  unreachable,
  type BibtexEntry,
  type CslItem,
  type CslValue,
  type Errand,
  type LibraryItem,
} from './library.ts';
import { readPages } from './pages.ts';

const text = z.string().catch('');
const texts = z.array(z.unknown()).catch([]);
const creator = z.object({ lastName: text, name: text });

/** What the API gives of an item, as far as we read it. Without a key and a type it is none; the rest may be missing. */
const itemShape = z.object({
  key: z.string().regex(/^[A-Z0-9]{8}$/),
  meta: z.object({ creatorSummary: text, parsedDate: text }).catch({ creatorSummary: '', parsedDate: '' }),
  data: z.object({
    itemType: z.string().regex(/^[A-Za-z]{1,40}$/),
    title: text,
    caseName: text,
    nameOfAct: text,
    subject: text,
    creators: z.array(creator).catch([]),
    date: text,
    DOI: text,
    url: text,
    extra: text,
    citationKey: text,
    tags: texts,
    collections: texts,
  }),
  csljson: z.unknown().optional(),
  bibtex: z.unknown().optional(),
});

export type Item = z.output<typeof itemShape>;

const notCited = new Set(['attachment', 'note', 'annotation']);
const mostTags = 50;

/** The items of an answer, without notes and attachments. */
export function itemsOf(objects: readonly unknown[]): Item[] {
  const parsed = z.array(itemShape).safeParse(objects);
  if (!parsed.success) throw unreachable('its items are not as the Zotero API gives them');
  return parsed.data.filter(({ data }) => !notCited.has(data.itemType));
}

/** The field of newer Zoteros, or the line that Better BibTeX writes. */
export function citationKeyOf({ data: { citationKey, extra } }: Item): string | null {
  const line = extra
    .slice(0, 20_000)
    .split('\n')
    .map((one) => /^citation[ -]key:(.{1,300})$/i.exec(one.trim())?.[1]?.trim())
    .find((key) => key !== undefined);
  return [citationKey.trim(), line ?? ''].find((key) => /^[^\s\p{Cc}]{1,200}$/u.test(key)) ?? null;
}

/** As it is shown; `paths` has those of collections by their keys. */
export function shownItem(item: Item, paths: ReadonlyMap<string, string>): LibraryItem {
  const { data } = item;
  const doi = /10\.\d{4,9}\/[^\s"<>]{1,200}/.exec(data.DOI.slice(0, 500))?.[0];
  return {
    key: item.key,
    citationKey: citationKeyOf(item),
    type: data.itemType,
    title: shownLine(data.title || data.caseName || data.nameOfAct || data.subject, 500) || 'Untitled',
    creators: shownLine(item.meta.creatorSummary || summed(data.creators), 200),
    year: yearOf(item),
    doi: doi ?? null,
    url: urlOf(data.url),
    tags: tagsOf(data.tags),
    collections: data.collections.flatMap((key) => paths.get(String(key)) ?? []).slice(0, mostTags),
  };
}

function summed(creators: Item['data']['creators']): string {
  const names = creators.map(({ lastName, name }) => lastName || name).filter((name) => name !== '');
  return names.length > 2 ? `${names[0]} et al.` : names.join(' and ');
}

function yearOf({ meta, data }: Item): number | null {
  const year = /^\d{4}/.exec(meta.parsedDate)?.[0] ?? /(?<!\d)\d{4}(?!\d)/.exec(data.date.slice(0, 200))?.[0];
  return year === undefined ? null : Number(year);
}

/** Addresses that a browser opens, and no others: they are shown as links. */
function urlOf(given: string): string | null {
  const url = given.length > 2000 ? null : URL.parse(given.trim());
  return url !== null && /^https?:$/.test(url.protocol) ? url.href : null;
}

function tagsOf(tags: readonly unknown[]): string[] {
  const names = tags.flatMap((one) => {
    const { tag } = (one ?? {}) as { tag?: unknown };
    return typeof tag === 'string' ? shownLine(tag, 100) : [];
  });
  return [...new Set(names)].filter((name) => name !== '').slice(0, mostTags);
}

const mostText = 20_000;
const mostFields = 200;
const mostValues = 2000;
const mostDepth = 6;

/** CSL JSON as the API gave it, freed of what CSL does not know and under our own id. Null where it is none. */
export function cslOf(given: unknown, id: string): CslItem | null {
  const one = single(given);
  if (!isObject(one) || typeof one['type'] !== 'string' || !/^[a-z][a-z_-]{0,40}$/.test(one['type']))
    return null;
  const { note, ...others } = fields(one, 1);
  const kept = typeof note === 'string' ? noteOf(note) : '';
  return { ...others, ...(kept === '' ? {} : { note: kept }), id, type: one['type'] };
}

/** Some styles print notes; the line that names the citation key is not meant for print. */
function noteOf(note: string): string {
  const lines = note.split('\n').filter((line) => !/^\s*citation[ -]key:/i.test(line));
  return lines.join('\n').trim();
}

/** The web API gives an object, Zotero on this machine the text of a list, and both have other ways elsewhere. */
function single(given: unknown): unknown {
  const value = typeof given === 'string' ? parsed(given) : given;
  const list = isObject(value) && Array.isArray(value['items']) ? (value['items'] as unknown[]) : value;
  return Array.isArray(list) ? (list[0] as unknown) : list;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return null;
  }
}

/** Names that begin with a letter: `__proto__` is none of them. */
const isName = (name: string): boolean => /^[A-Za-z][A-Za-z0-9-]{0,60}$/.test(name);

function fields(object: Readonly<Record<string, unknown>>, depth: number): Record<string, CslValue> {
  const named = Object.entries(object).filter(([name]) => isName(name));
  return Object.fromEntries(
    named.slice(0, mostFields).flatMap(([name, value]) => {
      const kept = cleaned(value, depth + 1);
      return kept === null ? [] : [[name, kept]];
    }),
  );
}

function cleaned(value: unknown, depth: number): CslValue | null {
  if (typeof value === 'string') return plainText(value, mostText);
  if (typeof value === 'boolean') return value;
  if (typeof value === 'number') return Number.isFinite(value) ? value : null;
  if (depth > mostDepth) return null;
  if (Array.isArray(value))
    return value.slice(0, mostValues).flatMap((one: unknown) => {
      const kept = cleaned(one, depth + 1);
      // Wrapped, since a list within a list, as dates have it, is to stay one.
      return kept === null ? [] : [kept];
    });
  return isObject(value) ? fields(value, depth) : null;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Cc are control characters; the others turn the direction of all that follows, or end a line. */
const unwanted = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu;
const keptInText = new Set(['\n', '\t']);

/** One line that can be shown anywhere. */
export function shownLine(text: string, most: number): string {
  return text
    .slice(0, 4 * most)
    .toWellFormed()
    .replace(unwanted, ' ')
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, most)
    .toWellFormed();
}

/** Text that may have lines, without what does harm where it is shown. */
function plainText(text: string, most: number): string {
  const whole = text.length > most ? text.slice(0, most) : text;
  return whole.toWellFormed().replace(unwanted, (character) => (keptInText.has(character) ? character : ' '));
}

const mostBibtexText = 100_000;
/** What BibTeX takes in a key. */
const isKey = (id: string): boolean => /^[^\s{}(),"'#%~\\=@]{1,200}$/.test(id);

/** The entry under the key that is cited, in place of the one that Zotero made up. Null where it is none. */
export function bibtexOf(given: unknown, id: string, itemKey: string): BibtexEntry | null {
  if (typeof given !== 'string' || given.length > mostBibtexText) return null;
  const text = plainText(given, mostBibtexText).trim();
  const head = /^@([A-Za-z]{1,40})\s*\{[^,{}\s]{0,300},/.exec(text);
  if (head === null) return null;
  const cited = isKey(id) ? id : itemKey;
  return { id: cited, text: `@${head[1]}{${cited},${text.slice(head[0].length)}` };
}

/** A Zotero on this machine does not tell reliably what has changed; for so long what was read is taken as it is. */
const freshMs = 30_000;
const mostCandidates = 5;

interface Known {
  /** Items by key, with what they are cited by. Those that were deleted since stay; the library will not give them. */
  readonly keys: Map<string, string>;
  readonly version: number | null;
  readonly readAt: number;
  readonly isComplete: boolean;
}

export interface CitationKeys {
  /** Which items have these citation keys: usually one each, rarely several or none. */
  find(wanted: readonly string[], errand: Errand): Promise<CitedItems>;
}

export interface CitedItems {
  readonly items: ReadonlyMap<string, readonly string[]>;
  /** False where the library is larger than we read. */
  readonly isComplete: boolean;
}

/** The API cannot be asked for a citation key: all items are read once, and then those that have changed. */
export function createCitationKeys(client: Client, clock: Clock): CitationKeys {
  let known: Known | null = null;

  /** Several errands may read at once; each leaves what it read, and all of it is right. */
  async function read(before: Known | null, errand: Errand): Promise<Known> {
    const since = client.address.isLocal ? null : (before?.version ?? null);
    const pages = await readPages(client, listingSince(client, since), keysOf, errand);
    if (pages === null) return before!;
    const keys = new Map(since === null ? [] : before!.keys);
    for (const [item, key] of pages.taken) {
      if (key === null) keys.delete(item);
      else keys.set(item, key);
    }
    const isComplete = pages.isComplete && (since === null || before!.isComplete);
    return { keys, version: pages.version, readAt: clock(), isComplete };
  }

  const isFresh = ({ readAt }: Known): boolean => client.address.isLocal && clock() - readAt < freshMs;

  return {
    async find(wanted, errand) {
      if (known !== null && isFresh(known)) {
        const found = among(known, wanted);
        if (found.items.size === new Set(wanted).size) return found;
      }
      known = await read(known, errand);
      return among(known, wanted);
    },
  };
}

function listingSince(client: Client, since: number | null) {
  const { path, params } = regularItems(client, null);
  // Version 0 is that of a library that was never synchronised, and says nothing.
  if (since === null || since === 0) return { path, params, remember: false };
  return { path, params: [...params, ['since', String(since)] as const], remember: false, since };
}

const keysOf = (objects: readonly unknown[]): (readonly [string, string | null])[] =>
  itemsOf(objects).map((item) => [item.key, citationKeyOf(item)]);

function among({ keys, isComplete }: Known, wanted: readonly string[]): CitedItems {
  const items = new Map<string, string[]>();
  const asked = new Set(wanted);
  for (const [item, key] of keys) {
    if (!asked.has(key)) continue;
    const candidates = items.get(key) ?? [];
    if (candidates.length < mostCandidates) items.set(key, [...candidates, item]);
  }
  return { items, isComplete };
}
