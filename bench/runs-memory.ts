import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import type { Program } from './program.ts';
import { tell } from './runs-table.ts';
import { cases, connect, type Caller } from './runs-ways.ts';

const gigabyte = 1_000_000_000;
const flood = (letter: string): string => `head -c ${gigabyte} /dev/zero | tr '\\0' ${letter}`;

interface Flood {
  readonly what: string;
  readonly code: string;
  readonly stdout: number;
  readonly stderr: number;
  /** Whether the client asks for output while it comes. */
  readonly follows: boolean;
}

const onStdout = { code: flood('x'), stdout: gigabyte, stderr: 0 };
const onBoth = { code: `${flood('x')} & ${flood('y')} >&2; wait`, stdout: gigabyte, stderr: gigabyte };

export const floods: readonly Flood[] = [
  { what: '1 GB on stdout', ...onStdout, follows: false },
  { what: '1 GB on stdout, the client takes progress', ...onStdout, follows: true },
  { what: '1 GB on stdout and 1 GB on stderr at once', ...onBoth, follows: false },
];

const mostPeak = 150;
/** By then the server has freed what only its start needed, and more interpreters than usual have gone. */
const settlingMs = 5000;

/** How much the server holds at most while a run floods it. */
export async function tellFlood(program: Program, one: Flood): Promise<void> {
  await using caller = await connect(program.url);
  for (const one of cases) await caller.run(one);
  await wait(settlingMs);
  const reset = resetPeak(program.pid);
  const before = program.peakMegabytes();
  const started = performance.now();
  await written(caller, one);
  const seconds = (performance.now() - started) / 1000;
  const peak = program.peakMegabytes();
  tell({
    what: `${one.what}: peak RSS of the server`,
    seen: `${peak.toFixed(0)} MB (${before.toFixed(0)} before${reset ? '' : ', not reset'}; ${seconds.toFixed(1)} s)`,
    asked: `≤ ${mostPeak} MB`,
    ok: peak <= mostPeak,
  });
}

/** Forgets the most memory that a process has held, where the system lets us. */
function resetPeak(pid: number): boolean {
  try {
    writeFileSync(`/proc/${pid}/clear_refs`, '5');
    return true;
  } catch {
    return false;
  }
}

async function written(caller: Caller, { code, stdout, stderr, follows }: Flood): Promise<void> {
  const input = { language: 'bash', code, timeout_ms: 240_000 };
  const { execution_id } = await caller.call('execute_code', input, follows ? () => {} : undefined);
  const told = await caller.call('get_execution', { execution_id });
  if (told['stdout_bytes'] !== stdout || told['stderr_bytes'] !== stderr)
    throw new Error(
      `a flood wrote ${String(told['stdout_bytes'])} and ${String(told['stderr_bytes'])} bytes`,
    );
}

const mostPool = 120;

/** What waits beside the server when nothing runs: every process below it. */
export async function tellPool(program: Program): Promise<void> {
  await using caller = await connect(program.url);
  for (let round = 0; round < 3; round++) for (const one of cases) await caller.run(one);
  const pids = await settled(program.pid);
  const sums = { Pss: 0, Rss: 0 };
  for (const pid of pids) for (const kind of ['Pss', 'Rss'] as const) sums[kind] += megabytes(pid, kind);
  tell({
    what: `an idle pool, ${pids.length} processes: PSS in all`,
    seen: `${sums.Pss.toFixed(0)} MB (RSS, which counts what is shared again and again: ${sums.Rss.toFixed(0)} MB)`,
    asked: `≤ ${mostPool} MB`,
    ok: sums.Pss <= mostPool,
  });
}

/** The processes below, once they have been the same for a second. */
async function settled(pid: number): Promise<number[]> {
  await wait(settlingMs);
  let last = '';
  for (let attempt = 0; attempt < 20; attempt++) {
    const now = descendants(pid);
    if (now.length > 0 && String(now) === last) return now;
    last = String(now);
    await wait(1000);
  }
  throw new Error(last === '' ? 'there is no pool' : 'the pool does not come to rest');
}

function descendants(root: number): number[] {
  const parents = new Map<number, number>();
  for (const name of readdirSync('/proc').filter((name) => /^\d+$/.test(name)))
    parents.set(Number(name), parentOf(name));
  const below = (pid: number): boolean => {
    const parent = parents.get(pid) ?? 0;
    return parent === root || (parent > 1 && below(parent));
  };
  return [...parents.keys()].filter(below);
}

/** 0 for a process that has ended since it was listed. */
function parentOf(pid: string): number {
  try {
    // The name in parentheses may hold spaces; the parent is the second field after it.
    return Number(readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)!.split(' ')[1]);
  } catch {
    return 0;
  }
}

function megabytes(pid: number, kind: 'Pss' | 'Rss'): number {
  const told = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
  return Number(new RegExp(`^${kind}:\\s+(\\d+) kB`, 'm').exec(told)![1]) / 1024;
}
