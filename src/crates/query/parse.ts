import { facetNumber, isYears } from './facets.ts';
import { fieldNumber } from './text-fields.ts';
import { wordsOf } from '../text/words.ts';
import { phraseClause, withoutRepeats, wordClauses } from './clauses.ts';
import { entityCondition, mostClauses, mostEntityConditions, parseFilters, yearFacet } from './filters.ts';
import type { Clause, EntityCondition, Filter, Query } from './query.ts';

const mostCharacters = 10_000;
/** Of those that the search by meaning goes by: an abstract may be asked for as it is. */
const mostWords = 256;

/** A minus, a name and a colon, then a text in quotes, which may lack the last one, or anything without space. */
const token = /(-)?(?:([\p{L}*][\p{L}\p{N}_.@:/-]*?):(?=[^\s:/]))?(?:"([^"]*)"?|([^\s"]+))/gu;

interface Token {
  readonly negated: boolean;
  readonly name: string | null;
  readonly phrase: string | null;
  readonly text: string;
}

interface Parsed {
  readonly wanted: Clause[];
  readonly required: Clause[];
  readonly excluded: Clause[];
  readonly filters: Filter[];
  readonly entities: EntityCondition[];
  readonly texts: string[];
  readonly notes: Set<string>;
}

/** Understands a query. No text is wrong: what has no meaning is taken as words, and `notes` say so. */
export function parseQuery(text: string, fieldFilters: Iterable<readonly [string, string]> = []): Query {
  const parsed: Parsed = {
    wanted: [],
    excluded: [],
    texts: [],
    notes: new Set(),
    ...parseFilters(fieldFilters),
  };
  if (text.length > mostCharacters)
    parsed.notes.add(`Only the first ${mostCharacters} characters were looked at.`);
  for (const each of tokensOf(text.slice(0, mostCharacters))) understand(parsed, each);
  return bounded(parsed);
}

function* tokensOf(text: string): Generator<Token> {
  let isNot = false;
  for (const [, minus, name, phrase, rest] of text.matchAll(token)) {
    if (rest === 'AND' || rest === 'OR') continue;
    if (rest === 'NOT') {
      isNot = true;
      continue;
    }
    const negated = minus !== undefined || isNot;
    yield { negated, name: name ?? null, phrase: phrase ?? null, text: phrase ?? rest ?? '' };
    isNot = false;
  }
}

function understand(parsed: Parsed, { negated, name, phrase, text }: Token): void {
  const facet = name === null ? -1 : facetNumber(name);
  const field = name === null ? -1 : fieldNumber(name);
  const entity = name === null ? null : entityCondition(name, text, negated);
  if (entity !== null) parsed.entities.push(entity);
  else if (facet >= 0 && text.trim() !== '' && (facet !== yearFacet || isYears(text)))
    parsed.filters.push({ facet, wanted: text, negated });
  else if (field >= 0) inField(parsed, field, text, negated);
  else {
    if (name !== null && facet < 0)
      parsed.notes.add(`There is no field ${JSON.stringify(name)}: its words were looked for.`);
    if (facet >= 0) parsed.notes.add(`${JSON.stringify(text)} is no year: its words were looked for.`);
    anywhere(parsed, name === null ? text : `${name} ${text}`, phrase !== null && name === null, negated);
  }
}

/** Whoever names a field means it. */
function inField(parsed: Parsed, field: number, text: string, negated: boolean): void {
  const isPrefix = text.endsWith('*');
  const phrase = isPrefix ? null : phraseClause(text, field);
  const clauses = phrase === null ? wordClauses(text, field) : [phrase];
  (negated ? parsed.excluded : parsed.required).push(...clauses);
  if (!negated) parsed.texts.push(text);
}

function anywhere(parsed: Parsed, text: string, isPhrase: boolean, negated: boolean): void {
  const phrase = isPhrase || (negated && !text.endsWith('*')) ? phraseClause(text, null) : null;
  const clauses = phrase === null ? wordClauses(text, null) : [phrase];
  if (negated) parsed.excluded.push(...clauses);
  else {
    (isPhrase ? parsed.required : parsed.wanted).push(...clauses);
    parsed.texts.push(text);
  }
}

function bounded({ texts, notes, ...parsed }: Parsed): Query {
  let left = mostClauses;
  let isCut = false;
  const take = <T>(all: readonly T[]): T[] => {
    const some = all.slice(0, left);
    left -= some.length;
    isCut ||= some.length < all.length;
    return some;
  };
  const few = parsed.entities.slice(0, mostEntityConditions);
  if (few.length < parsed.entities.length)
    notes.add(`Only the first ${mostEntityConditions} conditions such as Person.name:Jane were looked at.`);
  const [filters, entities] = [take(parsed.filters), take(few)];
  const [required, excluded] = [take(withoutRepeats(parsed.required)), take(withoutRepeats(parsed.excluded))];
  const wanted = take(withoutRepeats(parsed.wanted));
  if (isCut) notes.add(`Only the first ${mostClauses} words and conditions were looked at.`);
  const text = firstWords(texts.join(' '));
  return { wanted, required, excluded, filters, entities, text, notes: [...notes] };
}

function firstWords(text: string): string {
  const [last] = wordsOf(text).drop(mostWords - 1);
  return last === undefined ? text : text.slice(0, last.end);
}
