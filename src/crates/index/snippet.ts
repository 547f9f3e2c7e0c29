import type { QueryClause } from '../query/parse.ts';
import { tokenizeWords } from '../text/words.ts';

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
    const places = densest(placesIn(text, marked));
    const different = new Set(places.map(({ what }) => what)).size;
    if (different > best.different) best = { text, places, different };
  }
  return shown(best.text, best.places);
}

function placesIn(text: string, { stems, prefixes }: Marked): Place[] {
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
