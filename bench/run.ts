/**
 * Runs benches one after the other, keeps their figures and says what became worse: `npm run bench`.
 *
 *   npm run bench                     all of them
 *   npm run bench -- downloads runs   only these
 *   npm run bench -- --no-keep        compares, but keeps nothing
 *
 * A bench whose programs are not installed is left out, with the command that installs them. What the benches showed is
 * in bench/README.md, what was kept in bench/results.jsonl: one run a line, with its commit and machine.
 */
import { spawnSync } from 'node:child_process';
import { appendFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { parseArgs } from 'node:util';
import {
  describeMachine,
  figuresVariable,
  findWorse,
  readFigures,
  readKeptRuns,
  readLoad,
  type Figure,
  type KeptRun,
} from './figures.ts';

/** Each bench with the commands that it cannot do without, and Debian's packages of them. */
const benches: Readonly<Record<string, readonly (keyof typeof packages)[]>> = {
  downloads: ['nginx', 'wrk', 'curl', 'taskset'],
  crowd: [],
  bundle: [],
  runs: ['bwrap', 'python3'],
  costs: ['bwrap', 'python3'],
  s3: ['radosgw', 'ceph-mon', 'ceph-osd'],
  auth: [],
  zip: [],
  metadata: [],
  search: [],
  quality: [],
  'tool-search': ['npm'],
  documents: ['pandoc', 'chromium'],
  'documents-hostile': [],
  'client-cache': [],
  listing: [],
  'client-uploads': ['bwrap', 'python3'],
  'start-stdio': ['npm'],
  packages: ['bwrap', 'python3', 'npm'],
  libraries: ['bwrap', 'python3'],
  sessions: ['bwrap', 'python3'],
  guard: ['bwrap', 'python3'],
  gateway: [],
  page: ['chromium', 'bwrap', 'python3'],
};

const packages = {
  nginx: 'nginx-light',
  wrk: 'wrk',
  curl: 'curl',
  taskset: 'util-linux',
  bwrap: 'bubblewrap',
  python3: 'python3',
  radosgw: 'radosgw',
  'ceph-mon': 'ceph-mon',
  'ceph-osd': 'ceph-osd',
  pandoc: 'pandoc',
  chromium: 'chromium',
  npm: 'npm',
} as const;

const resultsPath = join(import.meta.dirname, 'results.jsonl');

const { values, positionals } = parseArgs({
  options: { keep: { type: 'boolean', default: true }, help: { type: 'boolean', default: false } },
  allowNegative: true,
  allowPositionals: true,
});
const unknown = positionals.filter((name) => !Object.hasOwn(benches, name));
if (values.help || unknown.length > 0) {
  for (const name of unknown) console.error(`There is no bench ${name}.`);
  console.error(`npm run bench -- [--no-keep] [NAME …], of: ${Object.keys(benches).join(', ')}`);
  process.exit(unknown.length > 0 ? 2 : 0);
}

const folder = mkdtempSync(join(tmpdir(), 'workcrate-bench-'));
const reported = join(folder, 'figures');
const machine = describeMachine();
const load = readLoad();
try {
  for (const name of positionals.length > 0 ? positionals : Object.keys(benches)) runBench(name);
  concludeRun({
    at: new Date().toISOString(),
    commit: readCommit(),
    machine,
    load,
    figures: readFigures(reported),
  });
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function runBench(name: string): void {
  console.log(`\n${name}`);
  const missing = benches[name]!.filter((command) => !isInstalled(command));
  if (missing.length > 0) {
    const names = [...new Set(missing.map((command) => packages[command]))];
    console.log(`left out: it needs ${missing.join(', ')} (Debian: apt-get install ${names.join(' ')})`);
    process.exitCode = 1;
    return;
  }
  const { status } = spawnSync(process.execPath, [join(import.meta.dirname, `${name}.ts`)], {
    stdio: 'inherit',
    env: { ...process.env, [figuresVariable]: reported },
  });
  if (status !== 0) process.exitCode = 1;
}

/** Debian leaves sbin off the PATH of ordinary users. */
function isInstalled(command: string): boolean {
  const path = (process.env['PATH'] ?? '').split(delimiter);
  const folders = path.flatMap((folder) => [folder, join(folder, '..', 'sbin')]);
  return folders.some((path) => existsSync(join(path, command)));
}

/** With a mark where files differ from the commit: such figures are of nobody's code. */
function readCommit(): string {
  const git = (...words: string[]): string =>
    (spawnSync('git', words, { cwd: import.meta.dirname, encoding: 'utf8' }).stdout ?? '').trim();
  const changed = git('status', '--porcelain', '--', '..', ':!results.jsonl');
  return (git('rev-parse', '--short=12', 'HEAD') || 'unknown') + (changed === '' ? '' : '+changes');
}

function concludeRun(run: KeptRun): void {
  const count = Object.keys(run.figures).length;
  const worse = findWorse(readKeptRuns(resultsPath), run);
  console.log(`\n${count} figures, load at the start ${run.load}`);
  const show = ({ value, from, to }: Figure): string => `${value} (${from} to ${to})`;
  for (const { name, before, now, since } of worse)
    console.log(`worse: ${name}: ${show(now)}; ${show(before)} at ${since}`);
  if (worse.length === 0) console.log('nothing is worse than when it was last kept on such a machine');
  if (!values.keep || count === 0) return;
  appendFileSync(resultsPath, `${JSON.stringify(run)}\n`);
  console.log('kept in bench/results.jsonl');
}
