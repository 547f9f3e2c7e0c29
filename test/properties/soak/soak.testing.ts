import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { serve, temporaryFolder, type Program } from '../../behaviour/cli/program.testing.ts';
import { seededRandom } from '../durability/random.testing.ts';
import { plainActions, type SoakAction, type SoakScene } from './actions.testing.ts';
import { countAction, openLedger, type SoakLedger } from './ledger.testing.ts';
import {
  descendantsOf,
  findControlGroups,
  findLeaks,
  findLeftovers,
  measureFootprint,
  type Footprint,
} from './leaks.testing.ts';
import { checkFolder, checkPromises } from './promises.testing.ts';
import { rudeActions } from './rude-clients.testing.ts';

export interface SoakOptions {
  readonly seconds: number;
  readonly seed: number;
  /** Is told what happens. */
  readonly report: (line: string) => void;
}

export interface SoakResult {
  readonly ledger: SoakLedger;
  readonly kills: number;
  readonly footprints: readonly [before: Footprint, after: Footprint];
}

const clients = 6;
/** Links that were revoked are tried often, which looks like guessing. */
const settings = [
  '--file-ttl',
  '604800',
  '--upload-ttl',
  '86400',
  '--guess-limit',
  '1000000',
  '--log-level',
  'warn',
];
/** The first part of the time the server is killed again and again; the rest it lives on, and must not grow. */
const shareOfKills = 0.6;
const actions = Object.entries({ ...plainActions, ...rudeActions });
const weightOfAll = actions.reduce((sum, [, [weight]]) => sum + weight, 0);

/**
 * Mixed load on a real server, with slow clients, clients that vanish, and kills. Nothing that was acknowledged may be
 * lost, doubled or changed, and nothing may be left behind or grow without end.
 */
export async function soak({ seconds, seed, report }: SoakOptions): Promise<SoakResult> {
  await using folder = await temporaryFolder();
  const [data, temporary] = [join(folder.path, 'data'), join(folder.path, 'tmp')];
  mkdirSync(temporary);
  // Runs of clients that vanish end before anything is counted.
  const env = { WORKCRATE_SANDBOX: 'bubblewrap', TMPDIR: temporary, WORKCRATE_ORPHAN_GRACE: '1' };
  const start = () => serve(['--data', data, ...settings], { env });
  const [ledger, random] = [openLedger(), seededRandom(seed)];

  const began = performance.now();
  const secondsGone = (): number => (performance.now() - began) / 1000;
  let kills = 0;
  while (secondsGone() < seconds * shareOfKills) {
    const life = Math.min(4 + random() * 40, seconds / 5);
    await liveAndDie(await start(), ledger, random, life);
    report(`kill ${++kills} after ${Math.round(secondsGone())} s: ${summarize(ledger)}`);
  }

  await using program = await start();
  const scene = { program, ledger, random };
  await checkPromises(scene);
  await putLoad(scene, (seconds - secondsGone()) / 4);
  const before = await measureQuiet(program, temporary);
  report(`quiet: ${JSON.stringify(before)}`);
  await putLoad(scene, Math.max(1, seconds - secondsGone()));
  const after = await measureQuiet(program, temporary);
  report(`quiet: ${JSON.stringify(after)}`);
  ledger.problems.push(...findLeaks(before, after));
  await checkPromises(scene, Number.POSITIVE_INFINITY);
  await endInPeace(program, ledger);
  for (const line of await checkFolder(data, ledger)) report(line);
  return { ledger, kills, footprints: [before, after] };
}

export function summarize({ done, files, runs, crates, problems }: SoakLedger): string {
  const all = done.values().reduce((sum, count) => sum + count, 0);
  return `${all} actions, ${files.size} files, ${runs.size} runs, ${crates.size} crates, ${problems.length} problems`;
}

/** A server that is killed under load. What it leaves is looked for. */
async function liveAndDie(
  program: Program,
  ledger: SoakLedger,
  random: () => number,
  seconds: number,
): Promise<void> {
  await using _ = program;
  const scene = { program, ledger, random };
  await checkPromises(scene);
  const loaded = putLoad(scene, 3600);
  await pause(seconds * 1000);
  const processes = descendantsOf(program.pid);
  await program.end('SIGKILL');
  await loaded;
  ledger.problems.push(...(await findLeftovers(program.pid, processes)));
}

async function endInPeace(program: Program, ledger: SoakLedger): Promise<void> {
  const processes = descendantsOf(program.pid);
  const code = await program.end('SIGTERM');
  if (code !== 0)
    ledger.problems.push(`the server ended with ${code}: ${program.output.stderr.slice(-2000)}`);
  ledger.problems.push(...(await findLeftovers(program.pid, processes)), ...findControlGroups(program.pid));
}

/** Several clients at once, for so long or until the server is told to end. */
async function putLoad(scene: SoakScene, seconds: number): Promise<void> {
  const end = performance.now() + seconds * 1000;
  const isOver = (): boolean => performance.now() > end || scene.program.ending;
  await Promise.all(Array.from({ length: clients }, () => actUntil(scene, isOver)));
}

async function actUntil(scene: SoakScene, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    const [name, action] = chooseAction(scene.random);
    try {
      await action(scene);
      countAction(scene.ledger, name);
    } catch (error) {
      if (scene.program.ending) return;
      scene.ledger.problems.push(`${name}: ${String(error)}`);
    }
  }
}

function chooseAction(random: () => number): [name: string, action: SoakAction] {
  let left = random() * weightOfAll;
  for (const [name, [weight, action]] of actions) {
    left -= weight;
    if (left < 0) return [name, action];
  }
  return [actions[0]![0], actions[0]![1][1]];
}

/** Once everything that was under way is over and interpreters wait again: a run without a client has 1 s and then 5 s to end. */
async function measureQuiet(program: Program, temporary: string): Promise<Footprint> {
  await pause(8000);
  return measureFootprint(program.pid, temporary);
}
