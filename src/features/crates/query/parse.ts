/**
 * Tokenizes and parses what users search for into clauses, filters and conditions. It looks nothing up: `index/`
 * evaluates what comes out of here.
 */
import { WorkcrateError } from '../../../platform/errors.ts';
import { isStopWord } from '../text/stop-words.ts';
import { foldCaseAndAccents, stemWord, tokenizeWords } from '../text/words.ts';
import { findFacetNumber, facets, isYearFilter } from './facets.ts';
import { findTextFieldNumber, textFields } from './text-fields.ts';

const maxQueryLength = 10_000;
/** For the search by meaning: users may paste a whole abstract. */
const maxSemanticQueryWords = 256;

/** A minus, a name with a colon, then a quoted text (the closing quote is optional) or a word. */
const queryTokenPattern = /(-)?(?:([\p{L}*][\p{L}\p{N}_.@:/-]*?):(?=[^\s:/]))?(?:"([^"]*)"?|([^\s"]+))/gu;

interface QueryToken {
  readonly negated: boolean;
  readonly name: string | null;
  readonly phrase: string | null;
  readonly text: string;
}

interface QueryDraft {
  readonly wanted: QueryClause[];
  readonly required: QueryClause[];
  readonly excluded: QueryClause[];
  readonly filters: FacetFilter[];
  readonly entities: EntityCondition[];
  readonly texts: string[];
  readonly notes: Set<string>;
}

const countConditions = ({ wanted, required, excluded, filters, entities }: QueryDraft): number =>
  [wanted, required, excluded, filters, entities].reduce((sum, { length }) => sum + length, 0);

/** Parses a query. No query is an error: what is not understood is searched for as words, and `notes` say so. */
export function parseSearchQuery(
  text: string,
  fieldFilters: Iterable<readonly [string, string]> = [],
): SearchQuery {
  const parsed: QueryDraft = {
    wanted: [],
    excluded: [],
    texts: [],
    notes: new Set(),
    ...parseFieldFilters(fieldFilters),
  };
  const given = countConditions(parsed);
  if (text.length > maxQueryLength)
    parsed.notes.add(`Only the first ${maxQueryLength} characters of the query were used.`);
  for (const each of readProse([...tokenizeQuery(text.slice(0, maxQueryLength))], parsed.notes))
    addQueryToken(parsed, each);
  const isUnsearchable = text.trim() !== '' && countConditions(parsed) === given;
  if (isUnsearchable) parsed.notes.add(unsearchableNote);
  return { ...limitQuery(parsed), isUnsearchable };
}

const unsearchableNote =
  'Nothing in the query can be searched for: it holds no word and no number. Leave it empty to list crates, newest first.';

/** Nobody types so many words with operators between them. */
const maxTypedWords = 10;

/** In running text, such as a pasted abstract, quotes and a minus are punctuation: it must not depend on them what is found. */
function readProse(tokens: readonly QueryToken[], notes: Set<string>): readonly QueryToken[] {
  const isOperator = ({ name, phrase, negated }: QueryToken): boolean =>
    name === null && (phrase !== null || negated);
  const words = tokens.filter(({ name, phrase, negated }) => name === null && phrase === null && !negated);
  if (words.length <= maxTypedWords || !tokens.some(isOperator)) return tokens;
  notes.add('The query is long, so quotes and minus signs in it were read as punctuation.');
  return tokens.map((token) => (isOperator(token) ? { ...token, phrase: null, negated: false } : token));
}

function* tokenizeQuery(text: string): Generator<QueryToken> {
  let isNot = false;
  for (const [, minus, name, phrase, rest] of text.matchAll(queryTokenPattern)) {
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

function addQueryToken(parsed: QueryDraft, { negated, name, phrase, text }: QueryToken): void {
  const facet = name === null ? -1 : findFacetNumber(name);
  const field = name === null ? -1 : findTextFieldNumber(name);
  const entity = name === null ? null : parseEntityCondition(name, text, negated);
  if (entity !== null) parsed.entities.push(entity);
  else if (facet >= 0 && text.trim() !== '' && (facet !== yearFacetNumber || isYearFilter(text)))
    parsed.filters.push({ facet, wanted: text, negated });
  else if (field >= 0) addFieldClauses(parsed, field, text, negated);
  else {
    if (name !== null && facet < 0)
      parsed.notes.add(`There is no field ${JSON.stringify(name)}: it was searched for as words.`);
    if (facet >= 0) parsed.notes.add(`${JSON.stringify(text)} is not a year: it was searched for as words.`);
    addAnyFieldClauses(
      parsed,
      name === null ? text : `${name} ${text}`,
      phrase !== null && name === null,
      negated,
    );
  }
}

/** A word with a field is required. */
function addFieldClauses(parsed: QueryDraft, field: number, text: string, negated: boolean): void {
  const isPrefix = text.endsWith('*');
  const phrase = isPrefix ? null : toPhraseClause(text, field);
  const clauses = phrase === null ? toWordClauses(text, field) : [phrase];
  (negated ? parsed.excluded : parsed.required).push(...clauses);
  if (!negated) parsed.texts.push(text);
}

function addAnyFieldClauses(parsed: QueryDraft, text: string, isPhrase: boolean, negated: boolean): void {
  const phrase = isPhrase || (negated && !text.endsWith('*')) ? toPhraseClause(text, null) : null;
  const clauses = phrase === null ? toWordClauses(text, null) : [phrase];
  if (negated) parsed.excluded.push(...clauses);
  else {
    (isPhrase ? parsed.required : parsed.wanted).push(...clauses);
    parsed.texts.push(text);
  }
}

function limitQuery({ texts, notes, ...parsed }: QueryDraft): Omit<SearchQuery, 'isUnsearchable'> {
  let left = maxQueryClauses;
  let isCut = false;
  const take = <T>(all: readonly T[]): T[] => {
    const some = all.slice(0, left);
    left -= some.length;
    isCut ||= some.length < all.length;
    return some;
  };
  const few = parsed.entities.slice(0, maxEntityConditions);
  if (few.length < parsed.entities.length)
    notes.add(`Only the first ${maxEntityConditions} conditions such as Person.name:Jane were used.`);
  const [filters, entities] = [take(parsed.filters), take(few)];
  const [required, excluded] = [take(dedupeClauses(parsed.required)), take(dedupeClauses(parsed.excluded))];
  if (isCut) notes.add(`Only the first ${maxQueryClauses} conditions were used.`);
  const all = countClauses(dropStopWords(parsed.wanted, required.length > 0));
  const wanted = all.slice(0, maxWantedClauses);
  if (wanted.length < all.length) notes.add(`Only the first ${maxWantedClauses} words were used.`);
  const text = truncateToWords(texts.join(' '));
  return { wanted, required, excluded, filters, entities, text, notes: [...notes] };
}

function truncateToWords(text: string): string {
  const [last] = tokenizeWords(text).drop(maxSemanticQueryWords - 1);
  return last === undefined ? text : text.slice(0, last.end);
}

/** A clause for each word of a text; a word that ends in `*` matches all that begin with it. */
function toWordClauses(text: string, field: number | null): QueryClause[] {
  const words = [...tokenizeWords(text)];
  return words.map((word, at) => {
    const prefix = foldCaseAndAccents(word.form);
    const isPrefix =
      text[word.end] === '*' &&
      prefix.length >= minPrefixLength &&
      (words[at + 1]?.start ?? word.end) >= word.end;
    return isPrefix ? { kind: 'prefix', prefix, field } : { kind: 'word', form: word.form, field };
  });
}

/** With fewer letters, half of all words would match. */
const minPrefixLength = 2;

/** All words of a text in this order; null if there are none. */
function toPhraseClause(text: string, field: number | null): QueryClause | null {
  const forms = Array.from(tokenizeWords(text), ({ form }) => form).slice(0, maxPhraseWords);
  if (forms.length === 0) return null;
  return forms.length === 1 ? { kind: 'word', form: forms[0]!, field } : { kind: 'phrase', forms, field };
}

const maxPhraseWords = 32;

/** Words of one stem are the same to the index. */
const toClauseKey = (clause: QueryClause): string =>
  JSON.stringify(
    clause.kind === 'word'
      ? [stemWord(clause.form), clause.field]
      : clause.kind === 'phrase'
        ? [clause.forms.map(stemWord), clause.field]
        : clause,
  );

/** Stop words say nothing about a crate, unless nothing else was asked for. */
function dropStopWords(clauses: readonly QueryClause[], hasOthers: boolean): readonly QueryClause[] {
  const telling = clauses.filter((clause) => clause.kind !== 'word' || !isStopWord(stemWord(clause.form)));
  return telling.length > 0 || hasOthers ? telling : clauses;
}

function countClauses(clauses: readonly QueryClause[]): WantedClause[] {
  const counted = new Map<string, WantedClause>();
  for (const clause of clauses) {
    const key = toClauseKey(clause);
    const { times, ...first } = counted.get(key) ?? { ...clause, times: 0 };
    counted.set(key, { ...first, times: times + 1 });
  }
  return [...counted.values()];
}

function dedupeClauses(clauses: readonly QueryClause[]): QueryClause[] {
  return [...new Map(clauses.map((clause) => [toClauseKey(clause), clause])).values()];
}

/** Something that a document must or should contain, in words without case and accents. `field` is the number of a text field, or null for any. */
export type QueryClause =
  | { readonly kind: 'word'; readonly form: string; readonly field: number | null }
  | { readonly kind: 'phrase'; readonly forms: readonly string[]; readonly field: number | null }
  | { readonly kind: 'prefix'; readonly prefix: string; readonly field: number | null };

/** A clause that documents are ranked by. What a query repeats counts as often as it says it. */
export type WantedClause = QueryClause & { readonly times: number };

/** A condition on a facet, by its number. */
export interface FacetFilter {
  readonly facet: number;
  readonly wanted: string;
  /** Whether it must not match. */
  readonly negated: boolean;
}

/** The crate must have an entity of this type from which the path leads to the value. */
export interface EntityCondition {
  /** `*` for any. */
  readonly type: string;
  readonly path: readonly string[];
  readonly value: string;
  readonly exact: boolean;
  /** Whether the crate must have no such entity. */
  readonly negated: boolean;
}

/** A parsed query. */
export interface SearchQuery {
  /** Documents match if they have any of them, and rank the higher the more they have. */
  readonly wanted: readonly WantedClause[];
  readonly required: readonly QueryClause[];
  readonly excluded: readonly QueryClause[];
  readonly filters: readonly FacetFilter[];
  readonly entities: readonly EntityCondition[];
  /** The words of the query without fields and filters, for the search by meaning. */
  readonly text: string;
  /** Whether there is a query of which nothing is left, such as `🙂` or `AND OR`: it finds nothing. */
  readonly isUnsearchable: boolean;
  /** What was understood differently from what the user may have meant. */
  readonly notes: readonly string[];
}

/** Each may have to follow references through all crates. */
const maxEntityConditions = 4;
/** Of filters, phrases and what must or must not be in a field together. */
const maxQueryClauses = 32;
/** Different words, for users who paste a whole abstract. */
const maxWantedClauses = 256;
/** Of a path. */
export const maxEntityPathSteps = 10;
const maxFilterLength = 10_000;

const yearFacetNumber = findFacetNumber('year');

/** Must begin with a capital, as types do, so that a sentence with a colon does not match. */
const entityPathPattern = /^(?:\*|[A-Z][\w-]*)(?:\.[a-z@][\w:@/-]*)+$/;

/** Parses `Person.affiliation.name` with its value; null if it is not such a path. */
function parseEntityCondition(name: string, value: string, negated: boolean): EntityCondition | null {
  if (!entityPathPattern.test(name) || value.trim() === '') return null;
  const [type, ...path] = name.split('.');
  if (path.length > maxEntityPathSteps) return null;
  return { type: type!, path, value, exact: false, negated };
}

/** Parsed `field_filters`. Unlike in a query, a wrong one is an error, since it names a field on purpose. */
export interface FieldFilters {
  readonly required: QueryClause[];
  readonly filters: FacetFilter[];
  readonly entities: EntityCondition[];
}

export function parseFieldFilters(pairs: Iterable<readonly [string, string]>): FieldFilters {
  const parsed: FieldFilters = { required: [], filters: [], entities: [] };
  for (const [name, value] of pairs) {
    if (value.trim() === '')
      throw invalidFilterError(
        `The filter ${quoteQueryText(name)} is empty. Leave it out, or give it a value.`,
      );
    if (value.length > maxFilterLength)
      throw invalidFilterError(
        `The filter ${quoteQueryText(name)} is longer than ${maxFilterLength} characters.`,
      );
    const facet = findFacetNumber(name);
    const entity = parseEntityCondition(name, value, false);
    if (facet >= 0) parsed.filters.push(toFacetFilter(facet, value));
    else if (findTextFieldNumber(name) >= 0) parsed.required.push(...toTextFilterClauses(name, value));
    else if (entity !== null) parsed.entities.push(entity);
    else
      throw invalidFilterError(
        `There is no field ${quoteQueryText(name)} to filter by. You can filter by ${listFilterNames()} and by paths such as Person.name.`,
      );
  }
  if (parsed.entities.length > maxEntityConditions)
    throw invalidFilterError(`At most ${maxEntityConditions} filters may be paths such as Person.name.`);
  if (parsed.required.length > maxQueryClauses)
    throw invalidFilterError(`The filters contain more than ${maxQueryClauses} words. Leave some out.`);
  return parsed;
}

function toFacetFilter(facet: number, wanted: string): FacetFilter {
  if (facet === yearFacetNumber && !isYearFilter(wanted))
    throw invalidFilterError(
      `${quoteQueryText(wanted)} is not a year. Write 2021, or 2019..2023, 2019.. or ..2023.`,
    );
  return { facet, wanted, negated: false };
}

/** A text in quotes is a phrase, any other its words. */
function toTextFilterClauses(name: string, value: string): QueryClause[] {
  const field = findTextFieldNumber(name);
  const inQuotes = /^\s*"(.*)"\s*$/s.exec(value);
  const phrase = inQuotes === null ? null : toPhraseClause(inQuotes[1]!, field);
  const clauses = phrase === null ? toWordClauses(value, field) : [phrase];
  if (clauses.length === 0)
    throw invalidFilterError(`The filter ${quoteQueryText(name)} contains no word to search for.`);
  return clauses;
}

const listFilterNames = (): string => [...textFields, ...facets].map(({ name }) => name).join(', ');
const quoteQueryText = (text: string): string => JSON.stringify(text.slice(0, 100));
const invalidFilterError = (message: string): WorkcrateError => new WorkcrateError('invalid_input', message);
