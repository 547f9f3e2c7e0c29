import { existsSync, globSync, readFileSync } from 'node:fs';
import { findRoomCycles, getLayer, listRooms, readProduct } from '../e2e/project/check-layers.testing.ts';
import { listProductFiles } from './imports.ts';
import { measureNames } from './source-names.ts';
import { measureWalks } from './walks.ts';

/**
 * Prints how easy the source tree is to find one's way in, each number beside the limit that it should keep:
 *
 *   npm run -s numbers              everything; starts a server for the walks
 *   npm run -s numbers -- --still   without the walks
 *   npm run -s numbers -- --json    for a comparison of before and after
 *   npm run -s numbers -- --names   with the names that are counted
 */
interface Figure {
  readonly name: string;
  readonly value: number;
  /** What it should be at most, or at least; null where it only tells. */
  readonly atMost?: number;
  readonly atLeast?: number;
  /** What was counted, where that helps. */
  readonly items?: readonly string[];
}

const countLines = (file: string): number => readFileSync(file, 'utf8').split('\n').length - 1;
const countWords = (file: string): number => readFileSync(file, 'utf8').split(/\s+/).filter(Boolean).length;

function measureFiles(files: readonly string[]): Figure[] {
  const lines = files.map(countLines).toSorted((a, b) => a - b);
  const at = (share: number): number => lines[Math.floor((lines.length - 1) * share)] ?? 0;
  const long = files.filter((file) => countLines(file) > 300);
  return [
    { name: 'source files', value: files.length },
    { name: 'lines of a file, median', value: at(0.5) },
    { name: 'lines of a file, 90 % have at most', value: at(0.9) },
    { name: 'lines of a file, most', value: at(1), atMost: 600 },
    { name: 'files over 300 lines', value: long.length, items: long },
  ];
}

function measureRooms(): Figure[] {
  const product = readProduct();
  const imports = [...product].flatMap(([from, { files }]) => files.map((to) => ({ from, to })));
  const rooms = listRooms(product.keys());
  const inCycles = findRoomCycles(imports).flat();
  const unknown = rooms.filter((room) => !isInTable(room));
  const silent = rooms.filter((room) => !existsSync(`src/${room}/README.md`));
  return [
    { name: 'rooms', value: rooms.length },
    { name: 'rooms in cycles', value: inCycles.length, atMost: 0, items: inCycles },
    { name: 'rooms without enforced doors', value: unknown.length, atMost: 0, items: unknown },
    { name: 'rooms without a README', value: silent.length, atMost: 0, items: silent },
    { name: 'lines of .oxlintrc.json', value: countLines('.oxlintrc.json'), atMost: 120 },
  ];
}

function isInTable(room: string): boolean {
  const slash = room.lastIndexOf('/');
  return getLayer(room.slice(0, Math.max(0, slash)), room.slice(slash + 1)) !== -1;
}

function describeNames(files: readonly string[]): Figure[] {
  const { ambiguous, ambiguousExports, participles, endingInOf } = measureNames(files);
  const figure = (name: string, items: string[], atMost: number): Figure => ({
    name,
    value: items.length,
    atMost,
    items: items.toSorted(),
  });
  return [
    figure('top-level names declared in several files', ambiguous, 250),
    figure('exported names declared in several files', ambiguousExports, 30),
    figure('functions named by a bare participle', participles, 20),
    figure('functions named …Of', endingInOf, 60),
  ];
}

/** Words that somebody new to the tree would search for, since the things themselves are there. */
const fieldWords: Readonly<Record<string, RegExp>> = {
  mutex: /mutex/i,
  semaphore: /semaphore/i,
  'rate limit': /rate[- ]?limit/i,
  backpressure: /back-?pressure/i,
  'inverted index': /inverted[- ]?index/i,
  tokenize: /tokeni[sz]/i,
  sanitize: /saniti[sz]/i,
  'allow-list': /allow-?list/i,
  graceful: /graceful/i,
  shutdown: /shutdown/i,
  readiness: /readiness/i,
  'fair queue': /fair[- ]?queue/i,
};

function countFieldWords(): Figure[] {
  const texts = globSync('src/**/*.ts').map((file) => `${file}\n${readFileSync(file, 'utf8')}`);
  return Object.entries(fieldWords).map(([word, pattern]) => ({
    name: `files with the word ${word}`,
    value: texts.filter((text) => pattern.test(text)).length,
    atLeast: 1,
  }));
}

/**
 * Before files were merged along these walks they passed through 101, 51, 80, 71 and 116 files, counted by this script.
 * The limits are what the merge was planned to leave of them.
 */
const mostFiles: Readonly<Record<string, number>> = {
  execute_code: 70,
  download: 33,
  search_index: 59,
  read_crate_file: 52,
  pdf: 80,
};

async function countWalks(): Promise<Figure[]> {
  return (await measureWalks()).map(({ name, files }) => ({
    name: `files on the walk of ${name}`,
    value: files.length,
    atMost: mostFiles[name]!,
    items: files,
  }));
}

function measureDocs(): Figure[] {
  return [
    { name: 'words of README.md', value: countWords('README.md'), atMost: 700 },
    { name: 'words of ARCHITECTURE.md', value: countWords('ARCHITECTURE.md'), atMost: 1500 },
  ];
}

const isKept = ({ value, atMost = Infinity, atLeast = -Infinity }: Figure): boolean =>
  value <= atMost && value >= atLeast;

function formatFigure(figure: Figure): string {
  const { name, value, atMost, atLeast, items = [] } = figure;
  const limit = atMost === undefined ? (atLeast === undefined ? '' : `≥ ${atLeast}`) : `≤ ${atMost}`;
  const mark = limit === '' ? ' ' : isKept(figure) ? '✔' : '✘';
  const line = `${mark} ${name.padEnd(46)}${String(value).padStart(6)}  ${limit}`.trimEnd();
  return withNames && items.length > 0 ? `${line}\n    ${items.join(' ')}` : line;
}

const flags = new Set(process.argv.slice(2));
const withNames = flags.has('--names');
const files = listProductFiles();
const figures = [
  ...measureFiles(files),
  ...measureRooms(),
  ...describeNames(files),
  ...countFieldWords(),
  ...measureDocs(),
  ...(flags.has('--still') ? [] : await countWalks()),
];
process.stdout.write(
  flags.has('--json')
    ? `${JSON.stringify(Object.fromEntries(figures.map(({ name, value }) => [name, value])), null, 2)}\n`
    : `${figures.map(formatFigure).join('\n')}\n`,
);
