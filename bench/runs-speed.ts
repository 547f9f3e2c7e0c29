import { setTimeout as wait } from 'node:timers/promises';
import { machine, type Condition } from './runs-busy.ts';
import { median, milliseconds, percentile, ratioWithRange, sample, settleMs } from './runs-samples.ts';
import { tell } from './runs-table.ts';
import { bareRun, cases, connect, type Caller, type Case } from './runs-ways.ts';
import { reportFigure } from './figures.ts';

const runsInRound = 20;

/** One caller: how long a run takes, from the call of the tool to its result, against the bare program. */
export async function tellLatency(
  url: string,
  one: Case,
  condition: Condition,
  quick: boolean,
): Promise<void> {
  await using caller = await connect(url);
  await using _load = machine(condition);
  for (const pauseMs of [one.pauseMs, 0]) {
    const ways = [() => caller.run(one), () => bareRun(one.bare)].map((run) => ({ run, pauseMs }));
    const [ours, bare] = await sample(ways, { rounds: quick ? 2 : one.rounds, each: runsInRound });
    const pause = pauseMs === 0 ? 'no pause' : `${pauseMs} ms pause`;
    tellPercentiles(`${one.language}, ${pause}, ${condition}`, ours!, bare!, {
      p50: one.asked.p50[condition],
      p99: one.asked.p99,
    });
  }
}

/** As after a while of use: client and server have compiled what they use most. */
export async function warmUp(url: string): Promise<void> {
  await using caller = await connect(url);
  for (let count = 0; count < 200; count++) await caller.call('list_files', {});
  for (const one of cases) for (let count = 0; count < 50; count++) await caller.run(one);
}

/** What a call takes that runs nothing, to tell the way from what is at its end. */
export async function tellRoundTrip(url: string, condition: Condition, quick: boolean): Promise<void> {
  await using caller = await connect(url);
  await using _load = machine(condition);
  const run = async (): Promise<string> => {
    await caller.call('list_files', {});
    return 'hi\n';
  };
  const way = { run, pauseMs: 20 };
  const times = (await sample([way], { rounds: quick ? 2 : 10, each: runsInRound })).flat(2);
  const seen = `p50 ${milliseconds(median(times))}, p99 ${milliseconds(percentile(times, 0.99))}`;
  tell({ what: `a call that runs nothing (list_files), ${condition}`, seen, asked: '', ok: null });
}

function tellPercentiles(
  what: string,
  ours: readonly number[][],
  bare: readonly number[][],
  asked: { readonly p50: number; readonly p99: number | null },
): void {
  for (const [share, most] of [
    [0.5, asked.p50],
    [0.99, asked.p99],
  ] as const) {
    const [mine, other] = [percentile(ours.flat(), share), percentile(bare.flat(), share)];
    const ofRounds = ours.map((turn, at) => median(turn) / median(bare[at]!));
    const ratio = share === 0.5 ? ratioWithRange(mine / other, ofRounds) : (mine / other).toFixed(2);
    // The p99 of a round of twenty is its slowest run: it says how far they scatter.
    const spread =
      share === 0.5 ? ofRounds : ours.map((turn, at) => Math.max(...turn) / Math.max(...bare[at]!));
    reportFigure(`runs: ${what}, p${share * 100} × bare`, spread, 'less', mine / other);
    tell({
      what: `${what}: p${share * 100}`,
      seen: `${ratio} × bare: ${milliseconds(mine)} to ${milliseconds(other)}`,
      asked: most === null ? '' : `≤ ${most} ×`,
      ok: most === null ? null : mine / other <= most,
    });
  }
}

const callers = 8;

/** A burst by eight callers, each a client of its own: runs per second against bare programs, eight at once. */
export async function tellBurst(url: string, one: Case, condition: Condition, quick: boolean): Promise<void> {
  const runs = quick ? 80 : 200;
  await using connections = new AsyncDisposableStack();
  const clients: Caller[] = [];
  for (let at = 0; at < callers; at++) clients.push(connections.use(await connect(url)));
  await using _load = machine(condition);
  const ours: number[] = [];
  const bare: number[] = [];
  for (let round = 0; round <= (quick ? 1 : 5); round++) {
    const mine = await perSecond(runs, (at) => clients[at]!.run(one));
    const other = await perSecond(runs, () => bareRun(one.bare));
    if (round === 0) continue;
    ours.push(mine);
    bare.push(other);
  }
  const ratios = ours.map((value, round) => value / bare[round]!);
  reportFigure(`runs: burst of ${one.language}, ${condition}, runs per second × bare`, ratios, 'more');
  tell({
    what: `${one.language}, ${runs} runs by ${callers} callers, ${condition}: runs per second`,
    seen: `${ratioWithRange(median(ratios), ratios)} × bare: ${median(ours).toFixed(0)} to ${median(bare).toFixed(0)}`,
    asked: `≥ ${one.asked.burst} ×`,
    ok: median(ratios) >= one.asked.burst,
  });
}

async function perSecond(runs: number, run: (caller: number) => Promise<string>): Promise<number> {
  await wait(settleMs);
  let left = runs;
  const started = performance.now();
  const call = async (_: unknown, caller: number): Promise<void> => {
    while (left-- > 0)
      if ((await run(caller)) !== 'hi\n') throw new Error('a run in a burst wrote something else');
  };
  await Promise.all(Array.from({ length: callers }, call));
  return runs / ((performance.now() - started) / 1000);
}
