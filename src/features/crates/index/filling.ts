/**
 * Brings the local index up to date with the rows of crates: reads what has changed since the number that the file has
 * reached, a few hundred rows at a time. A file of other rows, or of another version, is made anew.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { BoundedMap } from '../../../platform/concurrency/bounded-map.ts';
import { createMutex } from '../../../platform/concurrency/mutex.ts';
import type { Database } from '../../../ports/database/database.ts';
import { extractFacetValues } from '../query/facets.ts';
import { textFields } from '../query/text-fields.ts';
import { normalizeForIndex, stemWord } from '../text/words.ts';
import type { VectorSource } from './ranking.ts';
import {
  buildGraph,
  describeShape,
  entitiesPerDocument,
  foldValue,
  listFacts,
  toTypeToken,
  toValueToken,
} from './entities.ts';
import {
  codedColumns,
  createWordsTable,
  getWordsTable,
  publicAudience,
  toLocalIndexError,
  type LocalIndex,
} from './local-index.ts';
import { listChanges, readSequence, type CrateChange } from './rows.ts';
import { computeSortKey, joinSemanticText, listFieldTexts, parsePublished, toIndexable } from './texts.ts';
import type { CrateContent } from './texts.ts';

export interface IndexFiller {
  /** Until nothing is missing. One at a time. */
  catchUp(signal?: AbortSignal): Promise<void>;
}

export function createIndexFiller(
  database: Database,
  local: LocalIndex,
  vectors: VectorSource | null,
): IndexFiller {
  const writer = new DocumentWriter(local);
  const turns = createMutex();

  /** How far the file is, after it was made anew where it is not of these rows. */
  async function prepareFile(): Promise<number> {
    const madeOf = `${await database.identify()} ${vectors?.version ?? 'off'}`;
    const { sequence, forgotten } = await readSequence(database);
    return local.write(() => {
      const state = local.readState();
      const { applied = -1 } = state ?? {};
      const hasMissed = applied > 0 && applied < forgotten;
      if (state?.madeOf === madeOf && applied <= sequence && !hasMissed && !writer.isWorn()) return applied;
      local.reset(madeOf);
      writer.forget();
      return 0;
    });
  }

  async function fill(signal: AbortSignal | undefined): Promise<void> {
    let applied = await prepareFile();
    for (;;) {
      signal?.throwIfAborted();
      const next = await listChanges(database, applied);
      if (next === null) return;
      const made = vectors === null ? null : await vectors.load(next.changes.map(toSemanticText));
      const isDone = local.write(() => {
        // Another process may have come first.
        if (local.readState()?.applied !== applied) return false;
        for (const [at, change] of next.changes.entries()) writer.apply(change, made?.[at] ?? null);
        local.prepare('UPDATE state SET applied = ?').get(next.upTo);
        return true;
      });
      if (!isDone) writer.forget();
      applied = isDone ? next.upTo : await prepareFile();
      await pause(0);
    }
  }

  return {
    catchUp: (signal) =>
      turns.run(async () => {
        try {
          await fill(signal);
        } catch (error) {
          writer.forget();
          throw toLocalIndexError(error);
        }
      }),
  };
}

const toSemanticText = ({ shown }: CrateChange): string | null =>
  shown === null ? null : joinSemanticText(shown);

/** A file of which most is of crates that are gone is made anew. */
const maxWorn = { times: 3, documents: 100_000 };

/** Writes documents, within transactions of its caller. */
class DocumentWriter {
  readonly #local: LocalIndex;
  readonly #codes = new BoundedMap<string, number>({ mostEntries: 50_000, whenFull: 'clear' });
  readonly #audiences = new Map<string, number>();
  readonly #seenForms = new Set<string>();
  readonly #seenValues = new Set<number>();

  constructor(local: LocalIndex) {
    this.#local = local;
  }

  /** Call it where a transaction has failed: what is remembered was not written. */
  forget(): void {
    this.#codes.clear();
    this.#audiences.clear();
    this.#seenForms.clear();
    this.#seenValues.clear();
  }

  isWorn(): boolean {
    const last = this.#read("SELECT seq FROM sqlite_sequence WHERE name = 'documents'") ?? 0;
    const live = this.#read('SELECT SUM(documents) FROM audiences') ?? 0;
    return last > maxWorn.times * live + maxWorn.documents;
  }

  apply({ crateId, crate }: CrateChange, vector: Uint8Array | null): void {
    this.#remove(crateId);
    if (crate !== null) this.#add(crate, vector);
  }

  /** Not by `run`, which gives the last number that FTS5 gave a row of its own, however large. */
  #run(sql: string, ...values: (string | number | null | Uint8Array)[]): unknown {
    return this.#local.prepare(sql).get(...values);
  }

  #read(sql: string, ...values: (string | number | null)[]): number | null {
    const row = this.#run(sql, ...values) as [number | null] | undefined;
    return row?.[0] ?? null;
  }

  #encode(name: string, value: unknown): number {
    const text = toIndexable(typeof value === 'string' ? value : JSON.stringify(value));
    const key = `${name} ${text}`;
    const known =
      this.#codes.get(key) ?? this.#read('SELECT code FROM coded WHERE name = ? AND value = ?', name, text);
    const code =
      known ?? this.#read('INSERT INTO coded (name, value) VALUES (?, ?) RETURNING code', name, text)!;
    this.#codes.set(key, code);
    return code;
  }

  #findAudience(owner: string | null): number {
    if (owner === null) return publicAudience;
    let audience =
      this.#audiences.get(owner) ?? this.#read('SELECT audience FROM audiences WHERE owner = ?', owner);
    if (audience === null) {
      const sql = 'INSERT INTO audiences (owner, documents) VALUES (?, 0) RETURNING audience';
      audience = this.#read(sql, owner)!;
      this.#local.connection.exec(createWordsTable(audience));
    }
    this.#audiences.set(owner, audience);
    return audience;
  }

  #remove(crateId: string): void {
    const sql = 'DELETE FROM documents WHERE crate_id = ? RETURNING document, audience';
    const row = this.#run(sql, crateId) as [number, number] | undefined;
    if (row === undefined) return;
    const [document, audience] = row;
    this.#run('INSERT INTO removed (document) VALUES (?)', document);
    this.#run('UPDATE audiences SET documents = documents - 1 WHERE audience = ?', audience);
    this.#run(`DELETE FROM ${getWordsTable(audience)} WHERE rowid = ?`, document);
    this.#run('DELETE FROM graphs WHERE document = ?', document);
    this.#run('DELETE FROM vectors WHERE document = ?', document);
  }

  #add(crate: CrateContent, vector: Uint8Array | null): void {
    const { place, metadata } = crate;
    const audience = this.#findAudience(place.owner);
    const values = extractFacetValues(crate);
    const coded = codedColumns.map((name, at) =>
      this.#encode(name, name === 'shape' ? describeShape(metadata.entities) : values[at]),
    );
    const document = this.#read(
      `INSERT INTO documents (crate_id, audience, sort_key, published, ${codedColumns.join(', ')})
       VALUES (?, ?, ?, ?, ${codedColumns.map(() => '?').join(', ')}) RETURNING document`,
      place.crateId,
      audience,
      computeSortKey(crate),
      parsePublished(metadata.published),
      ...coded,
    )!;
    this.#run('UPDATE audiences SET documents = documents + 1 WHERE audience = ?', audience);
    this.#addWords(document, audience, crate);
    this.#addEntities(document, crate);
    if (vector !== null) this.#run('INSERT INTO vectors VALUES (?, ?)', document, vector);
  }

  #addWords(document: number, audience: number, crate: CrateContent): void {
    const texts = listFieldTexts(crate).map((some) => normalizeForIndex(some));
    const sql = `INSERT INTO ${getWordsTable(audience)} (rowid, ${fieldNames}) VALUES (?, ${fieldMarks})`;
    this.#run(sql, document, ...texts);
    for (const text of texts)
      for (const form of text.toLowerCase().match(formPattern) ?? []) {
        if (this.#seenForms.has(form)) continue;
        if (this.#seenForms.size >= maxSeen) this.#seenForms.clear();
        this.#seenForms.add(form);
        this.#run('INSERT OR IGNORE INTO forms VALUES (?, ?)', form, stemWord(form));
      }
  }

  #addEntities(document: number, { metadata: { entities } }: CrateContent): void {
    const first = document * entitiesPerDocument;
    for (const [at, entity] of entities.slice(0, entitiesPerDocument).entries()) {
      const tokens = entity.types.map(toTypeToken);
      for (const { property, value, hash } of listFacts(entity)) {
        tokens.push(toValueToken(hash));
        if (!this.#seenValues.has(hash)) this.#addValue(property, value, hash);
      }
      this.#run('INSERT INTO entities (rowid, tokens) VALUES (?, ?)', first + at, tokens.join(' '));
    }
    const graph = buildGraph(entities);
    if (graph !== null) this.#run('INSERT INTO graphs VALUES (?, ?)', document, JSON.stringify(graph));
  }

  /** Each value once: documents are found by its token. */
  #addValue(property: string, value: string, hash: number): void {
    if (this.#seenValues.size >= maxSeen) this.#seenValues.clear();
    this.#seenValues.add(hash);
    const folded = foldValue(value);
    const sql = 'INSERT OR IGNORE INTO entity_values VALUES (?, ?, ?) RETURNING token';
    if (this.#run(sql, hash, toIndexable(property), folded) !== undefined)
      this.#run('INSERT INTO parts (rowid, folded) VALUES (?, ?)', hash, folded);
  }
}

const maxSeen = 500_000;
const fieldNames = textFields.map(({ name }) => name).join(', ');
const fieldMarks = textFields.map(() => '?').join(', ');
/** Texts are normalized: what is not ASCII has no case and no marks any more. */
const formPattern = /[\p{L}\p{N}]+/gu;
