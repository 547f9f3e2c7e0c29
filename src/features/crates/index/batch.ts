/** Makes a segment of a batch of crates: gathers their words and entities as postings, sorted by key, and their columns. */
import { hash } from 'node:crypto';
import type { ReadCrate } from '../crate.ts';
import { extractFacetValues } from '../query/facets.ts';
import { encodeLengthByte, textFields, type TextField } from '../query/text-fields.ts';
import { WordNumbers } from '../text/words.ts';
import { BlockWriter, type Block, type BlockList } from './blocks.ts';
import { ColumnsWriter } from './columns.ts';
import { nameKey, typePrefix, valuePart } from './entity-index.ts';
import { ByteWriter, asKey, fieldEntry, kinds, lastField, propertyKey, writeHead } from './postings.ts';

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

/** As exact as it was given. A time without a zone is UTC: it would be another on each machine. */
function publishedAt(published: string | null): number | null {
  if (published === null) return null;
  const hasZone = /T.*(?:Z|[+-]\d\d:?\d\d)$/.test(published);
  const exact = Date.parse(published.includes('T') && !hasZone ? `${published}Z` : published);
  const time = Number.isNaN(exact) ? Date.parse(published.slice(0, 10)) : exact;
  return Number.isNaN(time) ? null : time;
}

/** Orders what is otherwise equal: by what is in it, then by its id. */
export function sortKeyOf({ place, metadata, files }: ReadCrate): Buffer {
  const { title, description, authors, keywords, published, identifiers, entities } = metadata;
  const head = JSON.stringify([title, description, authors, keywords, published, identifiers]);
  const ids = entities.map(({ id }) => `\n${id}`).join('');
  const content = hash('sha256', head + ids + files.map((file) => `\0${file}`).join(''), 'buffer');
  const id = hash('sha256', place.crateId, 'buffer');
  return Buffer.concat([content.subarray(0, 8), id.subarray(0, 8)]);
}

interface Entry {
  readonly key: string;
  readonly value: Uint8Array;
}

/** Positions of a field begin at its number times this, and no more of its words are looked at. */
export const positionsPerField = 2 ** 20;

let shared = new WordNumbers();
const mostShared = 100_000;

/** From one batch to the next, since they have most words in common; anew where there are too many. */
function shareNumbers(): WordNumbers {
  if (shared.words.length > mostShared) shared = new WordNumbers();
  return shared;
}

/** Gathers what a batch of documents holds, document by document, as postings. */
class Gathering {
  readonly #numbers = shareNumbers();
  /** By the number of a word: its stem and its form in the lists below, from 1 on; 0 where that is not known, or none. */
  #stemOf = new Int32Array(this.#numbers.words.length + 1024);
  #formOf = new Int32Array(this.#stemOf.length);
  readonly #entities = new Occurrences();
  readonly #stems = new Occurrences();
  readonly #forms = new Occurrences();

  /** Keys that begin with this. */
  group(prefix: string): KeyGroup {
    return this.#entities.group(prefix);
  }

  /** A document under a key of a group with a number of it, such as that of an entity. They have to come in order. */
  number(group: KeyGroup, rest: string, document: number, number: number): void {
    this.#entities.add(this.#entities.name(group, rest), document, number);
  }

  /** A document under a key of a group, and nothing about it. */
  document(group: KeyGroup, rest: string, document: number): void {
    this.#entities.add(this.#entities.name(group, rest), document, -1);
  }

  /** The texts of a field; gives how many words there are. */
  field(field: number, document: number, texts: readonly string[]): number {
    const first = field * positionsPerField;
    let position = 0;
    let words = 0;
    for (const text of texts) {
      this.#numbers.each(text, (number) => {
        if (position >= positionsPerField) return;
        if (number >= this.#stemOf.length || this.#stemOf[number] === 0) this.#learn(number);
        this.#stems.add(this.#stemOf[number]! - 1, document, first + position++);
        if (this.#formOf[number] !== 0) this.#forms.add(this.#formOf[number]! - 1, document, first);
        words++;
      });
      // A phrase does not go from one name to the next.
      position++;
    }
    return words;
  }

  #learn(number: number): void {
    if (number >= this.#stemOf.length) {
      this.#stemOf = enlarge(this.#stemOf, number * 2);
      this.#formOf = enlarge(this.#formOf, number * 2);
    }
    const { stem, form } = this.#numbers.words[number]!;
    this.#stemOf[number] = this.#stems.name(this.#stems.group(kinds.word), asKey(stem)) + 1;
    if (form !== stem)
      this.#formOf[number] = this.#forms.name(this.#forms.group(kinds.form), asKey(form)) + 1;
  }

  /** Keys in order with what is found under them. The bytes are good until the next. */
  *sorted(): Generator<Entry> {
    // In the order of the kinds, see keys.ts.
    const entities = this.#entities.sort();
    for (const run of entities.runs) yield { key: run.key, value: entities.writeNumbers(run) };
    const words = this.#stems.sort();
    for (const run of words.runs)
      yield { key: kinds.positions + run.key.slice(1), value: words.writeNumbers(run) };
    const forms = this.#forms.sort();
    for (const run of forms.runs) yield { key: run.key, value: forms.writeFields(run) };
    for (const run of words.runs) yield { key: run.key, value: words.writeFields(run) };
  }
}

/** What follows a prefix in keys, with a number for each. */
export type KeyGroup = Map<string, number>;

/** Which key is met in which document, with a number: noted in typed arrays, since there may be millions. */
class Occurrences {
  /** By prefix: keys are found and compared without what most of them have in common. */
  readonly #groups = new Map<string, KeyGroup>();
  #count = 0;
  #size = 0;
  #capacity = 1 << 14;
  #idOf = new Int32Array(this.#capacity);
  #documents = new Int32Array(this.#capacity);
  #numbers = new Int32Array(this.#capacity);

  group(prefix: string): KeyGroup {
    let group = this.#groups.get(prefix);
    if (group === undefined) this.#groups.set(prefix, (group = new Map()));
    return group;
  }

  /** A number for a key, always the same. */
  name(group: KeyGroup, rest: string): number {
    let id = group.get(rest);
    if (id === undefined) group.set(rest, (id = this.#count++));
    return id;
  }

  add(id: number, document: number, number: number): void {
    if (this.#size === this.#capacity) this.#grow();
    this.#idOf[this.#size] = id;
    this.#documents[this.#size] = document;
    this.#numbers[this.#size++] = number;
  }

  #grow(): void {
    this.#capacity *= 2;
    this.#idOf = enlarge(this.#idOf, this.#capacity);
    this.#documents = enlarge(this.#documents, this.#capacity);
    this.#numbers = enlarge(this.#numbers, this.#capacity);
  }

  /** By key; what is under one key stays in its order. */
  sort(): SortedOccurrences {
    const starts = new Int32Array(this.#count + 1);
    for (let at = 0; at < this.#size; at++) starts[this.#idOf[at]! + 1]!++;
    for (let id = 0; id < this.#count; id++) starts[id + 1]! += starts[id]!;
    const next = starts.slice();
    const documents = new Int32Array(this.#size);
    const numbers = new Int32Array(this.#size);
    for (let at = 0; at < this.#size; at++) {
      const to = next[this.#idOf[at]!]!++;
      documents[to] = this.#documents[at]!;
      numbers[to] = this.#numbers[at]!;
    }
    const runs: Run[] = [];
    for (const prefix of [...this.#groups.keys()].sort()) {
      const group = this.#groups.get(prefix)!;
      for (const rest of [...group.keys()].sort()) {
        const id = group.get(rest)!;
        runs.push({ key: prefix + rest, from: starts[id]!, to: starts[id + 1]! });
      }
    }
    return new SortedOccurrences(runs, documents, numbers);
  }
}

function enlarge(numbers: Int32Array<ArrayBuffer>, capacity: number): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(capacity);
  larger.set(numbers);
  return larger;
}

interface Run {
  readonly key: string;
  readonly from: number;
  readonly to: number;
}

class SortedOccurrences {
  readonly runs: readonly Run[];
  readonly #documents: Int32Array;
  readonly #numbers: Int32Array;
  readonly #writer = new ByteWriter(1024);

  constructor(runs: readonly Run[], documents: Int32Array, numbers: Int32Array) {
    this.runs = runs;
    this.#documents = documents;
    this.#numbers = numbers;
  }

  /** Each document with its numbers, as distances, and a zero. */
  writeNumbers(run: Run): Uint8Array {
    const writer = this.#begin(run);
    let document = -1;
    let last = -1;
    for (let at = run.from; at < run.to; at++) {
      if (this.#documents[at] !== document) {
        if (document !== -1) writer.byte(0);
        writer.number(this.#documents[at]! - document - 1);
        document = this.#documents[at]!;
        last = -1;
      }
      const number = this.#numbers[at]!;
      if (number !== last) writer.number(number - last);
      last = number;
    }
    writer.byte(0);
    return writer.view();
  }

  /** Each document with the fields that the word is in, and how often. */
  writeFields(run: Run): Uint8Array {
    const writer = this.#begin(run);
    let document = -1;
    for (let at = run.from; at < run.to;) {
      writer.number(this.#documents[at]! - document - 1);
      document = this.#documents[at]!;
      while (at < run.to && this.#documents[at] === document) {
        const field = Math.floor(this.#numbers[at]! / positionsPerField);
        const end = (field + 1) * positionsPerField;
        let count = 0;
        while (at < run.to && this.#documents[at] === document && this.#numbers[at]! < end) {
          at++;
          count++;
        }
        const isLast = at === run.to || this.#documents[at] !== document;
        writer.byte(fieldEntry(field, count) | (isLast ? lastField : 0));
      }
    }
    return writer.view();
  }

  #begin({ from, to }: Run): ByteWriter {
    let count = 0;
    for (let at = from; at < to; at++)
      if (at === from || this.#documents[at] !== this.#documents[at - 1]) count++;
    this.#writer.clear();
    writeHead(this.#writer, count, this.#documents[to - 1]!);
    return this.#writer;
  }
}

/** The texts of a crate by field, in the order of the fields. */
export function textsOf({ metadata, files }: ReadCrate): (readonly string[])[] {
  const texts: Record<TextField, readonly string[]> = {
    title: [metadata.title],
    description: [metadata.description],
    author: metadata.authors,
    keyword: metadata.keywords,
    entity: entityNames(metadata),
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
function entityNames({ entities, rootId }: ReadCrate['metadata']): string[] {
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
