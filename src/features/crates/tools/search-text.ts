/**
 * What models read of a search: what tells the crates apart, what narrows the search down, and the argument for the next
 * page. Texts of crates are quoted, since anyone may have written them.
 */
import { quoteShort, toPlainJson } from '../../../platform/text/text.ts';
import type { EntityPage, FieldList, SearchPage, SearchResult } from '../index/reading.ts';
import { formatLocator } from './schema.ts';

const maxTitle = 160;
const maxAuthor = 60;
const maxAuthors = 4;
const maxAbout = 240;
const maxLocator = 120;

export function describeSearch(
  { mode, total, results, facets, next, notes }: SearchPage,
  offset: number,
): string {
  return [
    results.length === 0
      ? describeNothing(total, offset)
      : countLine(`${total} found`, total, results.length),
    ...results.flatMap((found) => describeHit(found, mode)),
    ...describeFacets(facets, total),
    ...describeNext(next, total),
    ...notes.map((note) => `Note: ${note}`),
  ].join('\n');
}

const countLine = (found: string, total: number | null, shown: number): string =>
  total === shown ? `${found}:` : `${found}, ${shown} shown:`;

const describeNothing = (total: number | null, offset: number): string =>
  offset > 0 && total !== 0
    ? `Nothing from offset ${offset} on${total === null ? '' : `: ${total} found in all`}.`
    : '0 found. Try other words, or list_searchable_fields for what there is.';

/** The next call, for whoever wants more; `total` is null where it is not known. */
export function describeNext(offset: number | null, total: number | null): string[] {
  if (offset === null) return [];
  return [`${total === null ? 'More' : `and ${total - offset} more`}: call again with offset ${offset}`];
}

function describeHit(found: SearchResult, mode: SearchPage['mode']): string[] {
  const { title, description, matched, snippet } = found;
  const about = quoteAbout(description);
  if (matched.length === 0)
    return describeFound(found, about, mode === 'keyword' ? [] : [' near in meaning, without the words']);
  const marked = markMatches(about, snippet);
  const isSeen = marked !== null || markMatches(quoteShort(title, maxTitle), snippet) !== null;
  const text = isSeen ? '' : `: ${quoteShort(snippet, snippet.length)}`;
  return describeFound(found, marked ?? about, [` matches in ${matched.join(', ')}${text}`]);
}

/** A text with the words that match between ** and **; null where the snippet is from somewhere else. */
function markMatches(text: string, snippet: string): string | null {
  const marked = toPlainJson(snippet.replaceAll(/^…|…$/g, '')).slice(1, -1);
  const plain = marked.replaceAll('**', '');
  return text.includes(plain) ? text.replace(plain, () => marked) : null;
}

function describeFound(
  { crateId, title, locator, authors, year }: EntityPage['results'][number],
  about: string,
  matches: readonly string[],
): string[] {
  const by = authors.length === 0 ? '' : `, by ${quoteSome(authors, maxAuthors, maxAuthor)}`;
  return [
    `${crateId} ${quoteShort(title, maxTitle)}${year === null ? '' : `, ${year}`}${by}`,
    ...(about === '""' ? [] : [` ${about}`]),
    ...matches,
    // Never cut: what is left of a folder of the server could no longer be redacted.
    ...(locator.length > maxLocator ? [] : [` ${formatLocator(locator)}`]),
  ];
}

const quoteAbout = (description: string): string => quoteShort(description, maxAbout);

/** The first of several texts, and how many more there are. */
export function quoteSome(texts: readonly string[], most: number, mostCharacters: number): string {
  const shown = texts.slice(0, most).map((text) => quoteShort(text, mostCharacters));
  const more = texts.length - shown.length;
  return `${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

type ValueCounts = FieldList['filters'][number]['values'];

const maxFacetValues = 4;
const maxFacetValue = 80;
/** All of so few are read faster than narrowed down. */
const minResultsForFacets = 4;

/** The values that several of the crates have, and others have not. */
function describeFacets(facets: SearchPage['facets'], total: number): string[] {
  if (total < minResultsForFacets) return [];
  const lines = Object.entries(facets).flatMap(([name, values]) => {
    const dividing = values.filter(
      ({ value, count }) => count > 1 && count < total && value.length <= maxFacetValue,
    );
    return dividing.length === 0 ? [] : [`${name} ${describeValues(dividing.slice(0, maxFacetValues))}`];
  });
  return lines.length === 0 ? [] : [`Narrow by field_filters: ${lines.join('; ')}`];
}

const describeValues = (values: ValueCounts): string =>
  values.map(({ value, count }) => `${toPlainJson(value)} ${count}`).join(', ');

export function describeEntitySearch({ total, results, next }: EntityPage, offset: number): string {
  const found = total === null ? 'More than can be counted found' : `${total} found`;
  return [
    results.length === 0 ? describeNothing(total, offset) : countLine(found, total, results.length),
    ...results.flatMap((found) => describeFound(found, quoteAbout(found.description), [])),
    ...describeNext(next, total),
  ].join('\n');
}

const maxListedValues = 8;
const maxListedTypes = 12;
const maxListedProperties = 10;
/** Of one filter or type that was asked for by name: all that the index tells. */
const maxNamedItems = 200;

/** What can be searched. `isOne`: only what was asked for by name, and all of that. */
export function describeFields({ fields, filters, entities }: FieldList, isOne: boolean): string {
  const most = isOne ? { values: maxNamedItems, properties: maxNamedItems } : undefined;
  const detailed = entities.slice(0, maxListedTypes);
  const others = entities.slice(maxListedTypes).map(({ type, crates }) => `${formatName(type)} ${crates}`);
  return [
    ...(fields.length > 0 ? ['Fields of query, as field:word:'] : []),
    ...fields.map(({ name, weight, description }) => ` ${name} (weight ${weight}): ${description}`),
    ...(filters.length > 0 ? ['Filters for field_filters, with values and how many crates have them:'] : []),
    ...filters.map((filter) => describeFilter(filter, most?.values ?? maxListedValues)),
    ...(entities.length > 0
      ? ['Types of entities for search_by_entity, with crates and properties (and @id):']
      : []),
    ...detailed.map((one) => describeType(one, most?.properties ?? maxListedProperties)),
    ...(others.length > 0 ? [` more types: ${others.join(', ')}`] : []),
    ...(isOne ? [] : ['For all of one filter or type: list_searchable_fields with its name']),
  ].join('\n');
}

function describeFilter({ name, description, values }: FieldList['filters'][number], most: number): string {
  const shown = values.filter(({ value }) => value.length <= maxFacetValue).slice(0, most);
  const more = countMore(values.length - shown.length);
  return ` ${name} (${description}): ${values.length === 0 ? 'none' : `${describeValues(shown)}${more}`}`;
}

function describeType({ type, crates, properties }: FieldList['entities'][number], most: number): string {
  const shown = properties.filter((name) => name !== '@id' && name.length <= maxFacetValue);
  const names = shown.slice(0, most).map(formatName).join(', ');
  return ` ${formatName(type)} ${crates}: ${names}${countMore(shown.length - most)}`;
}

const countMore = (more: number): string => (more > 0 ? ` and ${more} more` : '');

/** Names from crates, as they are unless they could be taken for something else. */
const formatName = (name: string): string => (/^[\w@:/.#-]{1,80}$/.test(name) ? name : quoteShort(name, 80));
