/**
 * How long `workcrate stdio` takes to answer the client that starts it: `node bench/start-stdio.ts [OTHER_CHECKOUT]`.
 * Beside it in every round: servers from npm that do far less, and another checkout where one is named. Warm is with the
 * compile cache of an earlier start, cold without.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { temporaryFolder } from './program.ts';
import { median } from './timed.ts';
import { reportFigure } from './figures.ts';

const [warmRounds, coldRounds] = [7, 3];
const peers = ['@modelcontextprotocol/server-everything', '@modelcontextprotocol/server-filesystem'];
const thisCheckout = join(import.meta.dirname, '..');
const otherCheckout = process.argv[2];

interface Way {
  readonly name: string;
  /** Arguments of Node, given a folder of its own. */
  readonly words: (folder: string) => string[];
}

/** Milliseconds from the start of the process, and how many of them it used a processor. */
interface Answered {
  readonly ms: number;
  readonly cpuMs: number;
}

using folder = temporaryFolder();

const toWorkcrate = (name: string, checkout: string): Way => ({
  name,
  words: (data) => [
    join(checkout, 'bin', 'workcrate.js'),
    'stdio',
    '--port',
    '0',
    '--data',
    join(data, 'data'),
  ],
});

const ways: Way[] = [
  toWorkcrate('workcrate', thisCheckout),
  ...(otherCheckout === undefined ? [] : [toWorkcrate('the other checkout', otherCheckout)]),
  ...installPeers(),
];

/** The servers from npm; none where they cannot be installed. */
function installPeers(): Way[] {
  const options = ['--prefix', folder.path, '--no-audit', '--no-fund', '--ignore-scripts'];
  try {
    execFileSync('npm', ['install', ...options, ...peers], { stdio: 'ignore' });
  } catch {
    console.log('  no peers: npm could not install them');
    return [];
  }
  return peers.map((name) => ({
    name,
    words: (data) => [
      join(folder.path, 'node_modules', name, 'dist', 'index.js'),
      ...(name.endsWith('filesystem') ? [data] : []),
    ],
  }));
}

const initialize = {
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'bench', version: '1' } },
};
const envelope = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};
const discover = { method: 'server/discover', params: { _meta: envelope } };

/** Starts a server, asks one thing after the other, and ends it. */
async function ask({ words }: Way, home: string, requests: readonly object[]): Promise<Answered[]> {
  const started = performance.now();
  const env = { ...process.env, HOME: home, XDG_CACHE_HOME: join(home, 'cache') };
  const child = spawn(process.execPath, ['--max-semi-space-size=4', ...words(home)], {
    env,
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const lines = createInterface(child.stdout);
  const answered: Answered[] = [];
  for (const [id, request] of requests.entries()) {
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...request })}\n`);
    let line: string;
    do [line] = (await once(lines, 'line')) as [string];
    while (!line.includes(`"id":${id}`));
    answered.push({ ms: performance.now() - started, cpuMs: readCpuMs(child.pid!) });
    if ('params' in request && request === initialize)
      child.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n');
  }
  child.stdin.end();
  const late = setTimeout(() => child.kill(), 10_000);
  await once(child, 'exit');
  clearTimeout(late);
  return answered;
}

/** User and system time of a process; Linux counts it in hundredths of a second. */
function readCpuMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

const newHome = (): string => mkdtempSync(join(folder.path, 'home-'));
const inOldVersion = [initialize, { method: 'tools/list', params: {} }];

async function measure(isWarm: boolean): Promise<void> {
  const homes = new Map(ways.map((way) => [way, newHome()]));
  const times = new Map(ways.map((way) => [way, [[], [], []] as Answered[][]]));
  if (isWarm) for (const way of ways) await ask(way, homes.get(way)!, inOldVersion);
  // In turns, so that whatever else the machine does falls on all of them.
  for (let round = 0; round < (isWarm ? warmRounds : coldRounds); round++)
    for (const way of ways) {
      const getHome = (): string => (isWarm ? homes.get(way)! : newHome());
      const answers = await ask(way, getHome(), inOldVersion);
      // The peers do not know the version that it belongs to.
      if (!peers.includes(way.name)) answers.push(...(await ask(way, getHome(), [discover])));
      for (const [at, answer] of answers.entries()) times.get(way)![at]!.push(answer);
    }
  const format = (all: readonly Answered[]): string =>
    all.length === 0
      ? '–'
      : `${median(all.map(({ ms }) => ms)).toFixed(0)} ms (cpu ${median(all.map(({ cpuMs }) => cpuMs)).toFixed(0)})`;
  const rows = [...times].map(([{ name }, [first, list, discovered]]) => [
    name,
    { initialize: format(first!), 'tools/list': format(list!), 'server/discover': format(discovered!) },
  ]);
  for (const [{ name }, [first]] of times)
    if (!peers.includes(name))
      reportFigure(
        `start-stdio: ${name}, ${isWarm ? 'warm' : 'cold'}, until initialize is answered, ms`,
        first!.map(({ ms }) => ms),
      );
  console.log(isWarm ? '\n  warm' : '\n  cold');
  console.table(Object.fromEntries(rows));
}

await measure(true);
await measure(false);
