/**
 * What the server did over the last hours, for operators: a sample of the metrics every quarter of a minute, in rings of
 * a fixed size, so that plots need no other program. It is of this process alone, and gone with it.
 */
import { performance } from 'node:perf_hooks';
import type { Clock } from '../clock.ts';
import type { Log } from './log.ts';
import type { Metrics } from './metrics.ts';

const sampleMs = 15_000;
/** Six hours: about 120 KB. */
const maxSamples = 1440;
const hourMs = 3_600_000;
const minuteMs = 60_000;

/** Grow from the start of the server. */
const counters = ['succeeded', 'failed', 'bytesIn', 'bytesOut', 'errors', 'refusedKeys'] as const;
const gauges = ['busy', 'memory', 'diskUsed'] as const;
const sampled = [...counters, ...gauges, 'at'] as const;

type Sampling = Readonly<Record<(typeof sampled)[number], number>>;
type PlottedName = (typeof counters)[number] | (typeof gauges)[number];

/** Values of equal stretches of time, the oldest first; null where there is no sample. Counters are per minute. */
export interface PlottedHistory {
  readonly from: number;
  readonly to: number;
  readonly values: Readonly<Record<PlottedName, readonly (number | null)[]>>;
}

export interface RecentTrouble {
  /** From when on it is counted: an hour ago, or the start of the server. */
  readonly since: number;
  readonly refusedKeys: number;
  /** Failed requests, by error code. */
  readonly errors: Readonly<Record<string, number>>;
}

export interface HistoryOptions {
  readonly metrics: Pick<Metrics, 'outcomes' | 'uploadBytes' | 'downloadBytes' | 'auth' | 'errors'>;
  /** How many bytes of the disk are used; null where that is not known. */
  readonly measureDiskUsed: () => Promise<number | null>;
  readonly clock: Clock;
  readonly log: Log;
}

export type MetricsHistory = ReturnType<typeof startHistory>;

export function startHistory({ metrics, measureDiskUsed, clock, log }: HistoryOptions) {
  const startedAt = clock();
  const rings = new Map(sampled.map((name) => [name, new Float64Array(maxSamples)]));
  /** Errors by code as they were each minute of the last hour. */
  const minutes: { readonly at: number; readonly errors: Record<string, number> }[] = [];
  let taken = 0;
  let lastUtilization = performance.eventLoopUtilization();

  async function look(): Promise<Sampling> {
    return {
      at: clock(),
      succeeded: metrics.outcomes.succeeded,
      failed: metrics.outcomes.failed,
      bytesIn: await readCount(metrics.uploadBytes),
      bytesOut: await readCount(metrics.downloadBytes),
      errors: await readCount(metrics.errors),
      refusedKeys: (await sumByLabel(metrics.auth, 'result'))['refused'] ?? 0,
      busy: performance.eventLoopUtilization(lastUtilization).utilization,
      memory: process.memoryUsage.rss(),
      diskUsed: (await measureDiskUsed()) ?? Number.NaN,
    };
  }

  async function takeSample(): Promise<void> {
    const sample = await look();
    lastUtilization = performance.eventLoopUtilization();
    for (const name of sampled) rings.get(name)![taken % maxSamples] = sample[name];
    taken++;
    if (sample.at - (minutes.at(-1)?.at ?? -Infinity) < minuteMs) return;
    minutes.push({ at: sample.at, errors: await sumByLabel(metrics.errors, 'code') });
    while (minutes.length > 1 && minutes[1]!.at <= sample.at - hourMs) minutes.shift();
  }

  /** All that is kept, the oldest first. */
  function listSamples(): Sampling[] {
    const count = Math.min(taken, maxSamples);
    return Array.from({ length: count }, (_, at) => {
      const place = (taken - count + at) % maxSamples;
      return Object.fromEntries(sampled.map((name) => [name, rings.get(name)![place]!])) as Sampling;
    });
  }

  let underWay: Promise<void> | null = null;
  const sampleSoon = (): void => {
    underWay ??= takeSample()
      .catch((error: unknown) => log.warn('history.not_sampled', { error }))
      .finally(() => (underWay = null));
  };
  sampleSoon();
  const timer = setInterval(sampleSoon, sampleMs).unref();

  return {
    /** Up to now, also between two samples. */
    async plot(): Promise<PlottedHistory> {
      return plotSamples([...listSamples(), await look()]);
    },

    async readTrouble(): Promise<RecentTrouble> {
      const now = await look();
      const before = listSamples().findLast(({ at }) => at <= now.at - hourMs);
      const then = minutes.findLast(({ at }) => at <= now.at - hourMs)?.errors ?? {};
      const errors = Object.entries(await sumByLabel(metrics.errors, 'code'))
        .map(([code, count]) => [code, count - (then[code] ?? 0)] as const)
        .filter(([, count]) => count > 0);
      return {
        since: Math.max(startedAt, now.at - hourMs),
        refusedKeys: now.refusedKeys - (before?.refusedKeys ?? 0),
        errors: Object.fromEntries(errors),
      };
    },

    async [Symbol.asyncDispose](): Promise<void> {
      clearInterval(timer);
      await underWay;
    },
  };
}

const minWindowMs = 15 * minuteMs;
const maxWindowMs = maxSamples * sampleMs;
const maxPlotPoints = 90;

/** Exported for its test. */
export function plotSamples(samples: readonly Sampling[]): PlottedHistory {
  const to = samples.at(-1)!.at;
  const window = Math.min(maxWindowMs, Math.max(minWindowMs, to - samples[0]!.at));
  const from = to - window;
  const count = Math.min(maxPlotPoints, Math.floor(window / (2 * sampleMs)));
  const stretches: Sampling[][] = Array.from({ length: count }, () => []);
  for (const sample of samples)
    if (sample.at >= from)
      stretches[Math.min(count - 1, Math.floor(((sample.at - from) / window) * count))]!.push(sample);
  const perMinute = (name: (typeof counters)[number]): (number | null)[] => {
    let before = samples.findLast(({ at }) => at < from) ?? samples[0]!;
    return stretches.map((stretch) => {
      const last = stretch.at(-1);
      if (last === undefined || last.at <= before.at) return null;
      const rate = ((last[name] - before[name]) / (last.at - before.at)) * minuteMs;
      before = last;
      return rate;
    });
  };
  const average = (name: (typeof gauges)[number]): (number | null)[] =>
    stretches.map((stretch) => {
      const known = stretch.map((sample) => sample[name]).filter((value) => !Number.isNaN(value));
      return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0) / known.length;
    });
  const values = {
    succeeded: perMinute('succeeded'),
    failed: perMinute('failed'),
    bytesIn: perMinute('bytesIn'),
    bytesOut: perMinute('bytesOut'),
    errors: perMinute('errors'),
    refusedKeys: perMinute('refusedKeys'),
    busy: average('busy'),
    memory: average('memory'),
    diskUsed: average('diskUsed'),
  };
  return { from, to, values };
}

interface LabelledCounter {
  get(): Promise<{ values: { labels: Partial<Record<string, string | number>>; value: number }[] }>;
}

const readCount = async (counter: LabelledCounter): Promise<number> =>
  (await counter.get()).values.reduce((sum, { value }) => sum + value, 0);

/** What a counter holds, added up by one of its labels. */
export async function sumByLabel(counter: LabelledCounter, label: string): Promise<Record<string, number>> {
  const sums: Record<string, number> = {};
  for (const { labels, value } of (await counter.get()).values) {
    const name = String(labels[label]);
    sums[name] = (sums[name] ?? 0) + value;
  }
  return sums;
}
