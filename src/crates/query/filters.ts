import { WorkcrateError } from '../../errors.ts';
import { facetNumber, facets, isYears } from './facets.ts';
import { fieldNumber, textFields } from './text-fields.ts';
import { phraseClause, wordClauses } from './clauses.ts';
import type { Clause, EntityCondition, Filter } from './query.ts';

/** Each of them may have to follow references through all crates. */
export const mostEntityConditions = 4;
/** Of words, phrases and filters together. */
export const mostClauses = 32;
/** Of a path. */
export const mostSteps = 10;
const mostFilterCharacters = 10_000;

export const yearFacet = facetNumber('year');

/** Begins with a capital, as types do, so that a sentence with a colon is not taken for one. */
const entityName = /^(?:\*|[A-Z][\w-]*)(?:\.[a-z@][\w:@/-]*)+$/;

/** `Person.affiliation.name` and what its value has to hold; null where it is no such thing. */
export function entityCondition(name: string, value: string, negated: boolean): EntityCondition | null {
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
