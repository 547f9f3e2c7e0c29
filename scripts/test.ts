import { existsSync, globSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { installClients, noClientsVariable } from '../test/clients/packages.testing.ts';
import { proofsVariable } from '../test/requirements/requirements.testing.ts';
import { installPackages } from './install-packages.ts';
import { findUnproven } from './proofs.ts';
import { isQuick } from './quick-tests.ts';
import { describeMisses, parseTestArguments, usage, type TestArguments } from './test-arguments.ts';
import { groupFiles } from './test-groups.ts';
import { commandsOfOtherBackends, findNeeds } from './test-needs.ts';
import { turnOf } from './test-order.ts';
import { findPart } from './test-parts.ts';
import { runPool } from './test-pool.ts';
import {
  describeResults,
  emptyResults,
  proofsFile,
  provingParts,
  readResults,
  recordVariable,
  writeResults,
} from './test-results.ts';
import { openReport, runGroup, type Report } from './test-run.ts';
import { startServers } from './test-servers.ts';

/** Runs the tests: see `usage` in test-arguments.ts. A skip without a printed reason counts as a failure. */
interface Round {
  readonly title: string;
  readonly files: readonly string[];
  readonly env: Record<string, string>;
  /** The version of the PostgreSQL that its files share. */
  readonly postgres: 15 | 18;
  /** Why it cannot be run here. */
  readonly skip?: string | false;
}

const { quick, parts, words, verbose } = readArguments();
if (!existsSync('node_modules/workcrate')) {
  process.stdout.write('packages/ is not linked in node_modules: run npm ci.\n');
  process.exit(2);
}
const everyFile = globSync('{src,packages,test,examples}/**/*.test.ts').toSorted();
const misses = describeMisses(words, everyFile);
for (const line of misses) process.stdout.write(`${line}\n`);
if (words.length > 0 && misses.length === words.length) process.exit(2);

const choose = (files: readonly string[]): string[] =>
  files
    .filter((file) => words.length === 0 || words.some((word) => file.includes(word)))
    .filter((file) => (quick ? isQuick(file) : parts.length === 3 || parts.includes(findPart(file))))
    .toSorted((a, b) => turnOf(a) - turnOf(b) || (a < b ? -1 : 1));

const chosen = choose(everyFile);
/** The other backends take long to install and to start: a subset has them where it names the suite. */
const withOtherBackends =
  !quick && (words.length === 0 ? parts.includes('rest') : words.some((word) => word.includes('behaviour')));
const behaviour = everyFile.filter(
  (file) =>
    withOtherBackends &&
    file.startsWith('test/behaviour/backends/') &&
    (words.length === 0 || words.some((word) => file.includes(word))),
);
/** What is about connections, converters or folders of skills is proven once: a database and a store have no part in it. */
const onOtherBackends = behaviour.filter((file) => !/(?:pipelining|documents|skills)\.test/.test(file));

/**
 * The last pair has another store; whatever is about the database alone, about runs or about crates that stand in
 * folders, has been proven on PostgreSQL.
 */
const onLastPair = onOtherBackends.filter(
  (file) =>
    !/(?:single-use|quota|artifacts|executions|sessions|results|scripts|validate|crates|crates-restored|crate-download)\.test/.test(
      file,
    ),
);

const needs = findNeeds(chosen);
if (!quick)
  await installPackages([...needs.commands, ...(onOtherBackends.length > 0 ? commandsOfOtherBackends : [])]);
// Before anything is timed. Where it fails, the tests that need them say why.
const clients = needs.clients ? await installClients() : null;
const noClients = clients !== null && 'reason' in clients ? { [noClientsVariable]: clients.reason } : {};
const code = needs.sandbox ? await import('../test/code.testing.ts') : null;
const noSandbox = code === null ? {} : { [code.noSandboxVariable]: code.noSandbox || '' };
const debian15 = '/usr/lib/postgresql/15/bin';
await using servers = await startServers({
  ceph: needs.ceph || onOtherBackends.length > 0,
  azurite: needs.azurite || onLastPair.length > 0,
  docker: needs.docker,
  postgres: needs.postgres || onLastPair.length > 0,
  postgres15: onOtherBackends.length > 0 && existsSync(debian15),
});

const rounds: Round[] = [
  { title: 'on SQLite and disk', files: chosen, env: {}, postgres: 18 },
  {
    title: 'behaviour, on PostgreSQL 15 and S3 (Ceph RGW)',
    files: onOtherBackends,
    env: { WORKCRATE_TEST_DATABASE: 'postgres', WORKCRATE_TEST_STORAGE: 's3' },
    postgres: 15,
    skip:
      (!existsSync(debian15) && "Debian's postgresql-15 is not installed") ||
      (!('WORKCRATE_TEST_S3' in servers.env) &&
        'no Ceph RGW can be started here, for the reason printed above'),
  },
  {
    title: 'behaviour, on PostgreSQL 18 and Azure Blob (Azurite)',
    files: onLastPair,
    env: { WORKCRATE_TEST_DATABASE: 'postgres', WORKCRATE_TEST_STORAGE: 'azure' },
    postgres: 18,
    skip:
      !('WORKCRATE_TEST_AZURE' in servers.env) &&
      'no Azurite can be started here, for the reason printed above',
  },
];

/** Hundreds of processes load the same sources, which are compiled but once. */
const compiled = mkdtempSync(join(tmpdir(), 'workcrate-compiled-'));
process.on('exit', () => rmSync(compiled, { recursive: true, force: true }));

/** One part, all of it, leaves its results for those that come after it. */
const whole = words.length === 0 && !quick && parts.length === 1 ? parts[0]! : null;
const record = (whole !== null && process.env[recordVariable]) || null;
if (record !== null) mkdirSync(record, { recursive: true });
const proofs = record === null ? join(compiled, 'proofs') : proofsFile(record, whole!);
const results = emptyResults();

const reports = rounds
  .filter(({ files }) => files.length > 0)
  .map((round, at) => ({ round, report: openReport(round, { isFirst: at === 0, verbose, results }) }));
await runPool(
  reports
    .flatMap(({ round, report }) =>
      round.skip ? [] : groupFiles(round.files).map((group) => ({ group, round, report })),
    )
    .toSorted((a, b) => turnOf(a.group.files[0]!) - turnOf(b.group.files[0]!))
    .map(
      ({ group, round, report }) =>
        () =>
          runGroup(group, { env: environmentOf(round), folder: compiled, report }),
    ),
);
for (const { report } of reports) report.end();
printSlowest(reports.map(({ report }) => report));

if (words.length === 0 && !quick) demandProofs();
if (record !== null) writeResults(record, whole!, results);
process.stdout.write(describeResults(results));
process.exitCode = results.failed > 0 || results.passed === 0 ? 1 : 0;

function readArguments(): TestArguments {
  try {
    const read = parseTestArguments(process.argv.slice(2));
    if (!read.help) return read;
    process.stdout.write(usage);
    process.exit(0);
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n\n${usage}`);
    process.exit(2);
  }
}

function environmentOf({ env, postgres }: Round): Record<string, string> {
  const postgresUrl = servers.postgres[postgres];
  return {
    ...(process.env as Record<string, string>),
    ...servers.env,
    ...noClients,
    ...noSandbox,
    ...env,
    ...(postgresUrl === undefined ? {} : { WORKCRATE_TEST_POSTGRES_URL: postgresUrl }),
    NODE_COMPILE_CACHE: compiled,
    [proofsVariable]: proofs,
    // So many processes for two cores: V8's threads in each cost more than they bring.
    NODE_OPTIONS: `${process.env['NODE_OPTIONS'] ?? ''} --v8-pool-size=1`.trim(),
  };
}

/** Where to look first when the tests take too long. Seconds of processors are the same on a busy machine. */
function printSlowest(all: readonly Report[]): void {
  const times = all
    .flatMap(({ title, times }) => times.map((time) => ({ ...time, title })))
    .toSorted((a, b) => b.cpuSeconds - a.cpuSeconds);
  const sum = times.reduce((seconds, time) => seconds + time.cpuSeconds, 0);
  process.stdout.write(`\n${Math.round(sum)} s of processors; most of them took:\n`);
  for (const { title, group, cpuSeconds, seconds } of times.slice(0, 15))
    process.stdout.write(
      `  ${group}${title === rounds[0]!.title ? '' : `, ${title}`}: ${cpuSeconds.toFixed(1)} s of processors in ${seconds.toFixed(1)} s\n`,
    );
}

/**
 * All tests of the usual part and of the rest together have to prove what is built. It counts as one more of them, and
 * is skipped where no code can be run.
 */
function demandProofs(): void {
  const earlier = record === null ? [] : provingParts.filter((part) => readResults(record, part) !== null);
  const proven = new Set([...parts, ...earlier]);
  if (!provingParts.every((part) => proven.has(part)))
    return void process.stdout.write(
      '\nProofs of requirements are demanded of the usual part and the rest together: npm run test:all\n',
    );
  const { unproven, lacking } = findUnproven(
    ...(record === null ? [proofs] : provingParts.map((part) => proofsFile(record, part))),
  );
  for (const part of lacking) process.stdout.write(`not proven here: ${part}\n`);
  results.skipped += lacking.length;
  if (unproven.length === 0) return void results.passed++;
  if (code !== null && code.noSandbox !== false) {
    process.stdout.write(`not checked: ${unproven.length} parts of requirements. ${code.noSandbox}\n`);
    return void results.skipped++;
  }
  results.failed++;
  results.failures.push(
    `  parts of requirements that no test has proven (find the test that records one by its name):\n    ${unproven.join('\n    ')}`,
  );
}
