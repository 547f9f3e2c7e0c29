import { createHash } from 'node:crypto';
import type { ReadCrate } from '../crate.ts';
import { BlockWriter, type Block, type BlockList } from './blocks.ts';
import { ColumnsWriter } from './columns.ts';
import { nameKey, typePrefix, valuePart } from './entity-key.ts';
import { extractFacetValues } from '../query/facets.ts';
import { Gathering, type KeyGroup } from './gathering.ts';
import { asKey, propertyKey } from './keys.ts';
import { encodeLengthByte } from '../query/text-fields.ts';
import { textsOf } from './texts.ts';

/** A segment that is still to be numbered and written. */
export interface Batch {
  readonly sortKeys: readonly Buffer[];
  readonly columns: ColumnsWriter;
  readonly blocks: readonly Block[];
  readonly list: BlockList;
}

export function batchOf(crates: readonly ReadCrate[]): Batch {
  const columns = new ColumnsWriter();
  const gathering = new Gathering();
  const byType = new Map<string, TypeGroups>();
  const sortKeys = crates.map(sortKeyOf);
  for (const [document, crate] of crates.entries()) {
    const lengths = textsOf(crate).map((texts, field) =>
      encodeLengthByte(gathering.field(field, document, texts)),
    );
    gatherEntities(gathering, document, crate, byType);
    columns.add({
      sortKey: sortKeys[document]!,
      lengths,
      published: publishedAt(crate.metadata.published),
      owner: crate.place.owner,
      facets: extractFacetValues(crate),
    });
  }
  const writer = new BlockWriter();
  for (const { key, value } of gathering.sorted()) writer.add(key, value);
  const list = writer.end();
  return { sortKeys, columns, blocks: writer.take(), list };
}

/** The groups of keys that entities of a type are found by. */
interface TypeGroups {
  readonly typeKey: string;
  /** Of the names of its properties. */
  readonly names: KeyGroup;
  /** By property: of its values. */
  readonly values: Map<string, KeyGroup>;
}

function gatherEntities(
  gathering: Gathering,
  document: number,
  { metadata }: ReadCrate,
  byType: Map<string, TypeGroups>,
): void {
  const groupsFor = (type: string): TypeGroups => {
    let groups = byType.get(type);
    if (groups === undefined) {
      groups = { typeKey: nameKey(type), names: gathering.group(propertyKey(type, '')), values: new Map() };
      byType.set(type, groups);
    }
    return groups;
  };
  for (const [number, { id, types, properties }] of metadata.entities.entries()) {
    const typed = (types.length === 0 ? [''] : types).map(groupsFor);
    const note = (property: string, value: string): void => {
      const part = valuePart(value);
      for (const { typeKey, values } of typed) {
        let group = values.get(property);
        if (group === undefined)
          values.set(property, (group = gathering.group(typePrefix(property, typeKey))));
        gathering.number(group, part, document, number);
      }
    };
    note('@id', id);
    for (const property of properties) if ('text' in property) note(property.name, property.text);
    for (const { names } of typed) {
      // A type is known even where its entities say nothing of themselves.
      gathering.document(names, '@id', document);
      for (const { name } of properties) gathering.document(names, asKey(name), document);
    }
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
