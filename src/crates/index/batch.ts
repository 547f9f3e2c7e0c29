import { createHash } from 'node:crypto';
import type { ReadCrate } from '../crate.ts';
import { tokenizeWords } from '../text/words.ts';
import { BlockWriter, type Block, type BlockList } from './blocks.ts';
import { ColumnsWriter } from './columns.ts';
import { nameKey, typePrefix, valuePart } from './entity-key.ts';
import { extractFacetValues } from '../query/facets.ts';
import { Gathering } from './gathering.ts';
import { propertyKey } from './keys.ts';
import { encodeLengthByte, textFields } from '../query/text-fields.ts';
import { textsOf } from './texts.ts';

/** A segment that is still to be numbered and written. */
export interface Batch {
  readonly columns: ColumnsWriter;
  readonly blocks: readonly Block[];
  readonly list: BlockList;
}

/** Positions of a field begin at its number times this, and no more of its words are looked at. */
export const positionsPerField = 2 ** 20;

export function batchOf(crates: readonly ReadCrate[]): Batch {
  const columns = new ColumnsWriter();
  const gathering = new Gathering();
  for (const [document, crate] of crates.entries()) {
    const lengths = gatherWords(gathering, document, crate);
    gatherEntities(gathering, document, crate);
    columns.add({
      sortKey: sortKeyOf(crate),
      lengths,
      published: publishedAt(crate.metadata.published),
      owner: crate.place.owner,
      facets: extractFacetValues(crate),
    });
  }
  const writer = new BlockWriter();
  for (const { key, value } of gathering.sorted()) writer.add(key, value);
  const list = writer.end();
  return { columns, blocks: writer.take(), list };
}

/** Gives the length of each field as it is kept. */
function gatherWords(gathering: Gathering, document: number, crate: ReadCrate): number[] {
  const texts = textsOf(crate);
  return textFields.map((_, field) => {
    let position = 0;
    let words = 0;
    for (const text of texts[field]!) {
      for (const word of tokenizeWords(text)) {
        if (position >= positionsPerField) return encodeLengthByte(words);
        gathering.word(word, document, field, field * positionsPerField + position++);
        words++;
      }
      // A phrase does not go from one name to the next.
      position++;
    }
    return encodeLengthByte(words);
  });
}

function gatherEntities(gathering: Gathering, document: number, { metadata }: ReadCrate): void {
  for (const [number, { id, types, properties }] of metadata.entities.entries()) {
    const typed = types.length === 0 ? [''] : types;
    const typeKeys = typed.map(nameKey);
    const note = (property: string, value: string): void => {
      const part = valuePart(value);
      for (const type of typeKeys) gathering.number(typePrefix(property, type) + part, document, number);
    };
    note('@id', id);
    for (const property of properties) {
      if ('text' in property) note(property.name, property.text);
      for (const type of typed) gathering.document(propertyKey(type, property.name), document);
    }
    // A type is known even where its entities say nothing of themselves.
    for (const type of typed) gathering.document(propertyKey(type, '@id'), document);
  }
}

/** The day, as of UTC: a time without a zone would be another on each machine. */
function publishedAt(published: string | null): number | null {
  const day = published === null ? Number.NaN : Date.parse(published.slice(0, 10));
  return Number.isNaN(day) ? null : day;
}

/** Orders what is otherwise equal: by what is in it, then by its id. */
export function sortKeyOf({ place, metadata, files }: ReadCrate): Buffer {
  const { title, description, authors, keywords, published, identifiers, entities } = metadata;
  const content = createHash('sha256');
  content.update(JSON.stringify([title, description, authors, keywords, published, identifiers]));
  for (const { id } of entities) content.update(`\n${id}`);
  for (const file of files) content.update(`\0${file}`);
  const id = createHash('sha256').update(place.crateId);
  return Buffer.concat([content.digest().subarray(0, 8), id.digest().subarray(0, 8)]);
}
