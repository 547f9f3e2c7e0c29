import { WorkcrateError } from '../../errors.ts';
import { folded, wordsOf } from '../text/words.ts';
import { facetNumber, facets, isYears } from './facets.ts';
import { fieldNumber, textFields } from './text-fields.ts';

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

/** Every word of a text on its own; one that ends in `*` stands for all that begin with it. */
function wordClauses(text: string, field: number | null): Clause[] {
  const words = [...wordsOf(text)];
  return words.map((word, at) => {
    const prefix = folded(word.form);
    const isPrefix =
      text[word.end] === '*' &&
      prefix.length >= leastPrefix &&
      (words[at + 1]?.start ?? word.end) >= word.end;
    return isPrefix ? { kind: 'prefix', prefix, field } : { kind: 'word', stem: word.stem, field };
  });
}

/** Shorter, and half of all words would begin with it. */
const leastPrefix = 2;

/** All words of a text, one after the other; null where there is none. */
function phraseClause(text: string, field: number | null): Clause | null {
  const stems = Array.from(wordsOf(text), ({ stem }) => stem).slice(0, mostInPhrase);
  if (stems.length === 0) return null;
  return stems.length === 1 ? { kind: 'word', stem: stems[0]!, field } : { kind: 'phrase', stems, field };
}

const mostInPhrase = 32;

const keyOf = (clause: Clause): string => JSON.stringify(clause);

/** Each once, in the order in which they came. */
function withoutRepeats(clauses: readonly Clause[]): Clause[] {
  return [...new Map(clauses.map((clause) => [keyOf(clause), clause])).values()];
}

/** Something that a document has to hold, or had better hold. `field` is the number of a text field, or null for any. */
export type Clause =
  | { readonly kind: 'word'; readonly stem: string; readonly field: number | null }
  | { readonly kind: 'phrase'; readonly stems: readonly string[]; readonly field: number | null }
  | { readonly kind: 'prefix'; readonly prefix: string; readonly field: number | null };

/** A facet, by its number, has to fit. */
export interface Filter {
  readonly facet: number;
  readonly wanted: string;
  /** It must not fit. */
  readonly negated: boolean;
}

/** The crate has to hold an entity of the type from which the path leads to the value. */
export interface EntityCondition {
  /** `*` for any. */
  readonly type: string;
  readonly path: readonly string[];
  readonly value: string;
  readonly exact: boolean;
  /** There must be none. */
  readonly negated: boolean;
}

/** What was asked for, understood. */
export interface Query {
  /** Documents with all of them come first. */
  readonly wanted: readonly Clause[];
  readonly required: readonly Clause[];
  readonly excluded: readonly Clause[];
  readonly filters: readonly Filter[];
  readonly entities: readonly EntityCondition[];
  /** What was asked for in words, without fields and filters: for the search by meaning. */
  readonly text: string;
  /** What was understood otherwise than it may have been meant. */
  readonly notes: readonly string[];
}

/** Each of them may have to follow references through all crates. */
const mostEntityConditions = 4;
/** Of words, phrases and filters together. */
const mostClauses = 32;
/** Of a path. */
export const mostSteps = 10;
const mostFilterCharacters = 10_000;

const yearFacet = facetNumber('year');

/** Begins with a capital, as types do, so that a sentence with a colon is not taken for one. */
const entityName = /^(?:\*|[A-Z][\w-]*)(?:\.[a-z@][\w:@/-]*)+$/;

/** `Person.affiliation.name` and what its value has to hold; null where it is no such thing. */
function entityCondition(name: string, value: string, negated: boolean): EntityCondition | null {
  if (!entityName.test(name) || value.trim() === '') return null;
  const [type, ...path] = name.split('.');
  if (path.length > mostSteps) return null;
  return { type: type!, path, value, exact: false, negated };
}

/** What `field_filters` ask for. Unlike a query these are written by name, so that a wrong one is an error. */
export interface FieldFilters {
  readonly required: Clause[];
  readonly filters: Filter[];
  readonly entities: EntityCondition[];
}

export function parseFilters(pairs: Iterable<readonly [string, string]>): FieldFilters {
  const parsed: FieldFilters = { required: [], filters: [], entities: [] };
  for (const [name, value] of pairs) {
    if (value.trim() === '')
      throw invalid(`The filter ${quoted(name)} is empty. Leave it out, or say what it is to hold.`);
    if (value.length > mostFilterCharacters)
      throw invalid(`The filter ${quoted(name)} is longer than ${mostFilterCharacters} characters.`);
    const facet = facetNumber(name);
    const entity = entityCondition(name, value, false);
    if (facet >= 0) parsed.filters.push(facetFilter(facet, value));
    else if (fieldNumber(name) >= 0) parsed.required.push(...textFilter(name, value));
    else if (entity !== null) parsed.entities.push(entity);
    else
      throw invalid(
        `There is no field ${quoted(name)} to filter by. There are ${allNames()}, and paths such as Person.name.`,
      );
  }
  if (parsed.entities.length > mostEntityConditions)
    throw invalid(`At most ${mostEntityConditions} filters may be paths such as Person.name.`);
  if (parsed.required.length > mostClauses)
    throw invalid(`The filters hold more than ${mostClauses} words. Leave some out.`);
  return parsed;
}

function facetFilter(facet: number, wanted: string): Filter {
  if (facet === yearFacet && !isYears(wanted))
    throw invalid(`${quoted(wanted)} is no year. Write 2021, or 2019..2023, 2019.. or ..2023.`);
  return { facet, wanted, negated: false };
}

/** A text in quotes is a phrase, any other its words. */
function textFilter(name: string, value: string): Clause[] {
  const field = fieldNumber(name);
  const inQuotes = /^\s*"(.*)"\s*$/s.exec(value);
  const phrase = inQuotes === null ? null : phraseClause(inQuotes[1]!, field);
  const clauses = phrase === null ? wordClauses(value, field) : [phrase];
  if (clauses.length === 0) throw invalid(`The filter ${quoted(name)} holds no word to look for.`);
  return clauses;
}

const allNames = (): string => [...textFields, ...facets].map(({ name }) => name).join(', ');
const quoted = (text: string): string => JSON.stringify(text.slice(0, 100));
const invalid = (message: string): WorkcrateError => new WorkcrateError('invalid_input', message);
