import type { CslReference, CslValue } from 'workcrate/toolkit';
import { z } from 'zod';
import type { Clock } from 'workcrate/toolkit';
import type { ZoteroClient } from './client.ts';
import {
  buildItemsListing,
  libraryUnreachableError,
  type BibtexEntry,
  type LibraryCall,
  type LibraryItem,
} from './library.ts';
import { readZoteroPages } from './pages.ts';

const itemTextSchema = z.string().catch('');
const itemListSchema = z.array(z.unknown()).catch([]);
const creatorSchema = z.object({ lastName: itemTextSchema, name: itemTextSchema });

/** The fields of an item that we read. Key and type are required; the rest may be missing. */
const zoteroItemSchema = z.object({
  key: z.string().regex(/^[A-Z0-9]{8}$/),
  meta: z
    .object({ creatorSummary: itemTextSchema, parsedDate: itemTextSchema })
    .catch({ creatorSummary: '', parsedDate: '' }),
  data: z.object({
    itemType: z.string().regex(/^[A-Za-z]{1,40}$/),
    title: itemTextSchema,
    caseName: itemTextSchema,
    nameOfAct: itemTextSchema,
    subject: itemTextSchema,
    creators: z.array(creatorSchema).catch([]),
    date: itemTextSchema,
    DOI: itemTextSchema,
    url: itemTextSchema,
    extra: itemTextSchema,
    citationKey: itemTextSchema,
    tags: itemListSchema,
    collections: itemListSchema,
  }),
  csljson: z.unknown().optional(),
  bibtex: z.unknown().optional(),
});

export type ZoteroItem = z.output<typeof zoteroItemSchema>;

const uncitedItemTypes = new Set(['attachment', 'note', 'annotation']);
const maxItemTags = 50;

/** The items of an answer, without notes and attachments. */
export function parseZoteroItems(objects: readonly unknown[]): ZoteroItem[] {
  const parsed = z.array(zoteroItemSchema).safeParse(objects);
  if (!parsed.success) throw libraryUnreachableError('its items do not have the form of the Zotero API');
  return parsed.data.filter(({ data }) => !uncitedItemTypes.has(data.itemType));
}

/** From the field of newer versions of Zotero, or from the line that Better BibTeX writes. */
export function findCitationKey({ data: { citationKey, extra } }: ZoteroItem): string | null {
  const line = extra
    .slice(0, 20_000)
    .split('\n')
    .map((one) => /^citation[ -]key:(.{1,300})$/i.exec(one.trim())?.[1]?.trim())
    .find((key) => key !== undefined);
  return [citationKey.trim(), line ?? ''].find((key) => /^[^\s\p{Cc}]{1,200}$/u.test(key)) ?? null;
}

/** `paths` has the paths of collections by their keys. */
export function toLibraryItem(item: ZoteroItem, paths: ReadonlyMap<string, string>): LibraryItem {
  const { data } = item;
  const doi = /10\.\d{4,9}\/[^\s"<>]{1,200}/.exec(data.DOI.slice(0, 500))?.[0];
  return {
    key: item.key,
    citationKey: findCitationKey(item),
    type: data.itemType,
    title: toSafeLine(data.title || data.caseName || data.nameOfAct || data.subject, 500) || 'Untitled',
    creators: toSafeLine(item.meta.creatorSummary || summarizeCreators(data.creators), 200),
    year: findItemYear(item),
    doi: doi ?? null,
    url: toHttpUrl(data.url),
    tags: listItemTags(data.tags),
    collections: data.collections.flatMap((key) => paths.get(String(key)) ?? []).slice(0, maxItemTags),
  };
}

function summarizeCreators(creators: ZoteroItem['data']['creators']): string {
  const names = creators.map(({ lastName, name }) => lastName || name).filter((name) => name !== '');
  return names.length > 2 ? `${names[0]} et al.` : names.join(' and ');
}

function findItemYear({ meta, data }: ZoteroItem): number | null {
  const year = /^\d{4}/.exec(meta.parsedDate)?.[0] ?? /(?<!\d)\d{4}(?!\d)/.exec(data.date.slice(0, 200))?.[0];
  return year === undefined ? null : Number(year);
}

/** Only URLs that a browser opens, because they are shown as links. */
function toHttpUrl(given: string): string | null {
  const url = given.length > 2000 ? null : URL.parse(given.trim());
  return url !== null && /^https?:$/.test(url.protocol) ? url.href : null;
}

function listItemTags(tags: readonly unknown[]): string[] {
  const names = tags.flatMap((one) => {
    const { tag } = (one ?? {}) as { tag?: unknown };
    return typeof tag === 'string' ? toSafeLine(tag, 100) : [];
  });
  return [...new Set(names)].filter((name) => name !== '').slice(0, maxItemTags);
}

const maxCslText = 20_000;
const maxCslFields = 200;
const maxCslValues = 2000;
const maxCslDepth = 6;

/** Sanitizes the CSL JSON of the API and gives it our id. Null if it is not CSL. */
export function sanitizeCsl(given: unknown, id: string): CslReference | null {
  const one = unwrapSingleItem(given);
  if (!isCslRecord(one) || typeof one['type'] !== 'string' || !/^[a-z][a-z_-]{0,40}$/.test(one['type']))
    return null;
  const { note, ...others } = sanitizeCslFields(one, 1);
  const kept = typeof note === 'string' ? removeCitationKeyLines(note) : '';
  return { ...others, ...(kept === '' ? {} : { note: kept }), id, type: one['type'] };
}

/** Some styles print notes; the line with the citation key is not meant for print. */
function removeCitationKeyLines(note: string): string {
  const lines = note.split('\n').filter((line) => !/^\s*citation[ -]key:/i.test(line));
  return lines.join('\n').trim();
}

/** The web API returns an object, a Zotero on this machine the text of a list; other forms exist, too. */
function unwrapSingleItem(given: unknown): unknown {
  const value = typeof given === 'string' ? parseJsonOrNull(given) : given;
  const list = isCslRecord(value) && Array.isArray(value['items']) ? (value['items'] as unknown[]) : value;
  return Array.isArray(list) ? (list[0] as unknown) : list;
}

function parseJsonOrNull(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return null;
  }
}

/** Names that begin with a letter: `__proto__` is none of them. */
const isCslFieldName = (name: string): boolean => /^[A-Za-z][A-Za-z0-9-]{0,60}$/.test(name);

function sanitizeCslFields(
  object: Readonly<Record<string, unknown>>,
  depth: number,
): Record<string, CslValue> {
  const named = Object.entries(object).filter(([name]) => isCslFieldName(name));
  return Object.fromEntries(
    named.slice(0, maxCslFields).flatMap(([name, value]) => {
      const kept = sanitizeCslValue(value, depth + 1);
      return kept === null ? [] : [[name, kept]];
    }),
  );
}

function sanitizeCslValue(value: unknown, depth: number): CslValue | null {
  if (typeof value === 'string') return sanitizeText(value, maxCslText);
  if (typeof value === 'boolean') return value;
  if (typeof value === 'number') return Number.isFinite(value) ? value : null;
  if (depth > maxCslDepth) return null;
  if (Array.isArray(value))
    return value.slice(0, maxCslValues).flatMap((one: unknown) => {
      const kept = sanitizeCslValue(one, depth + 1);
      // Wrapped, so that flatMap keeps a list within a list, as in dates.
      return kept === null ? [] : [kept];
    });
  return isCslRecord(value) ? sanitizeCslFields(value, depth) : null;
}

const isCslRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Control characters (Cc), and those that change the text direction or end a line. */
const unsafeTextCharacters = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu;
const allowedControlCharacters = new Set(['\n', '\t']);

/** One line that is safe to show anywhere. */
export function toSafeLine(text: string, most: number): string {
  return text
    .slice(0, 4 * most)
    .toWellFormed()
    .replace(unsafeTextCharacters, ' ')
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, most)
    .toWellFormed();
}

/** Text of several lines that is safe to show. */
function sanitizeText(text: string, most: number): string {
  const whole = text.length > most ? text.slice(0, most) : text;
  return whole
    .toWellFormed()
    .replace(unsafeTextCharacters, (character) =>
      allowedControlCharacters.has(character) ? character : ' ',
    );
}

const maxBibtexLength = 100_000;
/** What BibTeX allows in a key. */
const isBibtexKey = (id: string): boolean => /^[^\s{}(),"'#%~\\=@]{1,200}$/.test(id);

/** The entry with the key that is cited, instead of the one from Zotero. Null if it is not BibTeX. */
export function toBibtexEntry(given: unknown, id: string, itemKey: string): BibtexEntry | null {
  if (typeof given !== 'string' || given.length > maxBibtexLength) return null;
  const text = sanitizeText(given, maxBibtexLength).trim();
  const head = /^@([A-Za-z]{1,40})\s*\{[^,{}\s]{0,300},/.exec(text);
  if (head === null) return null;
  const cited = isBibtexKey(id) ? id : itemKey;
  return { id: cited, text: `@${head[1]}{${cited},${text.slice(head[0].length)}` };
}

/** A Zotero on this machine does not report changes reliably; for this long, what was read counts as current. */
const citationKeysFreshMs = 30_000;
const maxItemsPerKey = 5;

interface KnownCitationKeys {
  /** Citation keys by item key. Deleted items stay here; the library will not return them. */
  readonly keys: Map<string, string>;
  readonly version: number | null;
  readonly readAt: number;
  readonly isComplete: boolean;
}

export interface CitationKeyIndex {
  /** Which items have these citation keys: usually one each, rarely several or none. */
  find(wanted: readonly string[], call: LibraryCall): Promise<CitedItems>;
}

export interface CitedItems {
  readonly items: ReadonlyMap<string, readonly string[]>;
  /** False if the library is larger than what we read. */
  readonly isComplete: boolean;
}

/** The API cannot search for citation keys, so all items are read once, and then those that have changed. */
export function createCitationKeyIndex(client: ZoteroClient, clock: Clock): CitationKeyIndex {
  let known: KnownCitationKeys | null = null;

  /** Several calls may read at once; each stores what it read, and every result is valid. */
  async function read(before: KnownCitationKeys | null, call: LibraryCall): Promise<KnownCitationKeys> {
    const since = client.address.isLocal ? null : (before?.version ?? null);
    const pages = await readZoteroPages(client, buildListingSince(client, since), listCitationKeys, call);
    if (pages === null) return before!;
    const keys = new Map(since === null ? [] : before!.keys);
    for (const [item, key] of pages.taken) {
      if (key === null) keys.delete(item);
      else keys.set(item, key);
    }
    const isComplete = pages.isComplete && (since === null || before!.isComplete);
    return { keys, version: pages.version, readAt: clock(), isComplete };
  }

  const isFresh = ({ readAt }: KnownCitationKeys): boolean =>
    client.address.isLocal && clock() - readAt < citationKeysFreshMs;

  return {
    async find(wanted, call) {
      if (known !== null && isFresh(known)) {
        const found = findByCitationKeys(known, wanted);
        if (found.items.size === new Set(wanted).size) return found;
      }
      known = await read(known, call);
      return findByCitationKeys(known, wanted);
    },
  };
}

function buildListingSince(client: ZoteroClient, since: number | null) {
  const { path, params } = buildItemsListing(client, null);
  // Version 0 is that of a library that was never synchronized, and has no meaning.
  if (since === null || since === 0) return { path, params, remember: false };
  return { path, params: [...params, ['since', String(since)] as const], remember: false, since };
}

const listCitationKeys = (objects: readonly unknown[]): (readonly [string, string | null])[] =>
  parseZoteroItems(objects).map((item) => [item.key, findCitationKey(item)]);

function findByCitationKeys({ keys, isComplete }: KnownCitationKeys, wanted: readonly string[]): CitedItems {
  const items = new Map<string, string[]>();
  const asked = new Set(wanted);
  for (const [item, key] of keys) {
    if (!asked.has(key)) continue;
    const candidates = items.get(key) ?? [];
    if (candidates.length < maxItemsPerKey) items.set(key, [...candidates, item]);
  }
  return { items, isComplete };
}
