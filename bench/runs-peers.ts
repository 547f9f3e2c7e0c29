import { join } from 'node:path';
import { bubblewrapPeer } from './runs-bwrap.ts';
import { conditions, machine, type Condition } from './runs-busy.ts';
import { dockerPeers } from './runs-docker.ts';
import { median, milliseconds, sample, type Way } from './runs-samples.ts';
import { pauseMs, tryOnce, workcratePeer, type Peer } from './runs-peer.ts';
import { sandboxRuntimePeers } from './runs-srt.ts';
import { head, row } from './runs-table.ts';
import { bareRun, python } from './runs-ways.ts';

const walled = ['--sandbox', 'bubblewrap'];

/** What else runs a line of Python here, all in the same rounds: p50, and what it has around it. */
export async function tellPeers(folder: string, quick: boolean): Promise<void> {
  await using started = new AsyncDisposableStack();
  const peers: Peer[] = [
    { name: 'bare spawn', walls: 'none', way: { run: () => bareRun(python.bare), pauseMs } },
    await workcratePeer('workcrate, bubblewrap', join(folder, 'bubblewrap'), walled, started, pauseMs),
    bubblewrapPeer(),
    ...(await sandboxRuntimePeers(join(folder, 'srt'), started)),
    ...(await dockerPeers(join(folder, 'docker'), started)),
  ];
  const tried: Peer[] = [];
  for (const peer of peers) tried.push(await tryOnce(peer));
  const there = tried.filter((peer) => typeof peer.way !== 'string');
  const seen = { quiet: [] as number[], 'one core busy': [] as number[] };
  for (const condition of conditions) seen[condition] = await mediansOf(there, condition, quick);
  head('print("hi")', 'p50', '× bare', 'p50, one core busy', '× bare', 'walls');
  for (const peer of tried)
    if (typeof peer.way === 'string') row(peer.name, 'skipped', '', '', '', peer.way);
    else row(peer.name, ...conditions.flatMap((at) => figures(seen[at], there.indexOf(peer))), peer.walls);
}

async function mediansOf(peers: readonly Peer[], condition: Condition, quick: boolean): Promise<number[]> {
  await using _load = machine(condition);
  const ways = peers.map(({ way }) => way as Way);
  const times = await sample(ways, { rounds: quick ? 1 : 8, each: 5 });
  return times.map((rounds) => median(rounds.flat()));
}

const figures = (medians: readonly number[], at: number): string[] => [
  milliseconds(medians[at]!),
  (medians[at]! / medians[0]!).toFixed(2),
];
