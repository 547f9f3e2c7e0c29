/** What is shown of hits: rows, snippets, facets and pages. */
import type { Database } from '../../../ports/database/database.ts';
import { WorkcrateError } from '../../../platform/errors.ts';
import { facets } from '../query/facets.ts';
import type { QueryClause, SearchQuery } from '../query/parse.ts';
import { textFields } from '../query/text-fields.ts';
import { stemWord, tokenizeWords } from '../text/words.ts';
import type { VisibleDocuments } from './columns.ts';
import { findFields, type Hit, type Searching } from './matching.ts';
import { readResultRows, type ResultRow, type Viewing } from './rows.ts';
import { parseShownTexts } from './texts.ts';

export interface SearchResult {
  readonly crateId: string;
  readonly title: string;
  /** Its start. */
  readonly description: string;
  readonly locator: string;
  readonly authors: readonly string[];
  readonly year: number | null;
  readonly score: number;
  /** Where it fits, the words between ** and **. */
  readonly snippet: string;
  /** The fields that words were found in. */
  readonly matched: readonly string[];
}

/** What rows of crates are read with. */
export interface ReadingRows extends Searching {
  readonly database: Database;
  readonly viewing: Viewing;
  /** Whether what has changed meanwhile is left out, and not an error. */
  readonly isLastAttempt: boolean;
}

export const maxDescription = 500;

export async function describeHits(
  searching: ReadingRows,
  query: SearchQuery,
  hits: readonly Hit[],
): Promise<SearchResult[]> {
  const clauses = [...query.wanted, ...query.required];
  const marked = selectMarked(clauses);
  const documents = hits.map(({ document }) => document);
  const fields = findFields(searching, clauses, documents);
  const rows = await readResults(searching, documents);
  return hits.flatMap(({ document, score }) => {
    const row = rows.get(document);
    return row === undefined ? [] : [describeHit(row, score, fields.get(document) ?? 0, marked)];
  });
}

function describeHit(row: ResultRow, score: number, fields: number, marked: Marked): SearchResult {
  const shown = parseShownTexts(row);
  const own: Readonly<Record<string, readonly string[]>> = {
    title: [row.title],
    description: [row.description],
  };
  const matched = textFields.filter((_, field) => (fields & (1 << field)) !== 0).map(({ name }) => name);
  // The description first: of equally good places it tells most.
  const order = matched.toSorted(
    (one, other) => Number(other === 'description') - Number(one === 'description'),
  );
  const texts = order.map((name) => (own[name] ?? shown[name] ?? []).join('; '));
  return {
    crateId: row.crate_id,
    title: row.title,
    description: startOf(row.description, maxDescription),
    locator: row.locator,
    authors: shown.author ?? [],
    year: shown.year ?? null,
    score,
    snippet: snippetOf(texts.length === 0 ? [row.description] : texts, marked),
    matched,
  };
}

const maxResults = 100;
export const maxOffset = 10_000;

interface Paging {
  readonly limit: number;
  readonly offset: number;
}

/** A page is found with all that come before it, so there is an end to them. */
export function boundPaging({ limit, offset }: Paging): Paging {
  if (offset >= 0 && offset <= maxOffset) return { limit: Math.min(limit, maxResults), offset };
  throw new WorkcrateError(
    'invalid_input',
    `offset must be from 0 to ${maxOffset}. To see further crates, narrow the search down.`,
  );
}

/** The crates that documents are, by their numbers; those that were removed are left out. */
function readCrateIds({ local }: Searching, documents: readonly number[]): Map<number, string> {
  const ids = new Map<number, string>();
  for (const document of documents) {
    const row = local.prepare('SELECT crate_id FROM documents WHERE document = ?').get(document);
    if (row !== undefined) ids.set(document, (row as unknown as [string])[0]);
  }
  return ids;
}

/** The rows of documents that are still there, by their numbers. They say once more who may see them. */
export async function readDocumentRows(
  searching: ReadingRows,
  documents: readonly number[],
): Promise<Map<number, ResultRow>> {
  const ids = readCrateIds(searching, documents);
  const rows = await readResultRows(searching.database, [...ids.values()], searching.viewing);
  const found = new Map<number, ResultRow>();
  for (const [document, id] of ids) if (rows.has(id)) found.set(document, rows.get(id)!);
  return found;
}

/** The rows of documents, by their numbers; `index_busy` where one of them has changed since it was found. */
export async function readResults(
  searching: ReadingRows,
  documents: readonly number[],
): Promise<Map<number, ResultRow>> {
  const rows = await readDocumentRows(searching, documents);
  if (rows.size < documents.length && !searching.isLastAttempt)
    throw new WorkcrateError(
      'index_busy',
      'The index is changing too fast to be read. Try again in a moment.',
    );
  return rows;
}

const mostLooked = 4000;
const around = 220;

/** What is marked in a text: words by their stems, or by what they begin with. */
export interface Marked {
  readonly stems: ReadonlySet<string>;
  readonly prefixes: readonly string[];
}

export function selectMarked(clauses: readonly QueryClause[]): Marked {
  const stems = new Set<string>();
  const prefixes: string[] = [];
  for (const clause of clauses)
    if (clause.kind === 'prefix') prefixes.push(clause.prefix);
    else for (const form of clause.kind === 'word' ? [clause.form] : clause.forms) stems.add(stemWord(form));
  return { stems, prefixes };
}

interface Place {
  readonly start: number;
  readonly end: number;
  readonly what: string;
}

/** The part of the texts that shows most of what was looked for, marked; the start of the first where there is none. */
export function snippetOf(texts: readonly string[], marked: Marked): string {
  let best = { text: (texts[0] ?? '').slice(0, mostLooked), places: [] as Place[], different: 0 };
  for (const whole of texts) {
    const text = whole.slice(0, mostLooked);
    const places = densest(findMarked(text, marked));
    const different = new Set(places.map(({ what }) => what)).size;
    if (different > best.different) best = { text, places, different };
  }
  return markPlaces(best.text, best.places);
}

function findMarked(text: string, { stems, prefixes }: Marked): Place[] {
  const places: Place[] = [];
  for (const { stem, form, start, end } of tokenizeWords(text)) {
    const prefix = prefixes.find((each) => form.startsWith(each) || stem.startsWith(each));
    if (stems.has(stem) || prefix !== undefined) places.push({ start, end, what: prefix ?? stem });
  }
  return places;
}

/** Those within one stretch of text, chosen so that as many different ones as possible are in it. */
function densest(places: readonly Place[]): Place[] {
  let best: Place[] = [];
  let most = 0;
  for (const [at, { start }] of places.entries()) {
    const within = places.slice(at, at + 50).filter(({ end }) => end - start <= around);
    const different = new Set(within.map(({ what }) => what)).size;
    if (different > most) [best, most] = [within, different];
  }
  return best;
}

function markPlaces(text: string, places: readonly Place[]): string {
  const first = places[0]?.start ?? 0;
  const last = places.at(-1)?.end ?? 0;
  const spare = Math.max(0, around - (last - first));
  const from = Math.min(first, edgeAfter(text, first - Math.floor(spare / 3)));
  const to = Math.max(last, edgeBefore(text, Math.max(last, from + around)));
  let out = from > 0 ? '…' : '';
  let at = from;
  for (const { start, end } of places) {
    out += `${text.slice(at, start)}**${text.slice(start, end)}**`;
    at = end;
  }
  return (
    (out + text.slice(at, Math.max(at, to))).replaceAll(/\s+/g, ' ').trim() + (to < text.length ? '…' : '')
  );
}

const mostOfWord = 20;

/** The start of a word at or soon after. */
function edgeAfter(text: string, at: number): number {
  if (at <= 0) return 0;
  const space = text.slice(at, at + mostOfWord).search(/\s/);
  return space === -1 ? whole(text, at) : at + space + 1;
}

/** The end of a word at or soon before. */
function edgeBefore(text: string, at: number): number {
  if (at >= text.length) return text.length;
  const space = text.slice(at - mostOfWord, at).lastIndexOf(' ');
  return space === -1 ? whole(text, at) : at - mostOfWord + space;
}

/** Not between the halves of a character. */
function whole(text: string, at: number): number {
  const code = text.charCodeAt(at);
  return code >= 0xdc00 && code <= 0xdfff ? at - 1 : at;
}

/** The start of a text, at most so long. */
export function startOf(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, edgeBefore(text, most)).trimEnd()}…`;
}

export interface ValueCount {
  readonly value: string;
  readonly count: number;
}

/** How many of the chosen documents have which values, the most frequent first. */
export function countFacets(
  { columns }: VisibleDocuments,
  chosen: Uint8Array,
  most: number,
): Record<string, ValueCount[]> {
  const counted: Record<string, ValueCount[]> = {};
  for (const [facet, { name }] of facets.entries()) {
    const totals = new Map<string, number>();
    for (const [code, count] of countCodes(columns.codes[facet]!, chosen))
      for (const value of columns.values(code).values) totals.set(value, (totals.get(value) ?? 0) + count);
    counted[name] = listMostFrequent(totals, most);
  }
  return counted;
}

/** How many of the chosen documents have which code. */
export function countCodes(codes: Uint32Array, chosen: Uint8Array): Map<number, number> {
  const counts = new Map<number, number>();
  for (let document = 1; document < chosen.length; document++) {
    if (chosen[document] !== 1) continue;
    const code = codes[document]!;
    counts.set(code, (counts.get(code) ?? 0) + 1);
  }
  return counts;
}

/** Authors and keywords have no codes: they are read row by row, which is done only for so many crates. */
const maxRowsRead = 1000;

/** The same for authors and keywords; nothing where there are too many crates to read. */
export async function countShownTexts(
  searching: ReadingRows,
  chosen: Uint8Array,
  most: number,
): Promise<Record<string, ValueCount[]>> {
  const documents: number[] = [];
  for (let document = 1; document < chosen.length && documents.length <= maxRowsRead; document++)
    if (chosen[document] === 1) documents.push(document);
  if (documents.length > maxRowsRead) return {};
  await searching.pace.breathe();
  const rows = [...(await readDocumentRows(searching, documents)).values()].map(parseShownTexts);
  const count = (name: 'author' | 'keyword'): ValueCount[] => {
    const totals = new Map<string, number>();
    for (const shown of rows)
      for (const value of new Set(shown[name] ?? [])) totals.set(value, (totals.get(value) ?? 0) + 1);
    return listMostFrequent(totals, most);
  };
  return { author: count('author'), keyword: count('keyword') };
}

export function listMostFrequent(totals: ReadonlyMap<string, number>, most: number): ValueCount[] {
  return Array.from(totals, ([value, count]) => ({ value, count }))
    .sort((one, other) => other.count - one.count || (one.value < other.value ? -1 : 1))
    .slice(0, most);
}
