/**
 * An inverted index of tools, in memory: BM25F over the fields of each tool, words that mean the same, and how much a
 * whole server is about what was asked for. It does not know who may use a tool: it is made of those that a caller may.
 */
import { editDistance } from '../../platform/text/edit-distance.ts';
import {
  fieldNames,
  readFields,
  type ToolFieldName,
  type SearchableTool,
  type ToolFields,
} from './fields.ts';
import {
  isFiller,
  isQuestionText,
  joinNeighbours,
  listKinds,
  readingStems,
  relatedWords,
  splitWords,
} from './words.ts';

interface FieldTerms {
  readonly weight: number;
  /** How much a long field is held back: 0 not at all, 1 in full (b of BM25). */
  readonly lengthShare: number;
  /** More repetitions of a word in the field say no more. */
  readonly mostRepetitions: number;
}

/** How fields and words count. */
export interface Ranking {
  readonly fields: Readonly<Record<ToolFieldName, FieldTerms>>;
  /** How soon one more mention of a word adds little (k1 of BM25). */
  readonly saturation: number;
  /** How much a word counts that is another spelling of the one that was asked for. */
  readonly sameWord: number;
  /** How much a word counts that often means the same. */
  readonly relatedWord: number;
  /** How much a word counts that has the same beginning, or is one letter off, where the one asked for is unknown. */
  readonly similarWord: number;
  /** How much the kind of something counts that is only shown: a path is a file. */
  readonly kind: number;
  /** How much it counts that a question is answered by tools that read. */
  readonly reading: number;
  /** How much it counts that the other tools of its server are about what was asked for. */
  readonly server: number;
}

/** As chosen by cross-validation (`bench/tool-search.ts`, decision 058). */
export const usualRanking: Ranking = {
  fields: {
    name: { weight: 3, lengthShare: 0.5, mostRepetitions: 1 },
    title: { weight: 1, lengthShare: 0.5, mostRepetitions: 1 },
    description: { weight: 1, lengthShare: 0.6, mostRepetitions: 3 },
    arguments: { weight: 0.5, lengthShare: 0.6, mostRepetitions: 1 },
    argumentTexts: { weight: 0.3, lengthShare: 0.6, mostRepetitions: 2 },
    server: { weight: 1.5, lengthShare: 0, mostRepetitions: 1 },
  },
  saturation: 1.2,
  sameWord: 0.9,
  relatedWord: 0.65,
  similarWord: 0.6,
  kind: 0.8,
  reading: 0.4,
  server: 0.55,
};

/** Where a stem is: which tools have it, and how much it counts there, between 0 and 1, before its rarity. */
interface ToolPostings {
  readonly rarity: number;
  readonly tools: Int32Array;
  readonly counts: Float32Array;
  /** The same for servers, each as one text. */
  readonly serverRarity: number;
  readonly servers: Int32Array;
  readonly serverCounts: Float32Array;
}

/** A stem by which something may be named, and how much it counts. */
interface Alternative {
  readonly postings: ToolPostings;
  readonly weight: number;
}

export interface RankedTool {
  /** Its place in the list of tools. */
  readonly at: number;
  readonly score: number;
}

const maxToolQueryLength = 2000;
const maxQueryWords = 64;

export class ToolIndex {
  readonly #ranking: Ranking;
  readonly #names: readonly string[];
  readonly #serverOf: Int32Array;
  readonly #serverCount: number;
  readonly #postings: ReadonlyMap<string, ToolPostings>;
  /** All stems in order, to find those with the same beginning. */
  readonly #stems: readonly string[];

  constructor(tools: readonly SearchableTool[], ranking: Ranking = usualRanking) {
    this.#ranking = ranking;
    this.#names = tools.map(({ name }) => name);
    const servers = new Map<string, number>();
    this.#serverOf = Int32Array.from(tools, ({ server }) => numberServer(servers, server ?? ''));
    this.#serverCount = servers.size;
    this.#postings = indexFields(tools.map(readFields), this.#serverOf, servers.size, ranking);
    this.#stems = [...this.#postings.keys()].toSorted();
  }

  get size(): number {
    return this.#names.length;
  }

  /** The tools that fit best, best first; of equals the one whose name comes first. */
  search(query: string, most: number): RankedTool[] {
    const scores = new Float64Array(this.#names.length);
    const serverScores = new Float64Array(this.#serverCount);
    for (const alternatives of this.#readQuery(query)) {
      addBest(scores, alternatives, ({ tools, counts, rarity }) => [tools, counts, rarity]);
      addBest(serverScores, alternatives, ({ servers, serverCounts, serverRarity }) => [
        servers,
        serverCounts,
        serverRarity,
      ]);
    }
    const found: RankedTool[] = [];
    for (let at = 0; at < scores.length; at++)
      if (scores[at]! > 0)
        found.push({
          at,
          score: scores[at]! + this.#ranking.server * serverScores[this.#serverOf[at]!]!,
        });
    return found.toSorted((one, other) => this.#compare(one, other)).slice(0, most);
  }

  #compare(one: RankedTool, other: RankedTool): number {
    if (one.score !== other.score) return other.score - one.score;
    return this.#names[one.at]! < this.#names[other.at]! ? -1 : 1;
  }

  /** For each word of a query the stems by which it may be meant; a word that is repeated counts once. */
  #readQuery(query: string): Alternative[][] {
    const text = query.slice(0, maxToolQueryLength);
    const words = splitWords(text).slice(0, maxQueryWords);
    const telling = words.filter((word) => !isFiller(word));
    const stems = new Set((telling.length > 0 ? telling : words).map(({ stem }) => stem));
    const joined = joinNeighbours(words).filter((stem) => this.#postings.has(stem));
    const kinds = listKinds(text).filter((stem) => !stems.has(stem));
    const asked = [...stems.union(new Set(joined))].map((stem) => this.#listAlternatives(stem));
    const implied = kinds.map((stem) => this.#listExactly([stem], this.#ranking.kind));
    const reading = isQuestionText(text) ? [this.#listExactly(readingStems, this.#ranking.reading)] : [];
    return [...asked, ...implied, ...reading].filter((alternatives) => alternatives.length > 0);
  }

  #listAlternatives(stem: string): Alternative[] {
    const { sameWord, relatedWord, similarWord } = this.#ranking;
    const exact = this.#postings.get(stem);
    const found: Alternative[] = exact === undefined ? [] : [{ postings: exact, weight: 1 }];
    for (const { stem: other, isSame } of relatedWords.get(stem) ?? []) {
      const postings = this.#postings.get(other);
      if (postings === undefined) continue;
      // A word that is rarer than the one asked for tells no more than that one.
      const most = exact === undefined ? 1 : Math.min(1, exact.rarity / postings.rarity);
      found.push({ postings, weight: (isSame ? sameWord : relatedWord) * most });
    }
    if (found.length > 0) return found;
    return this.#listSimilar(stem).map((other) => ({
      postings: this.#postings.get(other)!,
      weight: similarWord,
    }));
  }

  #listExactly(stems: readonly string[], weight: number): Alternative[] {
    return stems.flatMap((stem) => {
      const postings = this.#postings.get(stem);
      return postings === undefined ? [] : [{ postings, weight }];
    });
  }

  /** Stems with the same beginning, or one letter off, for a stem that is nowhere. */
  #listSimilar(stem: string): string[] {
    if (stem.length < 5) return [];
    const similar = this.#listWithStart(stem.slice(0, 2)).filter(
      (other) => sharesStart(stem, other) || editDistance(stem, other, 1) !== null,
    );
    return similar.slice(0, 5);
  }

  #listWithStart(start: string): readonly string[] {
    let [low, high] = [0, this.#stems.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#stems[middle]! < start) low = middle + 1;
      else high = middle;
    }
    let end = low;
    while (end < this.#stems.length && this.#stems[end]!.startsWith(start)) end++;
    return this.#stems.slice(low, end);
  }
}

function numberServer(servers: Map<string, number>, name: string): number {
  const known = servers.get(name) ?? servers.size;
  servers.set(name, known);
  return known;
}

/** At least five letters, and most of the longer one. */
function sharesStart(one: string, other: string): boolean {
  const longest = Math.max(one.length, other.length);
  const least = Math.max(5, Math.ceil(longest * 0.7));
  return one.slice(0, least) === other.slice(0, least);
}

/** Adds to each score what the best of the alternatives gives: two words for one thing count once. */
function addBest(
  scores: Float64Array,
  alternatives: readonly Alternative[],
  read: (postings: ToolPostings) => readonly [Int32Array, Float32Array, number],
): void {
  const best = new Float64Array(scores.length);
  for (const { postings, weight } of alternatives) {
    const [places, counts, rarity] = read(postings);
    const most = weight * rarity;
    for (let at = 0; at < places.length; at++) {
      const score = most * counts[at]!;
      const place = places[at]!;
      if (score > best[place]!) best[place] = score;
    }
  }
  for (let place = 0; place < best.length; place++) scores[place]! += best[place]!;
}

function indexFields(
  tools: readonly ToolFields[],
  serverOf: Int32Array,
  serverCount: number,
  ranking: Ranking,
): ReadonlyMap<string, ToolPostings> {
  const averages = Object.fromEntries(
    fieldNames.map((field) => [field, averageLength(tools.map((fields) => fields[field].length))]),
  );
  const counted = new Map<string, Map<number, number>>();
  for (const [at, fields] of tools.entries())
    for (const field of fieldNames)
      countField(counted, at, fields[field], ranking.fields[field], averages[field]!);
  const sizes = new Float64Array(serverCount);
  for (const server of serverOf) sizes[server]!++;
  return new Map(
    [...counted].map(([stem, counts]) => [stem, toPostings(counts, tools.length, serverOf, sizes, ranking)]),
  );
}

const averageLength = (lengths: readonly number[]): number =>
  Math.max(1, lengths.reduce((sum, length) => sum + length, 0) / Math.max(1, lengths.length));

function countField(
  counted: Map<string, Map<number, number>>,
  at: number,
  stems: readonly string[],
  { weight, lengthShare, mostRepetitions }: Ranking['fields']['name'],
  average: number,
): void {
  const repetitions = new Map<string, number>();
  for (const stem of stems) repetitions.set(stem, (repetitions.get(stem) ?? 0) + 1);
  const norm = 1 - lengthShare + (lengthShare * stems.length) / average;
  for (const [stem, times] of repetitions) {
    let counts = counted.get(stem);
    if (counts === undefined) counted.set(stem, (counts = new Map<number, number>()));
    counts.set(at, (counts.get(at) ?? 0) + (weight * Math.min(times, mostRepetitions)) / norm);
  }
}

const computeRarity = (having: number, all: number): number =>
  Math.log(1 + (all - having + 0.5) / (having + 0.5));

function toPostings(
  counts: ReadonlyMap<number, number>,
  toolCount: number,
  serverOf: Int32Array,
  sizes: Float64Array,
  { saturation }: Ranking,
): ToolPostings {
  const shares = new Map<number, number>();
  for (const at of counts.keys()) shares.set(serverOf[at]!, (shares.get(serverOf[at]!) ?? 0) + 1);
  const serverCounts = [...shares].map(([server, having]) => having / sizes[server]!);
  return {
    rarity: computeRarity(counts.size, toolCount),
    tools: Int32Array.from(counts.keys()),
    counts: Float32Array.from(counts.values(), (count) => count / (count + saturation)),
    serverRarity: computeRarity(shares.size, sizes.length),
    servers: Int32Array.from(shares.keys()),
    serverCounts: Float32Array.from(serverCounts, (share) => share / (share + 0.3)),
  };
}
