import { facets, extractFacetValues } from '../query/facets.ts';
import { parseSearchQuery, type QueryClause } from '../query/parse.ts';
import { textFields } from '../query/text-fields.ts';
import { stemWord, tokenizeWords } from '../text/words.ts';
import type { SummedUp } from './rows.ts';
import { computeSortKey, listFieldTexts } from './texts.ts';

interface Document {
  readonly crate: SummedUp;
  /** Stems, by field and text. */
  readonly fields: string[][][];
}

/** The search by words as it is meant, by looking at every crate: object and score of each, best first. */
export function searchNaively(crates: readonly SummedUp[], viewer: string, text: string): [string, number][] {
  const documents = crates
    .filter(({ place }) => place.owner === null || place.owner === viewer)
    .map((crate): Document => ({
      crate,
      fields: listFieldTexts(crate).map((texts) =>
        texts.map((one) => Array.from(tokenizeWords(one), ({ stem }) => stem)),
      ),
    }));
  const { wanted, required, excluded, filters } = parseSearchQuery(text);
  const has = (clause: QueryClause, document: Document): boolean => sum(countsOf(clause, document)) > 0;
  const howMany = (clause: QueryClause): number => documents.filter((each) => has(clause, each)).length;
  const worth = (clause: QueryClause, document: Document): number => {
    const frequency = sum(
      countsOf(clause, document).map((count, field) => textFields[field]!.weight * count),
    );
    const among = documents.filter(({ crate }) => crate.place.owner === document.crate.place.owner);
    const relative = lengthOf(document) / (sum(among.map(lengthOf)) / among.length);
    const rarity = Math.log(1 + (documents.length - howMany(clause) + 0.5) / (howMany(clause) + 0.5));
    return (rarity * frequency * 2.2) / (frequency + 1.2 * (0.25 + 0.75 * relative));
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
        ...wanted
          .filter((clause) => has(clause, document))
          .map((clause) => clause.times * worth(clause, document)),
        ...required.map((clause) => worth(clause, document)),
      ]),
    }))
    .sort((one, other) => other.score - one.score || compare(one.document, other.document))
    .map(({ document, score }) => [document.crate.place.object, score]);
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);
const compare = (one: Document, other: Document): number =>
  computeSortKey(one.crate) - computeSortKey(other.crate);

/** What stands between two texts counts as a word. */
const lengthOf = ({ fields }: Document): number =>
  sum(fields.map((texts) => texts.flat().length + Math.max(0, texts.length - 1)));

function fits({ crate }: Document, facet: number, wanted: string): boolean {
  const { values, also } = extractFacetValues(crate)[facet]!;
  return [...values, ...also].some((value) => facets[facet]!.fits(value, wanted));
}

const countsOf = (clause: QueryClause, { fields }: Document): number[] =>
  fields.map((texts, field) =>
    clause.field !== null && clause.field !== field ? 0 : sum(texts.map((stems) => countIn(clause, stems))),
  );

function countIn(clause: QueryClause, stems: readonly string[]): number {
  if (clause.kind === 'prefix') return stems.filter((stem) => stem.startsWith(clause.prefix)).length;
  const wanted = (clause.kind === 'word' ? [clause.form] : clause.forms).map(stemWord);
  return stems.filter((_, at) => wanted.every((stem, on) => stems[at + on] === stem)).length;
}
