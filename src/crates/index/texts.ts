import type { ReadCrate } from '../crate.ts';
import { textFields, type TextField } from '../query/text-fields.ts';

/** The texts of a crate by field, in the order of the fields. */
export function textsOf({ metadata, files }: ReadCrate): (readonly string[])[] {
  const texts: Record<TextField, readonly string[]> = {
    title: [metadata.title],
    description: [metadata.description],
    author: metadata.authors,
    keyword: metadata.keywords,
    entity: entityNames(metadata),
    file: files,
    identifier: metadata.identifiers,
  };
  return textFields.map(({ name }) => texts[name]);
}

/** Those of the crate itself are its title. */
function entityNames({ entities, rootId }: ReadCrate['metadata']): string[] {
  const names: string[] = [];
  for (const { id, properties } of entities) {
    if (id === rootId) continue;
    for (const property of properties)
      if ('text' in property && (property.name === 'name' || property.name === 'alternateName'))
        names.push(property.text);
  }
  return names;
}

/** As much of each field as results and snippets show. */
export type Shown = Readonly<Partial<Record<TextField, readonly string[]>>> & {
  readonly year?: number | null;
};

const mostShown = 2000;

/** Title and description have columns of their own. */
export function shownOf(crate: ReadCrate): Shown {
  const all = textsOf(crate);
  const shown: Record<string, readonly string[]> = {};
  for (const [at, { name }] of textFields.entries())
    if (name !== 'title' && name !== 'description' && all[at]!.length > 0) shown[name] = firstOf(all[at]!);
  return { ...shown, year: crate.metadata.year };
}

function firstOf(texts: readonly string[]): string[] {
  const first: string[] = [];
  let length = 0;
  for (const text of texts) {
    if ((length += text.length) > mostShown) break;
    first.push(text);
  }
  return first.length > 0 ? first : [texts[0]!.slice(0, mostShown)];
}
