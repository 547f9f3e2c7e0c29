import { z } from 'zod';
import { unreachable } from './failures.ts';
import type { LibraryItem } from './library.ts';
import { shownLine } from './text.ts';

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
