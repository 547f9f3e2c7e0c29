import { setTimeout as wait } from 'node:timers/promises';

/** A way to run code that says hi. */
export interface Way {
  /** Once, giving what it wrote. */
  run(): Promise<string>;
  /** After every run. */
  readonly pauseMs: number;
}

export interface Plan {
  readonly rounds: number;
  /** Runs of a way in each round. */
  readonly each: number;
}

/** What one way leaves behind, such as a pool that fills up, is over before the next has its turn. */
export const settleMs = 300;

/**
 * Milliseconds by way, round and run. Every way has its turn in each round, so that whatever else the machine
 * does falls on all of them; the first round only warms up.
 */
export async function sample(ways: readonly Way[], plan: Plan): Promise<number[][][]> {
  const times = ways.map((): number[][] => []);
  for (let round = 0; round <= plan.rounds; round++)
    for (const [at, way] of ways.entries()) {
      const turn = await turnOf(way, plan.each);
      if (round > 0) times[at]!.push(turn);
      await wait(settleMs);
    }
  return times;
}

async function turnOf({ run, pauseMs }: Way, each: number): Promise<number[]> {
  const times: number[] = [];
  for (let count = 0; count < each; count++) {
    const started = performance.now();
    const said = await run();
    times.push(performance.now() - started);
    if (said !== 'hi\n') throw new Error(`a run wrote ${JSON.stringify(said)}`);
    if (pauseMs > 0) await wait(pauseMs);
  }
  return times;
}

/** The value that this share of all values is at most, by nearest rank. */
export function percentile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.max(0, Math.ceil(share * values.length) - 1)]!;
}

export const median = (values: readonly number[]): number => percentile(values, 0.5);

/** Such as `0.31 (0.28–0.35)`: the ratio, and the least and the most of those of single rounds. */
export function ratioWithRange(ratio: number, ofRounds: readonly number[]): string {
  const [least, most] = [Math.min(...ofRounds), Math.max(...ofRounds)];
  return `${ratio.toFixed(2)} (${least.toFixed(2)}–${most.toFixed(2)})`;
}

export const milliseconds = (value: number): string => `${value.toPrecision(3)} ms`;
