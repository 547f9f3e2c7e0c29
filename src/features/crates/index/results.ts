/** What is shown of hits: rows, snippets, facets and pages. */
import type { Queries } from '../../../ports/database/database.ts';
import { WorkcrateError } from '../../../platform/errors.ts';
import { facets } from '../query/facets.ts';
import type { QueryClause } from '../query/parse.ts';
import { textFields } from '../query/text-fields.ts';
import { tokenizeWords } from '../text/words.ts';
import type { Shown } from './batch.ts';
import { inPortions, marks } from './blocks.ts';
import type { Pace } from './pace.ts';
import type { Hit } from './scoring.ts';
import type { Prepared, Searching } from './searching.ts';
import type { Visible } from './segments.ts';

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

export const mostDescription = 500;

export async function resultsOf(
  { database, visible }: Searching,
  { query }: Prepared,
  hits: readonly Hit[],
): Promise<SearchResult[]> {
  const marked = markedBy([...query.wanted, ...query.required]);
  const numbers = hits.map(({ segment, at }) => visible.segments[segment]!.of.columns.documents[at]!);
  const rows = await resultRows(database, numbers);
  return hits.map((hit, at) => resultOf(rows[at]!, hit, marked));
}

function resultOf(row: ResultRow, { score, fields }: Hit, marked: Marked): SearchResult {
  const shown = shownIn(row);
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
    description: startOf(row.description, mostDescription),
    locator: row.locator,
    authors: shown.author ?? [],
    year: shown.year ?? null,
    score,
    snippet: snippetOf(texts.length === 0 ? [row.description] : texts, marked),
    matched,
  };
}

const mostResults = 100;
export const mostOffset = 10_000;

interface Paging {
  readonly limit: number;
  readonly offset: number;
}

/** A page is found with all that come before it, so there is an end to them. */
export function boundPaging({ limit, offset }: Paging): Paging {
  if (offset >= 0 && offset <= mostOffset) return { limit: Math.min(limit, mostResults), offset };
  throw new WorkcrateError(
    'invalid_input',
    `offset must be from 0 to ${mostOffset}. To see further crates, narrow the search down.`,
  );
}

export type ResultRow = {
  crate_id: string;
  document: number;
  title: string;
  description: string;
  locator: string;
  shown: string;
};

/** The rows of documents, in their order. `index_busy` where one of them has changed since it was found. */
export const resultRows = async (queries: Queries, documents: readonly number[]): Promise<ResultRow[]> =>
  inOrder(documents, await rowsByDocument(queries, documents));

export async function rowsByDocument(
  queries: Queries,
  documents: readonly number[],
): Promise<Map<number, ResultRow>> {
  const rows = new Map<number, ResultRow>();
  await inPortions(documents, async (some) => {
    const sql = `SELECT crate_id, document, title, description, locator, shown
                 FROM crates WHERE document IN (${marks(some.length)})`;
    for (const row of await queries.query<ResultRow>(sql, ...some)) rows.set(row.document, row);
  });
  return rows;
}

function inOrder<T>(documents: readonly number[], rows: ReadonlyMap<number, T>): T[] {
  return documents.map((document) => {
    const row = rows.get(document);
    if (row === undefined)
      throw new WorkcrateError(
        'index_busy',
        'The index is changing too fast to be read. Try again in a moment.',
      );
    return row;
  });
}

export const shownIn = ({ shown }: Pick<ResultRow, 'shown'>): Shown => JSON.parse(shown) as Shown;

/** The text by which documents are told to be alike. */
export function meaningText(row: Pick<ResultRow, 'title' | 'description' | 'shown'>): string {
  const { keyword = [], entity = [] } = shownIn(row);
  return [row.title, row.description, keyword.join(', '), entity.join(', ')]
    .filter((text) => text !== '')
    .join('\n');
}

const mostLooked = 4000;
const around = 220;

/** What is marked in a text: words by their stems, or by what they begin with. */
export interface Marked {
  readonly stems: ReadonlySet<string>;
  readonly prefixes: readonly string[];
}

export function markedBy(clauses: readonly QueryClause[]): Marked {
  const stems = new Set<string>();
  const prefixes: string[] = [];
  for (const clause of clauses)
    if (clause.kind === 'prefix') prefixes.push(clause.prefix);
    else for (const stem of clause.kind === 'word' ? [clause.stem] : clause.stems) stems.add(stem);
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
  return shown(best.text, best.places);
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

function shown(text: string, places: readonly Place[]): string {
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
export async function countFacets(
  { segments }: Visible,
  chosen: readonly Uint8Array[],
  most: number,
  pace: Pace,
): Promise<Record<string, ValueCount[]>> {
  const found = chosen.map(listMarked);
  const counted: Record<string, ValueCount[]> = {};
  for (const [facet, { name }] of facets.entries()) {
    const totals = new Map<string, number>();
    for (const [index, { of }] of segments.entries()) {
      await pace.breathe();
      const { codes, values } = of.columns.facets[facet]!;
      const counts = new Uint32Array(values.length);
      const places = found[index]!;
      for (let at = 0; at < places.length; at++) counts[codes[places[at]!]!]!++;
      for (const [code, count] of counts.entries()) {
        if (count === 0) continue;
        for (const value of values[code]!.values) totals.set(value, (totals.get(value) ?? 0) + count);
      }
    }
    counted[name] = topOf(totals, most);
  }
  return counted;
}

/** Authors and keywords are no columns: they are read row by row, which is done only for so many crates. */
const mostRead = 1000;

/** The same for authors and keywords; nothing where there are too many crates to read. */
export async function countShownTexts(
  { database, visible: { segments }, pace }: Searching,
  chosen: readonly Uint8Array[],
  most: number,
): Promise<Record<string, ValueCount[]>> {
  const documents = chosen.flatMap((marks, index) =>
    Array.from(listMarked(marks), (at) => segments[index]!.of.columns.documents[at]!),
  );
  if (documents.length > mostRead) return {};
  await pace.breathe();
  const rows = [...(await rowsByDocument(database, documents)).values()].map(shownIn);
  const count = (name: 'author' | 'keyword'): ValueCount[] => {
    const totals = new Map<string, number>();
    for (const shown of rows)
      for (const value of new Set(shown[name] ?? [])) totals.set(value, (totals.get(value) ?? 0) + 1);
    return topOf(totals, most);
  };
  return { author: count('author'), keyword: count('keyword') };
}

function listMarked(marks: Uint8Array): Uint32Array {
  const places = new Uint32Array(marks.length);
  let count = 0;
  for (let at = 0; at < marks.length; at++) if (marks[at] !== 0) places[count++] = at;
  return places.subarray(0, count);
}

export function topOf(totals: ReadonlyMap<string, number>, most: number): ValueCount[] {
  return Array.from(totals, ([value, count]) => ({ value, count }))
    .sort((one, other) => other.count - one.count || (one.value < other.value ? -1 : 1))
    .slice(0, most);
}
