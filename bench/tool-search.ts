/**
 * How well and how fast tools are found: recall@5, the share whose first is right and the mean reciprocal rank of our
 * search and of plain BM25, on the table of requests in `tool-servers/`, and the time of a search among 3,000 tools.
 *
 *   node bench/tool-search.ts
 *
 * The search was tuned on two thirds of the table. The other third is only measured, here, and no request of it is shown.
 */
import { readFields, type SearchableTool } from '../src/features/tool-search/fields.ts';
import { chooseListedTools, loadRoutes, searchTools } from '../src/features/tool-search/tool-search.ts';
import { ToolIndex, usualRanking } from '../src/features/tool-search/tool-index.ts';
import { isFiller, splitWords } from '../src/features/tool-search/words.ts';
import type { ToolDefinition } from '../src/core/offer/toolbox.ts';
import { readDefinitions } from './tool-servers/read-definitions.ts';
import { readRequests, type ToolRequest } from './tool-servers/requests.ts';
import { reportFigure } from './figures.ts';

type Search = (query: string) => readonly number[];

/** All fields as one text, k1 1.2, b 0.75; the same words as ours, on both sides. */
function createPlainBm25(tools: readonly SearchableTool[]): Search {
  const texts = tools.map((tool) => Object.values(readFields(tool)).flat());
  const average = texts.reduce((sum, text) => sum + text.length, 0) / texts.length;
  const counts = texts.map((text) => Map.groupBy(text, (stem) => stem));
  const having = new Map<string, number>();
  for (const count of counts) for (const stem of count.keys()) having.set(stem, (having.get(stem) ?? 0) + 1);
  const scoreOf = (stem: string, at: number): number => {
    const times = counts[at]!.get(stem)?.length ?? 0;
    const rarity = Math.log(
      1 + (texts.length - (having.get(stem) ?? 0) + 0.5) / ((having.get(stem) ?? 0) + 0.5),
    );
    return (rarity * times * 2.2) / (times + 1.2 * (0.25 + (0.75 * texts[at]!.length) / average));
  };
  return (query) => {
    const stems = splitWords(query)
      .filter((word) => !isFiller(word))
      .map(({ stem }) => stem);
    const scored = tools.map((_, at) => ({
      at,
      score: stems.reduce((sum, stem) => sum + scoreOf(stem, at), 0),
    }));
    return scored
      .filter(({ score }) => score > 0)
      .toSorted((one, other) => other.score - one.score)
      .map(({ at }) => at);
  };
}

function createOurs(tools: readonly SearchableTool[], ranking = usualRanking): Search {
  const index = new ToolIndex(tools, ranking);
  return (query) => index.search(query, tools.length).map(({ at }) => at);
}

const { tools, failures } = await readDefinitions();
for (const { server, reason } of failures) console.log(`left out: ${server}: ${reason}`);
const nameOf = ({ server, nameThere }: ToolDefinition): string => `${server}/${nameThere}`;
const known = new Set(tools.map(nameOf));
const placeOf = (search: Search, { request, expected }: ToolRequest): number =>
  search(request).findIndex((at) => expected.includes(nameOf(tools[at]!)));

function measure(search: Search, requests: readonly ToolRequest[]) {
  const places = requests.map((request) => placeOf(search, request));
  const share = (fits: (place: number) => boolean): number => places.filter(fits).length / places.length;
  return {
    'recall@5': share((place) => place >= 0 && place < 5),
    'first is right': share((place) => place === 0),
    MRR: places.reduce((sum, place) => sum + (place < 0 ? 0 : 1 / (place + 1)), 0) / places.length,
  };
}

const round = (row: Readonly<Record<string, number>>) =>
  Object.fromEntries(Object.entries(row).map(([name, value]) => [name, value.toFixed(3)]));

const withoutSynonyms = { ...usualRanking, sameWord: 0, relatedWord: 0 };
const ways: Readonly<Record<string, Search>> = {
  'plain BM25': createPlainBm25(tools),
  'without synonyms': createOurs(tools, withoutSynonyms),
  'without servers': createOurs(tools, { ...usualRanking, server: 0 }),
  search_tools: createOurs(tools),
};

const isAnswerable = ({ expected }: ToolRequest): boolean => expected.some((name) => known.has(name));

/** Of the third that is kept aside only these two are told: what else it shows could be tuned on. */
const compared = ['plain BM25', 'search_tools'];

for (const part of ['tuned', 'held-out'] as const) {
  const requests = readRequests(part).filter(isAnswerable);
  const told = Object.entries(ways).filter(([way]) => part === 'tuned' || compared.includes(way));
  const measured = new Map(told.map(([way, search]) => [way, measure(search, requests)]));
  console.log(`${part}: ${requests.length} requests, ${tools.length} tools`);
  console.table([...measured].map(([way, row]) => ({ way, ...round(row) })));
  const [plain, ours] = compared.map((way) => measured.get(way)!['recall@5']) as [number, number];
  reportFigure(`tool-search: recall@5, ${part}`, [ours], 'more');
  console.log(`recall@5 over plain BM25: ${(ours - plain).toFixed(3)} (asked for: at least 0.05)\n`);
}

const routes = loadRoutes(null);
const offered = readRequests('held-out')
  .filter(isAnswerable)
  .map(({ request, expected }) =>
    chooseListedTools(tools, request, { routes }).some((tool) => expected.includes(nameOf(tool))),
  );
const share = offered.filter(Boolean).length / offered.length;
console.log(
  `held-out: an offer of at most 25 tools has the right one for ${share.toFixed(3)} of the requests`,
);

/** Real definitions under further names, as several accounts of one service would have them. */
function multiply(count: number): ToolDefinition[] {
  return Array.from({ length: count }, (_, at) => {
    const tool = tools[at % tools.length]!;
    const copy = Math.floor(at / tools.length);
    return {
      ...tool,
      server: `${tool.server}${copy}`,
      name: `${copy}_${tool.name}`,
      hash: `${copy}${tool.hash}`,
    };
  });
}

const many = multiply(3000);
const started = performance.now();
searchTools(many, 'warm up', 5);
const built = performance.now() - started;
const queries = readRequests('tuned').map(({ request }) => request);
const rounds = 7;

/** The fastest of some rounds: one that was interrupted by other work says nothing of the search. */
function timeQuery(query: string, search: (query: string) => unknown): number {
  const taken = Array.from({ length: rounds }, () => {
    const begun = performance.now();
    search(query);
    return performance.now() - begun;
  });
  return Math.min(...taken);
}

function describeTimes(search: (query: string) => unknown): string {
  const times = queries.map((query) => timeQuery(query, search)).toSorted((one, other) => one - other);
  const quantile = (part: number): string => times[Math.floor(times.length * part)]!.toFixed(2);
  return `p50 ${quantile(0.5)} ms, p95 ${quantile(0.95)} ms (asked for: p95 at most 5 ms)`;
}

console.log(`3,000 tools: indexed once in ${Math.round(built)} ms`);
console.log(`a search: ${describeTimes((query) => searchTools(many, query, 5))}`);
console.log(`an offer: ${describeTimes((query) => chooseListedTools(many, query, { routes }))}`);
