/**
 * Running code: the whole program, called by a real MCP client, against the bare interpreter in the same run,
 * quiet and beside a process that keeps one core busy; what it holds in memory; and what else there is.
 * Needs Linux with what `workcrate doctor` asks for; peers that are not there are skipped with the reason.
 *
 *   node bench/runs.ts [--quick] [latency] [burst] [output] [pool] [peers]
 */
import { cpus, loadavg, release } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startProgram, temporaryFolder, type Program } from './program.ts';
import { conditions } from './runs-busy.ts';
import { floods, tellFlood, tellPool } from './runs-memory.ts';
import { tellPeers } from './runs-peers.ts';
import { tellBurst, tellLatency, tellRoundTrip, warmUp } from './runs-speed.ts';
import { head } from './runs-table.ts';
import { cases } from './runs-ways.ts';

const parts = ['latency', 'burst', 'output', 'pool', 'peers'];
const { values, positionals } = parseArgs({
  options: { quick: { type: 'boolean', default: false } },
  allowPositionals: true,
});
const unknown = positionals.filter((name) => !parts.includes(name));
if (unknown.length > 0) throw new Error(`there is no ${unknown.join(', ')}; parts are ${parts.join(', ')}`);
const wants = (part: string): boolean => positionals.length === 0 || positionals.includes(part);
const { quick } = values;

using folder = temporaryFolder();
console.log(
  `${cpus().length} × ${cpus()[0]!.model}, kernel ${release()}, Node ${process.versions.node}, load at the start ${loadavg()[0]!.toFixed(2)}`,
);
if (parts.slice(0, -1).some(wants)) head('what', 'seen', 'asked for', 'ok');
if (wants('latency') || wants('burst')) await measureSpeed();
// Each on a server of its own, as a user has it after the start.
if (wants('output')) for (const flood of floods) await onFreshServer((program) => tellFlood(program, flood));
if (wants('pool')) await onFreshServer(tellPool);
if (wants('peers')) await tellPeers(folder.path, quick);

async function measureSpeed(): Promise<void> {
  await using program = await startProgram({ data: join(folder.path, 'speed') });
  await warmUp(program.url);
  for (const condition of conditions) {
    if (wants('latency')) await tellRoundTrip(program.url, condition, quick);
    for (const one of cases) {
      if (wants('latency')) await tellLatency(program.url, one, condition, quick);
      if (wants('burst')) await tellBurst(program.url, one, condition, quick);
    }
  }
}

async function onFreshServer(measure: (program: Program) => Promise<void>): Promise<void> {
  using data = temporaryFolder();
  await using program = await startProgram({ data: data.path });
  await measure(program);
}
