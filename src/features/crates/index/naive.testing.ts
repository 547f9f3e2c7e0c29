import { facets, extractFacetValues } from '../query/facets.ts';
import { parseSearchQuery, type QueryClause } from '../query/parse.ts';
import { encodeLengthByte, lengthsByByte, bm25Saturation, textFields } from '../query/text-fields.ts';
import { tokenizeWords, type WordToken } from '../text/words.ts';
import { sortKeyOf } from './batch.ts';
import { countOfLevel, levelOf } from './postings.ts';
import { textsOf } from './batch.ts';
import type { SummedUp } from './writing.ts';

interface Document {
  readonly crate: SummedUp;
  readonly fields: WordToken[][][];
}

const rounded = (count: number): number => (count === 0 ? 0 : countOfLevel[levelOf(count)]!);

/** The search by words as it is meant, by looking at every crate: title and score of each, best first. */
export function searchNaively(crates: readonly SummedUp[], viewer: string, text: string): [string, number][] {
  const documents = crates
    .filter(({ place }) => place.owner === null || place.owner === viewer)
    .map((crate): Document => ({
      crate,
      fields: textsOf(crate).map((texts) => texts.map((one) => [...tokenizeWords(one)])),
    }));
  const { wanted, required, excluded, filters } = parseSearchQuery(text);
  const average = textFields.map(
    (_, field) => sum(documents.map((each) => lengthIn(each, field))) / documents.length,
  );
  const has = (clause: QueryClause, document: Document): boolean =>
    countsOf(clause, document).some((count) => count > 0);
  const howMany = (clause: QueryClause): number => documents.filter((each) => has(clause, each)).length;
  const worth = (clause: QueryClause, document: Document): number => {
    const frequency = sum(
      countsOf(clause, document).map((count, field) => {
        const { weight, lengthMatters: share } = textFields[field]!;
        const relative = average[field]! > 0 ? (share * lengthIn(document, field)) / average[field]! : 0;
        return (weight / (1 - share + relative)) * count;
      }),
    );
    const idf = Math.log(1 + (documents.length - howMany(clause) + 0.5) / (howMany(clause) + 0.5));
    return (idf * frequency * (bm25Saturation + 1)) / (frequency + bm25Saturation);
  };
  const fitting = documents.filter(
    (document) =>
      required.every((clause) => has(clause, document)) &&
      !excluded.some((clause) => has(clause, document)) &&
      filters.every(({ facet, wanted: value, negated }) => fits(document, facet, value) !== negated),
  );
  const found =
    wanted.length === 0
      ? fitting
      : fitting.filter((document) => wanted.some((clause) => has(clause, document)));
  return found
    .map((document) => ({
      document,
      score: sum([
        ...wanted.map((clause) => clause.times * worth(clause, document)),
        ...required.map((clause) => worth(clause, document)),
      ]),
    }))
    .sort((one, other) => other.score - one.score || compare(one.document, other.document))
    .map(({ document, score }) => [document.crate.place.object, score]);
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);
const compare = (one: Document, other: Document): number =>
  Buffer.compare(sortKeyOf(one.crate), sortKeyOf(other.crate));

function lengthIn({ fields }: Document, field: number): number {
  return lengthsByByte[encodeLengthByte(fields[field]!.flat().length)]!;
}

function fits({ crate }: Document, facet: number, wanted: string): boolean {
  const { values, also } = extractFacetValues(crate)[facet]!;
  return [...values, ...also].some((value) => facets[facet]!.fits(value, wanted));
}

function countsOf(clause: QueryClause, { fields }: Document): number[] {
  return fields.map((texts, field) =>
    clause.field !== null && clause.field !== field ? 0 : rounded(countIn(clause, texts)),
  );
}

function countIn(clause: QueryClause, texts: readonly WordToken[][]): number {
  const words = texts.flat();
  if (clause.kind === 'word') return words.filter(({ stem }) => stem === clause.stem).length;
  if (clause.kind === 'phrase')
    return sum(
      texts.map(
        (text) =>
          text.filter((_, at) => clause.stems.every((stem, on) => text[at + on]?.stem === stem)).length,
      ),
    );
  const found = [
    ...words.map(({ stem }) => `w${stem}`),
    ...words.filter(({ stem, form }) => form !== stem).map(({ form }) => `u${form}`),
  ].filter((word) => word.slice(1).startsWith(clause.prefix));
  return sum([...new Set(found)].map((word) => rounded(found.filter((each) => each === word).length)));
}
