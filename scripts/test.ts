import { existsSync, globSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { run } from 'node:test';
import { spec, type TestEvent } from 'node:test/reporters';
import { inspect } from 'node:util';
import { installClients, noClientsVariable } from '../e2e/clients/packages.testing.ts';
import { proofsVariable } from '../src/requirements.testing.ts';
import { findUnproven } from './proofs.ts';
import { installPackages } from './install-packages.ts';
import { isQuick } from './quick-tests.ts';
import { formatDuration } from '../src/text.ts';
import { commandsOfOtherBackends, findNeeds } from './test-needs.ts';
import { groupFiles, type TestGroup } from './test-groups.ts';
import { turnOf } from './test-order.ts';
import { runPool } from './test-pool.ts';
import { startServers } from './test-servers.ts';

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
  /** The version of the PostgreSQL that its files share. */
  readonly postgres: 15 | 18;
  /** Why it cannot be run here. */
  readonly skip?: string | false;
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

const needs = findNeeds(everything);
if (!onlyQuick)
  await installPackages([...needs.commands, ...(onOtherBackends.length > 0 ? commandsOfOtherBackends : [])]);
// Before anything is timed. Where it fails, the tests that need them say why.
const clients = needs.clients ? await installClients() : null;
const noClients = clients !== null && 'reason' in clients ? { [noClientsVariable]: clients.reason } : {};
const code = needs.sandbox ? await import('../e2e/code.testing.ts') : null;
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
  { title: 'everything, on SQLite and disk', files: everything, env: {}, postgres: 18 },
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

const proofs = join(compiled, 'proofs');
const counts = { passed: 0, failed: 0, skipped: 0 };
/** Told again at the very end, where whoever sees only that much looks. */
const failures: string[] = [];

const reports = rounds.filter(({ files }) => files.length > 0).map(openReport);
const jobs = reports.flatMap(({ round, report }) =>
  round.skip
    ? []
    : groupFiles(round.files).map((group) => ({ group, run: () => runGroup(group, round, report) })),
);
await runPool(
  jobs.toSorted((a, b) => turnOf(a.group.files[0]!) - turnOf(b.group.files[0]!)).map((job) => job.run),
);
for (const { report } of reports) report.end();

if (words.length === 0 && !onlyQuick) await demandProofs();
if (failures.length > 0) process.stdout.write(`\nfailed:\n${failures.join('\n')}\n`);
process.stdout.write(`\n${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped\n`);
process.exitCode = counts.failed > 0 || counts.passed === 0 ? 1 : 0;

/** What a round printed. That of the first comes as it is, that of each other in one piece after it. */
interface Report {
  readonly times: Map<string, number>;
  print(text: string): void;
  end(): void;
}

function openReport(round: Round, at: number): { round: Round; report: Report } {
  if (round.skip) counts.skipped++;
  const kept: string[] = [];
  const times = new Map<string, number>();
  const print = (text: string): void => void (at === 0 ? process.stdout.write(text) : kept.push(text));
  print(`\n${round.title}: ${round.skip || `${round.files.length} files`}\n`);
  const end = (): void => {
    if (!round.skip) print(`slowest: ${listSlowest(times)}\n`);
    process.stdout.write(kept.join(''));
  };
  return { round, report: { times, print, end } };
}

async function runGroup(group: TestGroup, { title, env, postgres }: Round, report: Report): Promise<void> {
  const from = performance.now();
  const postgresUrl = servers.postgres[postgres];
  const stream = run({
    files: [group.main],
    argv: [...group.argv],
    timeout: 480_000,
    env: {
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
    },
  });
  stream.on('test:pass', ({ skip, details, name }) => {
    if (details.type === 'suite') return;
    if (skip === undefined) counts.passed++;
    else countSkip(name, skip);
  });
  stream.on('test:fail', ({ details, name, file = group.title }) => {
    if (details.type === 'suite') return;
    counts.failed++;
    const reason = inspect(details.error.cause ?? details.error).slice(0, 1000);
    failures.push(`  ${title}: ${relative('.', file)}: ${name}\n${reason.replaceAll(/^/gm, '    ')}`);
  });
  const printed: string[] = [];
  for await (const chunk of stream.compose(leaveOutCounts).compose(spec)) printed.push(chunk as string);
  const ms = performance.now() - from;
  report.times.set(group.title, ms);
  report.print(`\n${group.title}: ${formatDuration(ms)}\n${printed.join('')}`);
}

/** The counts of each file say nothing beside those of all. */
async function* leaveOutCounts(events: AsyncIterable<TestEvent>): AsyncGenerator<TestEvent> {
  for await (const event of events)
    if (event.type !== 'test:diagnostic' || event.data.nesting > 0) yield event;
}

/** The files that a round waited for longest: where to look first when all tests take too long. */
function listSlowest(times: ReadonlyMap<string, number>): string {
  const slowest = [...times].toSorted(([, a], [, b]) => b - a).slice(0, 10);
  return slowest.map(([file, ms]) => `${file} ${formatDuration(ms)}`).join(', ');
}

/** All tests together have to prove what is built. It counts as one more of them, skipped where no code can be run. */
async function demandProofs(): Promise<void> {
  const { unproven, lacking } = findUnproven(proofs);
  for (const part of lacking) process.stdout.write(`not proven here: ${part}\n`);
  counts.skipped += lacking.length;
  if (unproven.length === 0) return void counts.passed++;
  if (code !== null && code.noSandbox !== false) {
    process.stdout.write(`not checked: ${unproven.length} parts of requirements. ${code.noSandbox}\n`);
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
