/**
 * The processor time of a run in two checkouts, one after the other in turns, so that a machine that slows down slows
 * both: `node bench/run-cost.ts ../before`. All processes count, those of the sandbox too. Needs root and a control
 * group that counts processor time.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { countProcessorTime } from './processor-time.ts';
import { startProgram } from './program.ts';

const rounds = 5;
const runsInRound = 200;
/** What the server is started with, and what is still to be compiled, is not counted. */
const warmUpRuns = 100;

const [other] = process.argv.slice(2);
if (other === undefined) throw new Error('usage: node bench/run-cost.ts OTHER_CHECKOUT');
const checkouts = { before: resolve(other), now: join(import.meta.dirname, '..') };

const seen: Record<keyof typeof checkouts, number[]> = { before: [], now: [] };
for (let round = 1; round <= rounds; round++)
  for (const name of ['before', 'now'] as const) {
    const cost = await measureRuns(checkouts[name]);
    seen[name].push(cost);
    console.log(`round ${round}, ${name}: ${cost.toFixed(2)} ms of processor time a run`);
  }
const mean = (costs: readonly number[]): number => costs.reduce((sum, cost) => sum + cost, 0) / costs.length;
const ratios = seen.now.map((cost, at) => (cost / seen.before[at]!).toFixed(3));
console.log(
  `mean ${mean(seen.before).toFixed(2)} before, ${mean(seen.now).toFixed(2)} now: ` +
    `${(mean(seen.now) / mean(seen.before)).toFixed(3)} × (rounds ${ratios.join(', ')})`,
);

async function measureRuns(checkout: string): Promise<number> {
  const data = mkdtempSync(join(tmpdir(), 'workcrate-cost-'));
  try {
    await using program = await startProgram({ data, checkout });
    using group = countProcessorTime(program.pid);
    const run = () => program.call('execute_code', { language: 'python', code: 'print("hi")' });
    for (let count = 0; count < warmUpRuns; count++) await run();
    await pause(1000);
    const before = group.milliseconds();
    for (let count = 0; count < runsInRound; count++) await run();
    // Interpreters that are started behind the last runs belong to them.
    await pause(1000);
    return (group.milliseconds() - before) / runsInRound;
  } finally {
    rmSync(data, { recursive: true, force: true });
  }
}
