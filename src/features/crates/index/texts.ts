/** The texts of a crate that are searched and shown, by field. */
import { hash } from 'node:crypto';
import type { ReadCrate } from '../crate.ts';
import { textFields, type TextField } from '../query/text-fields.ts';

/** As much of a crate as is indexed. */
export type CrateContent = Pick<ReadCrate, 'place' | 'metadata' | 'files'>;

/** PostgreSQL takes no NUL, and no database keeps half a character. */
export const toIndexable = (text: string): string => text.replaceAll('\0', '\ufffd').toWellFormed();

/** The texts of a crate by field, in the order of the fields. */
export function listFieldTexts({ metadata, files }: CrateContent): (readonly string[])[] {
  const texts: Record<TextField, readonly string[]> = {
    title: [metadata.title],
    description: [metadata.description],
    author: metadata.authors,
    keyword: metadata.keywords,
    entity: listEntityNames(metadata),
    file: files.filter((path) => !isOwnFile(path)),
    identifier: metadata.identifiers,
  };
  return textFields.map(({ name }) => texts[name]);
}

/** What every crate has, which says nothing of any: its metadata, and the page that was made of that. */
const isOwnFile = (path: string): boolean =>
  /(?:^|\/)(?:(?:[^/]*-)?ro-crate-metadata\.json(?:ld)?|ro-crate-preview\.html|ro-crate-preview_files(?:\/.*)?)$/.test(
    path,
  );

/** Those of the crate itself are its title. */
function listEntityNames({ entities, rootId }: CrateContent['metadata']): string[] {
  const names: string[] = [];
  for (const { id, properties } of entities) {
    if (id === rootId || isOwnFile(id)) continue;
    for (const property of properties)
      if ('text' in property && (property.name === 'name' || property.name === 'alternateName'))
        names.push(property.text);
  }
  return names;
}

/** As much of each field as results and snippets show. */
export type ShownTexts = Readonly<Partial<Record<TextField, readonly string[]>>> & {
  readonly year?: number | null;
};

const maxShownCharacters = 2000;

/** Title and description have columns of their own. */
export function selectShownTexts(crate: CrateContent): ShownTexts {
  const all = listFieldTexts(crate);
  const shown: Record<string, readonly string[]> = {};
  for (const [at, { name }] of textFields.entries())
    if (name !== 'title' && name !== 'description' && all[at]!.length > 0)
      shown[name] = takeFirstTexts(all[at]!);
  return { ...shown, year: crate.metadata.year };
}

function takeFirstTexts(texts: readonly string[]): string[] {
  const first: string[] = [];
  let length = 0;
  for (const text of texts) {
    if ((length += text.length) > maxShownCharacters) break;
    first.push(text);
  }
  return first.length > 0 ? first : [texts[0]!.slice(0, maxShownCharacters)];
}

/** A crate as results show it: columns of its row. */
export type ShownCrate = {
  title: string;
  description: string;
  /** `ShownTexts` as JSON. */
  shown: string;
};

export const parseShownTexts = ({ shown }: Pick<ShownCrate, 'shown'>): ShownTexts =>
  JSON.parse(shown) as ShownTexts;

/** The text by which crates are told to be alike. */
export function joinSemanticText(row: ShownCrate): string {
  const { keyword = [], entity = [] } = parseShownTexts(row);
  return [row.title, row.description, keyword.join(', '), entity.join(', ')]
    .filter((text) => text !== '')
    .join('\n');
}

/** 16 bytes that are the same for the same text, on every machine, and for no other. */
export const hashSemanticText = (text: string): Buffer => hash('sha256', text, 'buffer').subarray(0, 16);

/**
 * A number of 53 bits that orders what is otherwise equal: by what is in a crate, then by its id, so that the order is the
 * same on every machine.
 */
export function computeSortKey({ place, metadata, files }: CrateContent): number {
  const { title, description, authors, keywords, published, identifiers, entities } = metadata;
  const head = JSON.stringify([title, description, authors, keywords, published, identifiers]);
  const ids = entities.map(({ id }) => `\n${id}`).join('');
  const content = hash('sha256', head + ids + files.map((file) => `\0${file}`).join(''), 'buffer');
  const id = hash('sha256', place.crateId, 'buffer');
  return (content.readUInt32BE() >>> 6) * 2 ** 27 + (id.readUInt32BE() >>> 5);
}

/** As exact as it was given. A time without a zone is UTC: it would be another on each machine. */
export function parsePublished(published: string | null): number | null {
  if (published === null) return null;
  const hasZone = /T.*(?:Z|[+-]\d\d:?\d\d)$/.test(published);
  const exact = Date.parse(published.includes('T') && !hasZone ? `${published}Z` : published);
  const time = Number.isNaN(exact) ? Date.parse(published.slice(0, 10)) : exact;
  return Number.isNaN(time) ? null : time;
}
