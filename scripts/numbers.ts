import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findRoomCycles, listRooms, readProduct } from '../test/project/check-layers.testing.ts';
import { listProductFiles } from './imports.ts';
import { measureNames } from './source-names.ts';
import { countLines, measureParts } from './tree.ts';
import { measureWalks } from './walks.ts';

/**
 * Measures how easy the source tree is to find one's way in, and compares each figure with its budget in `budgets.json`:
 *
 *   npm run -s numbers              everything; starts a server for the walks
 *   npm run -s numbers -- --still   without the walks
 *   npm run -s numbers -- --lower   writes figures that are better than their budgets as the new budgets
 *   npm run -s numbers -- --json    for a comparison of before and after
 *   npm run -s numbers -- --names   with the names that are counted
 *
 * A figure without a budget only tells. Raising a budget needs a line in a decision that says why.
 */
export interface Figure {
  readonly name: string;
  readonly value: number;
  /** Whether more is better. */
  readonly isFloor?: boolean;
  /** What was counted, where that helps. */
  readonly items?: readonly string[];
}

export type Budgets = Readonly<Record<string, number>>;

const budgetsFile = join(import.meta.dirname, '../budgets.json');

export const readBudgets = (): Budgets => JSON.parse(readFileSync(budgetsFile, 'utf8')) as Budgets;

/** A feature that has no budget of its own has that of all features. */
export function findBudget(name: string, budgets: Budgets): number | undefined {
  const own = budgets[name];
  if (own !== undefined || !/ (?:features|packages)\//.test(name)) return own;
  return budgets[name.includes('mean') ? meanOfFeature : linesOfFeature];
}

export const linesOfFeature = 'lines of a feature, where none is named';
export const meanOfFeature = 'lines of a file of a feature, mean, where none is named';

export const isKept = ({ name, value, isFloor }: Figure, budgets: Budgets): boolean => {
  const budget = findBudget(name, budgets);
  return budget === undefined || (isFloor === true ? value >= budget : value <= budget);
};

const countWords = (file: string): number => readFileSync(file, 'utf8').split(/\s+/).filter(Boolean).length;

function measureFiles(files: readonly string[]): Figure[] {
  const lines = files.map(countLines).toSorted((a, b) => a - b);
  const at = (share: number): number => lines[Math.floor((lines.length - 1) * share)] ?? 0;
  return [
    { name: 'product files', value: files.length },
    { name: 'product lines', value: lines.reduce((sum, count) => sum + count, 0) },
    { name: 'lines of a file, median', value: at(0.5) },
    { name: 'lines of a file, 90 % have at most', value: at(0.9) },
    { name: 'lines of a file, most', value: at(1) },
  ];
}

/** What nobody has to hold in one head, part by part. */
function measureTree(files: readonly string[]): Figure[] {
  const parts = [...measureParts(files)].toSorted(([a], [b]) => (a < b ? -1 : 1));
  const isPluggedIn = (part: string): boolean => /^(?:features|packages)\//.test(part);
  const house = parts.filter(([part]) => !isPluggedIn(part));
  return [
    { name: 'lines of the house without features', value: sumLines(house.map(([, size]) => size)) },
    ...parts.flatMap(([part, { lines, files: count }]) =>
      isPluggedIn(part)
        ? [
            { name: `lines of ${part}`, value: lines },
            {
              name: `lines of a file of ${part}, mean`,
              value: Math.round(lines / count),
              isFloor: true,
            },
          ]
        : [{ name: `lines of ${part}`, value: lines }],
    ),
  ];
}

const sumLines = (sizes: readonly { readonly lines: number }[]): number =>
  sizes.reduce((sum, { lines }) => sum + lines, 0);

function measureRooms(files: readonly string[]): Figure[] {
  const product = readProduct();
  const imports = [...product].flatMap(([from, { files: to }]) => to.map((file) => ({ from, to: file })));
  const rooms = listRooms(product.keys());
  const inCycles = findRoomCycles(imports).flat();
  const silent = rooms.filter((room) => globSync(`src/${room}/README.md`).length === 0);
  const naming = files.filter((file) => !isOfGuard(file) && /guard/i.test(readFileSync(file, 'utf8')));
  return [
    { name: 'rooms', value: rooms.length },
    { name: 'rooms in cycles', value: inCycles.length, items: inCycles },
    { name: 'rooms without a README', value: silent.length, items: silent },
    { name: 'files outside its room that name the guard', value: naming.length, items: naming },
    { name: 'lines of .oxlintrc.json', value: countLines('.oxlintrc.json') },
  ];
}

const isOfGuard = (file: string): boolean => /\/guard\/|\/guard[\w-]*\.ts$/.test(file);

function describeNames(files: readonly string[]): Figure[] {
  const { ambiguous, ambiguousExports, participles, endingInOf } = measureNames(files);
  const figure = (name: string, items: string[]): Figure => ({
    name,
    value: items.length,
    items: items.toSorted(),
  });
  return [
    figure('top-level names declared in several files', ambiguous),
    figure('exported names declared in several files', ambiguousExports),
    figure('functions named by a bare participle', participles),
    figure('functions named …Of', endingInOf),
  ];
}

/** Words that somebody new to the tree would search for, since the things themselves are there. */
const fieldWords: Readonly<Record<string, RegExp>> = {
  mutex: /mutex/i,
  semaphore: /semaphore/i,
  'rate limit': /rate[- ]?limit/i,
  backpressure: /back-?pressure/i,
  'full-text search': /full[- ]?text/i,
  tokenize: /tokeni[sz]/i,
  sanitize: /saniti[sz]/i,
  'allow-list': /allow-?list/i,
  graceful: /graceful/i,
  shutdown: /shutdown/i,
  readiness: /readiness/i,
  'fair queue': /fair[- ]?queue/i,
};

function countFieldWords(files: readonly string[]): Figure[] {
  const texts = files.map((file) => `${file}\n${readFileSync(file, 'utf8')}`);
  const missing = Object.keys(fieldWords).filter(
    (word) => !texts.some((text) => fieldWords[word]!.test(text)),
  );
  return [{ name: 'words of the field that no file has', value: missing.length, items: missing }];
}

/** Made by programs from what the code says, so nobody writes or reads them whole. */
const generated = new Set([
  'scorecard.md',
  'settings.md',
  'tools.md',
  'crate-rules.md',
  'errors.md',
  'metrics.md',
]);

function measureDocs(): Figure[] {
  const pages = globSync('docs/**/*.md').filter(
    (file) => !file.startsWith('docs/decisions/') && !generated.has(file.slice(file.lastIndexOf('/') + 1)),
  );
  const words = pages.reduce((sum, file) => sum + countWords(file), 0);
  return [
    { name: 'pages of the guide', value: globSync('docs/guide/*.md').length },
    { name: 'words of docs, without generated pages', value: words },
    { name: 'words of README.md', value: countWords('README.md') },
    { name: 'words of ARCHITECTURE.md', value: countWords('ARCHITECTURE.md') },
  ];
}

export const nameOfWalk = (name: string): string => `files on the walk of ${name}`;

/** Which files a request passes through. It starts a server. */
async function countWalks(): Promise<Figure[]> {
  const budgets = readBudgets();
  return (await measureWalks((name) => budgets[nameOfWalk(name)])).map(({ name, files }) => ({
    name: nameOfWalk(name),
    value: files.length,
    items: files,
  }));
}

/** All figures that need no server. */
export function measureTreeFigures(): Figure[] {
  const files = listProductFiles();
  return [
    ...measureFiles(files),
    ...measureTree(files),
    ...measureRooms(files),
    ...describeNames(files),
    ...countFieldWords(files),
    ...measureDocs(),
  ];
}

export const measureFigures = async (): Promise<Figure[]> => [
  ...measureTreeFigures(),
  ...(await countWalks()),
];

function formatFigure(figure: Figure, budgets: Budgets, withNames: boolean): string {
  const { name, value, isFloor, items = [] } = figure;
  const budget = findBudget(name, budgets);
  const limit = budget === undefined ? '' : `${isFloor ? '≥' : '≤'} ${budget}`;
  const mark = limit === '' ? ' ' : isKept(figure, budgets) ? '✔' : '✘';
  const line = `${mark} ${name.padEnd(56)}${String(value).padStart(7)}  ${limit}`.trimEnd();
  return withNames && items.length > 0 ? `${line}\n    ${items.join(' ')}` : line;
}

/** A budget that is beaten becomes the figure; none is raised or added. */
function lowerBudgets(figures: readonly Figure[], budgets: Budgets): void {
  const values = new Map(figures.map((figure) => [figure.name, figure]));
  const lowered = Object.fromEntries(
    Object.entries(budgets).map(([name, budget]) => {
      const figure = values.get(name);
      return [name, figure !== undefined && isKept(figure, budgets) ? figure.value : budget];
    }),
  );
  writeFileSync(budgetsFile, `${JSON.stringify(lowered, null, 2)}\n`);
}

async function printNumbers(flags: ReadonlySet<string>): Promise<void> {
  const figures = flags.has('--still') ? measureTreeFigures() : await measureFigures();
  const budgets = readBudgets();
  process.stdout.write(
    flags.has('--json')
      ? `${JSON.stringify(Object.fromEntries(figures.map(({ name, value }) => [name, value])), null, 2)}\n`
      : `${figures.map((figure) => formatFigure(figure, budgets, flags.has('--names'))).join('\n')}\n`,
  );
  if (flags.has('--lower')) lowerBudgets(figures, budgets);
}

if (import.meta.main) await printNumbers(new Set(process.argv.slice(2)));
