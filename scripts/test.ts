import { existsSync, globSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { inspect } from 'node:util';
import { installClients, noClientsVariable } from '../e2e/clients/packages.testing.ts';
import { startPostgres } from '../src/database/postgres.testing.ts';
import { proofsVariable } from '../src/requirements.testing.ts';
import { findUnproven } from './proofs.ts';
import { installPackages } from './install-packages.ts';
import { isQuick } from './quick-tests.ts';
import { formatDuration } from '../src/text.ts';
import { startStores } from './stores.ts';
import { commandsOfOtherBackends, findNeeds } from './test-needs.ts';

/**
 * Runs the tests and ends with `N passed, N failed, N skipped`. The behaviour suite runs once more for each
 * further pair of backends. A skip without a printed reason counts as a failure.
 *
 *   npm test                      everything
 *   npm test -- links paths       only files whose path holds one of the words
 *   npm test -- behaviour         so too, and on the other backends as well
 *   npm run test:quick            only what needs no server, no container and no sandbox
 *
 * What the chosen files need is installed and started, and nothing else.
 */
interface Round {
  readonly title: string;
  readonly files: string[];
  readonly env: Record<string, string>;
  /** The PostgreSQL that its files share: a version of Debian's, or null for the one that npm brings. */
  readonly postgres: string | null;
  /** Why it cannot be run here. */
  readonly skip?: string | false;
}

/** What takes or waits longest goes first, so that nothing is left to run alone at the end. */
const longest = [
  'e2e/attacks/',
  'src/sandbox/docker/docker.test',
  'e2e/clients/',
  'src/sandbox/bubblewrap/bubblewrap.test',
  'e2e/several/',
  'src/sandbox/subprocess.test',
  'e2e/deploy/',
  'e2e/cli/package.test',
  'e2e/durability/',
  'e2e/soak/',
  'e2e/faults/',
  'src/transfer/vanishing.test',
  'src/storage/',
  'e2e/users/',
  'e2e/cli/',
  'examples/',
  'e2e/behaviour/quota.test',
  'e2e/behaviour/redirect.test',
  'e2e/',
];

function turnOf(file: string): number {
  const turn = longest.findIndex((start) => file.startsWith(start));
  return turn === -1 ? longest.length : turn;
}

const words = process.argv.slice(2).filter((word) => word !== '--quick');
const onlyQuick = process.argv.includes('--quick');
const chosen = (pattern: string): string[] =>
  globSync(pattern)
    .filter((file) => words.length === 0 || words.some((word) => file.includes(word)))
    .filter((file) => !onlyQuick || isQuick(file))
    .sort((a, b) => turnOf(a) - turnOf(b) || (a < b ? -1 : 1));

const everything = chosen(onlyQuick ? 'src/**/*.test.ts' : '{src,e2e,examples}/**/*.test.ts');
/** The other backends take long to install and to start: a subset has them where it names the suite. */
const withOtherBackends =
  !onlyQuick && (words.length === 0 || words.some((word) => word.includes('behaviour')));
const behaviour = withOtherBackends ? chosen('e2e/behaviour/*.test.ts') : [];
/** What is about connections or converters is proven once: a database and a store have no part in it. */
const onOtherBackends = behaviour.filter((file) => !/(?:pipelining|documents)\.test/.test(file));

/** The last pair has another store; whatever is about the database alone, or about runs, has been proven on PostgreSQL by then. */
const onLastPair = onOtherBackends.filter(
  (file) => !/(?:single-use|quota|artifacts|executions|sessions|results)\.test/.test(file),
);

const needs = findNeeds(everything);
if (!onlyQuick)
  await installPackages([...needs.commands, ...(onOtherBackends.length > 0 ? commandsOfOtherBackends : [])]);
// Before anything is timed. Where it fails, the tests that need them say why.
const clients = needs.clients ? await installClients() : null;
const noClients = clients !== null && 'reason' in clients ? { [noClientsVariable]: clients.reason } : {};
await using stores = await startStores({
  ceph: needs.ceph || onOtherBackends.length > 0,
  azurite: needs.azurite || onLastPair.length > 0,
});
const shared = stores.env;
const debian15 = '/usr/lib/postgresql/15/bin';

const rounds: Round[] = [
  { title: 'everything, on SQLite and disk', files: everything, env: {}, postgres: null },
  {
    title: 'behaviour, on PostgreSQL 15 and S3 (Ceph RGW)',
    files: onOtherBackends,
    env: { WORKCRATE_TEST_DATABASE: 'postgres', WORKCRATE_TEST_STORAGE: 's3' },
    postgres: '15',
    skip:
      (!existsSync(debian15) && "Debian's postgresql-15 is not installed") ||
      (!('WORKCRATE_TEST_S3' in shared) && 'no Ceph RGW can be started here, for the reason printed above'),
  },
  {
    title: 'behaviour, on PostgreSQL 18 and Azure Blob (Azurite)',
    files: onLastPair,
    env: { WORKCRATE_TEST_DATABASE: 'postgres', WORKCRATE_TEST_STORAGE: 'azure' },
    postgres: null,
    skip:
      !('WORKCRATE_TEST_AZURE' in shared) && 'no Azurite can be started here, for the reason printed above',
  },
];

/** Hundreds of processes load the same sources, which are compiled but once. */
const compiled = mkdtempSync(join(tmpdir(), 'workcrate-compiled-'));
process.on('exit', () => rmSync(compiled, { recursive: true, force: true }));

const proofs = join(compiled, 'proofs');
const counts = { passed: 0, failed: 0, skipped: 0 };
/** Told again at the very end, where whoever sees only that much looks. */
const failures: string[] = [];

const [first, ...others] = rounds.filter(({ files }) => files.length > 0);
if (first !== undefined)
  await runOrSkip(first, { atOnce: 6, print: (text) => void process.stdout.write(text) });
await runTogether(others);

if (words.length === 0 && !onlyQuick) await demandProofs();
if (failures.length > 0) process.stdout.write(`\nfailed:\n${failures.join('\n')}\n`);
process.stdout.write(`\n${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped\n`);
process.exitCode = counts.failed > 0 || counts.passed === 0 ? 1 : 0;

interface RoundTerms {
  /** More files at a time than two cores: much of the time is spent waiting, for servers most of all. */
  readonly atOnce: number;
  readonly print: (text: string) => void;
}

async function runOrSkip(round: Round, terms: RoundTerms): Promise<void> {
  terms.print(`\n${round.title}: ${round.skip || `${round.files.length} files`}\n`);
  if (round.skip) counts.skipped++;
  else await runRound(round, terms);
}

/** The other backends have nothing in common, and wait more than they compute. Each is printed in one piece. */
async function runTogether(others: readonly Round[]): Promise<void> {
  const printed: string[][] = others.map(() => []);
  const running = others.map((round, at) =>
    runOrSkip(round, { atOnce: 4, print: (text) => void printed[at]!.push(text) }),
  );
  for (const [at, one] of running.entries()) {
    await one;
    process.stdout.write(printed[at]!.join(''));
  }
}

async function runRound(
  { title, files, env, postgres: version }: Round,
  { atOnce, print }: RoundTerms,
): Promise<void> {
  const needsPostgres = files !== everything || needs.postgres;
  await using postgres = needsPostgres ? await startPostgres(version) : null;
  const stream = run({
    files,
    concurrency: atOnce,
    timeout: 480_000,
    env: {
      ...(process.env as Record<string, string>),
      ...shared,
      ...noClients,
      ...env,
      ...(postgres === null ? {} : { WORKCRATE_TEST_POSTGRES_URL: postgres.server }),
      NODE_COMPILE_CACHE: compiled,
      [proofsVariable]: proofs,
      // So many processes for two cores: V8's threads in each cost more than they bring.
      NODE_OPTIONS: `${process.env['NODE_OPTIONS'] ?? ''} --v8-pool-size=1`.trim(),
    },
  });
  const times = new Map<string, number>();
  const addTime = (nesting: number, file = '', ms = 0): void =>
    void (nesting === 0 && times.set(file, (times.get(file) ?? 0) + ms));
  stream.on('test:pass', ({ skip, details, name, nesting, file }) => {
    addTime(nesting, file, details.duration_ms);
    if (details.type === 'suite') return;
    if (skip === undefined) counts.passed++;
    else countSkip(name, skip);
  });
  stream.on('test:fail', ({ details, name, nesting, file }) => {
    addTime(nesting, file, details.duration_ms);
    if (details.type === 'suite') return;
    counts.failed++;
    const reason = inspect(details.error.cause ?? details.error).slice(0, 1000);
    failures.push(`  ${title}: ${relative('.', file ?? '')}: ${name}\n${reason.replaceAll(/^/gm, '    ')}`);
  });
  for await (const chunk of stream.compose(spec)) print(chunk as string);
  print(`slowest: ${listSlowest(times)}\n`);
}

/** The files that a round waited for longest: where to look first when all tests take too long. */
function listSlowest(times: ReadonlyMap<string, number>): string {
  const slowest = [...times].toSorted(([, a], [, b]) => b - a).slice(0, 10);
  return slowest.map(([file, ms]) => `${relative('.', file)} ${formatDuration(ms)}`).join(', ');
}

/** All tests together have to prove what is built. It counts as one more of them, skipped where no code can be run. */
async function demandProofs(): Promise<void> {
  const { unproven, lacking } = findUnproven(proofs);
  for (const part of lacking) process.stdout.write(`not proven here: ${part}\n`);
  counts.skipped += lacking.length;
  if (unproven.length === 0) return void counts.passed++;
  const { noSandbox } = await import('../e2e/code.testing.ts');
  if (noSandbox !== false) {
    process.stdout.write(`not checked: ${unproven.length} parts of requirements. ${noSandbox}\n`);
    return void counts.skipped++;
  }
  counts.failed++;
  failures.push(`  parts of requirements that no test has proven:\n    ${unproven.join('\n    ')}`);
}

function countSkip(name: string, reason: string | boolean): void {
  if (typeof reason === 'string' && reason !== '') return void counts.skipped++;
  process.stdout.write(`skipped without a reason: ${name}\n`);
  counts.failed++;
  failures.push(`  skipped without a reason: ${name}`);
}
