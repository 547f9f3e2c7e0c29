/**
 * What downloads cost in CPU, the whole program against nginx with sendfile in the same run.
 * Needs nginx, wrk, curl and taskset (Debian: nginx-light wrk curl util-linux) and two cores.
 *
 *   node bench/downloads.ts [ROUNDS]
 */
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { startNginx, startWorkcrate, type Contestant } from './contestants.ts';
import { cpuPerGigabyte, requestsPerCpuSecond } from './load.ts';
import { temporaryFolder } from './program.ts';
import { median } from './timed.ts';
import { reportFigure } from './figures.ts';

const rounds = Number(process.argv[2] ?? 5);
const sizes = { '1g': 1024 ** 3, '100k': 100 * 1024, '4k': 4 * 1024 };

interface Case {
  readonly label: string;
  readonly target: string;
  measure(server: Contestant): Promise<number>;
}

const cases: Case[] = [
  {
    label: '1 GB: CPU seconds per GB',
    target: '<= 2.0',
    measure: (server) => cpuPerGigabyte(server, '1g', 4),
  },
  {
    label: '100 KB: requests per CPU second',
    target: '>= 0.5',
    measure: (server) => requestsPerCpuSecond(server, '100k', 3),
  },
  {
    label: '4 KB: requests per CPU second',
    target: '>= 0.32',
    measure: (server) => requestsPerCpuSecond(server, '4k', 3),
  },
];

using folder = temporaryFolder();
const files = await makeFiles(folder.path);
await using nginx = await startNginx(files, folder.path);
await using workcrate = await startWorkcrate('workcrate', [], files, join(folder.path, 'a'));
for (const one of cases) console.table(await compare([nginx, workcrate], one));

async function makeFiles(root: string): Promise<Record<string, string>> {
  const block = Buffer.alloc(1024 * 1024, 'workcrate');
  const paths: Record<string, string> = {};
  for (const [name, size] of Object.entries(sizes)) {
    await using file = await open(join(root, name), 'w');
    for (let at = 0; at < size; at += block.length)
      await file.write(block, 0, Math.min(block.length, size - at));
    paths[name] = join(root, name);
  }
  return paths;
}

/** Every server in each round, so that whatever else the machine does falls on all of them. */
async function compare(servers: Contestant[], { label, target, measure }: Case): Promise<object[]> {
  const values = servers.map((): number[] => []);
  for (let round = 0; round <= rounds; round++)
    for (const [at, server] of servers.entries()) {
      const value = await measure(server);
      // The first round only warms up.
      if (round > 0) values[at]!.push(value);
    }
  return servers.map(({ name }, at) => {
    const ratios = values[at]!.map((value, round) => value / values[0]![round]!);
    const better = label.includes('requests') ? 'more' : 'less';
    if (at > 0) reportFigure(`downloads: ${label}, ${name} × nginx`, ratios, better);
    return {
      case: label,
      server: name,
      median: Number(median(values[at]!).toPrecision(3)),
      ratio: Number(median(ratios).toFixed(2)),
      from: Number(Math.min(...ratios).toFixed(2)),
      to: Number(Math.max(...ratios).toFixed(2)),
      target: at > 0 ? target : '',
    };
  });
}
