/**
 * Finds and scores documents by words: each word, phrase or prefix of a query is looked up in FTS5 by itself, and what it
 * is worth for a document is added up. FTS5's bm25 says how often a word is in a document for its length; how rare it is
 * is counted here, among the documents that the viewer sees.
 */
import type { FacetFilter, QueryClause } from '../query/parse.ts';
import { facets } from '../query/facets.ts';
import { textFields } from '../query/text-fields.ts';
import { stemWord } from '../text/words.ts';
import { compareDocuments, createCodeTest, type Columns, type VisibleDocuments } from './columns.ts';
import { getWordsTable, type LocalIndex } from './local-index.ts';
import type { Pace } from './pace.ts';

/** What one search works with. */
export interface Searching {
  readonly local: LocalIndex;
  readonly visible: VisibleDocuments;
  readonly pace: Pace;
}

/** A document and how well it fits. */
export interface Hit {
  readonly document: number;
  readonly score: number;
}

/** The visible documents that a clause finds, and what it is worth for each. */
export interface Matches {
  readonly documents: readonly number[];
  readonly worths: readonly number[];
}

const weights = textFields.map(({ weight }) => weight).join(', ');

/** Everything is in quotes, so that no text means anything to FTS5. */
const quoteForm = (form: string): string => `"${form.replaceAll('"', '""')}"`;

/** The expressions for FTS5 that find what a clause asks for: several for a prefix, see `expandPrefix`. */
function toExpressions(local: LocalIndex, clause: QueryClause): string[] {
  if (clause.kind === 'word') return [quoteForm(clause.form)];
  if (clause.kind === 'phrase') return [quoteForm(clause.forms.join(' '))];
  return expandPrefix(local, clause.prefix);
}

/**
 * FTS5 knows stems alone. A prefix that is no longer than the stems finds them by itself; words that end in what the
 * stem lacks, as `conductiv*` finds conductivity, are found in the list of all words.
 */
function expandPrefix(local: LocalIndex, prefix: string): string[] {
  const isStem = stemWord(prefix) === prefix;
  const others = isStem ? 'AND substr(stem, 1, length(?)) <> ?' : '';
  const rows = local
    .prepare(`SELECT MIN(form) FROM forms WHERE form >= ? AND form < ? ${others} GROUP BY stem`)
    .all(prefix, `${prefix}\u{10ffff}`, ...(isStem ? [prefix, prefix] : [])) as unknown as [string][];
  const words = rows.map(([form]) => quoteForm(form));
  return isStem ? [`${quoteForm(prefix)} *`, ...words] : words;
}

const limitToField = (expression: string, field: number | null): string =>
  field === null ? expression : `{${textFields[field]!.name}} : ${expression}`;

/** How rare what so many of the documents have is: BM25's idf, which is above 0. */
export const computeRarity = (documents: number, holders: number): number =>
  Math.log(1 + (documents - Math.min(documents, holders) + 0.5) / (holders + 0.5));

/** As FTS5 has it; its score is a product of this and of what is wanted. */
const computeFtsRarity = (documents: number, holders: number): number =>
  Math.max(Math.log((documents - holders + 0.5) / (holders + 0.5)), 0) || 1e-6;

export async function matchClause(searching: Searching, clause: QueryClause): Promise<Matches> {
  const { local, visible, pace } = searching;
  const expressions = toExpressions(local, clause);
  const shares = new Map<number, number>();
  const [documents, worths]: [number[], number[]] = [[], []];
  for (const expression of expressions)
    for (const audience of visible.audiences) {
      await pace.breathe();
      const { rows, total } = readMatches(local, audience, limitToField(expression, clause.field));
      const rarity = computeFtsRarity(total, rows.length);
      for (const [document, score] of rows) {
        if (visible.marks[document] !== 1) continue;
        if (expressions.length > 1) {
          const known = shares.get(document);
          shares.set(document, (known ?? 0) - score / rarity);
          if (known !== undefined) continue;
        } else worths.push(-score / rarity);
        documents.push(document);
      }
    }
  if (expressions.length > 1) worths.push(...documents.map((document) => shares.get(document)!));
  const rarity = computeRarity(visible.count, documents.length);
  return { documents, worths: worths.map((worth) => worth * rarity) };
}

/** All documents of an audience that an expression finds, and how many there are in all, at one moment. */
function readMatches(
  local: LocalIndex,
  audience: number,
  expression: string,
): { rows: [document: number, score: number][]; total: number } {
  const table = getWordsTable(audience);
  return local.read(() => {
    const counted = local.prepare('SELECT documents FROM audiences WHERE audience = ?').get(audience);
    const rows = local
      .prepare(`SELECT rowid, bm25(${table}, ${weights}) FROM ${table} WHERE ${table} MATCH ?`)
      .all(expression) as unknown as [number, number][];
    return { rows, total: (counted as unknown as [number] | undefined)?.[0] ?? 0 };
  });
}

/** In how many visible documents a word is, whatever the sources. */
export function countHolders({ local, visible }: Searching, form: string): number {
  let count = 0;
  for (const audience of visible.audiences) {
    const table = getWordsTable(audience);
    const row = local.prepare(`SELECT COUNT(*) FROM ${table} WHERE ${table} MATCH ?`).get(quoteForm(form));
    count += (row as unknown as [number])[0];
  }
  return count;
}

/** In which fields of some documents the clauses are found: a bit for each field. */
export function findFields(
  { local, visible }: Searching,
  clauses: readonly QueryClause[],
  documents: readonly number[],
): Map<number, number> {
  const found = new Map<number, number>();
  if (documents.length === 0 || clauses.length === 0) return found;
  const expressions = clauses.flatMap((clause) =>
    toExpressions(local, clause).map((expression) => ({ expression, field: clause.field })),
  );
  const ids = documents.map(() => '?').join(', ');
  for (const field of textFields.keys()) {
    const here = expressions.filter((each) => each.field === null || each.field === field);
    if (here.length === 0) continue;
    const any = here.map(({ expression }) => expression).join(' OR ');
    for (const audience of visible.audiences) {
      const table = getWordsTable(audience);
      const rows = local
        .prepare(`SELECT rowid FROM ${table} WHERE ${table} MATCH ? AND rowid IN (${ids})`)
        .all(limitToField(`(${any})`, field), ...documents) as unknown as [number][];
      for (const [document] of rows) found.set(document, (found.get(document) ?? 0) | (1 << field));
    }
  }
  return found;
}

/** What was found. */
export interface Found {
  readonly total: number;
  /** 1 for each document. */
  readonly chosen: Uint8Array;
  /** The best, best first. */
  readonly best: readonly Hit[];
}

export const findNothing = ({ columns }: VisibleDocuments): Found => ({
  total: 0,
  chosen: new Uint8Array(columns.size),
  best: [],
});

/** Which documents are left once filters and what must not be there are applied. */
export type Candidates = Uint8Array;

/** Leaves those that fit a filter, or those that do not. */
export function applyFilter(
  { columns, marks }: VisibleDocuments,
  candidates: Candidates,
  { facet, wanted, negated }: FacetFilter,
): void {
  const { fits } = facets[facet]!;
  const test = createCodeTest(columns, (value) => fits(value, wanted));
  const codes = columns.codes[facet]!;
  for (let document = 1; document < marks.length; document++)
    if (candidates[document] === 1 && test(codes[document]!) === negated) candidates[document] = 0;
}

/** Leaves the documents of a list, or all others. */
export function applyList(candidates: Candidates, documents: Iterable<number>, negated: boolean): void {
  if (negated) {
    for (const document of documents) candidates[document] = 0;
    return;
  }
  const kept = new Uint8Array(candidates.length);
  for (const document of documents) kept[document] = candidates[document]!;
  candidates.set(kept);
}

/** A clause with its matches and how often it was asked for. */
export interface WeighedMatches extends Matches {
  readonly times: number;
}

/** Ranks candidates that have any of what is wanted, if anything is. What is required counts too. */
export async function rankMatches(
  { visible: { columns }, pace }: Searching,
  candidates: Candidates,
  wanted: readonly WeighedMatches[],
  required: readonly WeighedMatches[],
  most: number,
): Promise<Found> {
  const scores = new Float64Array(columns.size);
  const chosen = new Uint8Array(columns.size);
  const documents: number[] = [];
  for (const { documents: some, worths, times } of [...wanted, ...required]) {
    await pace.breathe();
    for (const [at, document] of some.entries()) {
      if (candidates[document] !== 1) continue;
      scores[document]! += times * worths[at]!;
    }
  }
  // What is required has already been left alone by the candidates.
  for (const { documents: some } of wanted.length > 0 ? wanted : required)
    for (const document of some) {
      if (candidates[document] !== 1 || chosen[document] === 1) continue;
      chosen[document] = 1;
      documents.push(document);
    }
  await pace.breathe();
  const best = selectBest(
    documents,
    most,
    (one, other) => scores[other]! - scores[one]! || compareDocuments(columns, one, other),
  );
  return {
    total: documents.length,
    chosen,
    best: best.map((document) => ({ document, score: scores[document]! })),
  };
}

/** All candidates, the newest first; those without a date last. */
export function listNewest({ columns }: VisibleDocuments, candidates: Candidates, most: number): Found {
  const documents: number[] = [];
  for (let document = 1; document < candidates.length; document++)
    if (candidates[document] === 1) documents.push(document);
  const timeOf = (document: number): number => {
    const time = columns.published[document]!;
    return Number.isNaN(time) ? -Infinity : time;
  };
  const best = selectBest(documents, most, (one, other) => {
    const [first, second] = [timeOf(one), timeOf(other)];
    return first === second ? compareDocuments(columns, one, other) : second - first;
  });
  return {
    total: documents.length,
    chosen: candidates,
    best: best.map((document) => ({ document, score: 0 })),
  };
}

export const orderDocuments = (columns: Columns, documents: readonly number[], most: number): number[] =>
  selectBest(documents, most, (one, other) => compareDocuments(columns, one, other));

/** The first of many, in order. What comes after the last of those that are kept is left out at once. */
function selectBest<T>(all: Iterable<T>, most: number, compare: (one: T, other: T) => number): T[] {
  let kept: T[] = [];
  let last: T | null = null;
  for (const one of all) {
    if (last !== null && compare(last, one) <= 0) continue;
    kept.push(one);
    if (kept.length < most * 2 + 64) continue;
    kept = kept.sort(compare).slice(0, most);
    last = kept.at(-1) ?? null;
    if (most === 0) return [];
  }
  return kept.sort(compare).slice(0, most);
}
