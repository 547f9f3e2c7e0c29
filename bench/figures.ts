/**
 * Figures that are kept from one run of `npm run bench` to the next, so that what became dearer is noticed. A bench
 * reports a figure with the values of its rounds; `run.ts` gathers, compares and keeps them. A bench that is run by
 * itself reports to nobody.
 */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { cpus, loadavg, release, totalmem } from 'node:os';
import { median } from './timed.ts';

/** Where benches report to, as lines of JSON. */
export const figuresVariable = 'BENCH_FIGURES';

export interface Figure {
  readonly value: number;
  /** The least and the most of its rounds. */
  readonly from: number;
  readonly to: number;
  readonly better: 'less' | 'more';
}

export interface KeptRun {
  readonly at: string;
  readonly commit: string;
  readonly machine: Machine;
  /** The load average when it began: figures of a busy machine say less. */
  readonly load: number;
  readonly figures: Readonly<Record<string, Figure>>;
}

interface Machine {
  readonly processor: string;
  readonly cores: number;
  readonly gigabytes: number;
  readonly kernel: string;
  readonly node: string;
}

export const describeMachine = (): Machine => ({
  processor: cpus()[0]!.model,
  cores: cpus().length,
  gigabytes: Math.round(totalmem() / 1024 ** 3),
  kernel: release(),
  node: process.versions.node,
});

export const readLoad = (): number => Number(loadavg()[0]!.toFixed(2));

const round = (value: number): number => Number(value.toPrecision(4));

/** Reports a figure by the values of its rounds; the figure is their median, unless it is given. */
export function reportFigure(
  name: string,
  rounds: readonly number[],
  better: Figure['better'] = 'less',
  value: number = median(rounds),
): void {
  const path = process.env[figuresVariable];
  if (path === undefined) return;
  const figure = {
    value: round(value),
    from: round(Math.min(...rounds)),
    to: round(Math.max(...rounds)),
    better,
  };
  appendFileSync(path, `${JSON.stringify([name, figure])}\n`);
}

/** The medians of equal parts of samples, in their order: as rounds, where a bench has none. */
export function toRounds(samples: readonly number[], parts = 5): number[] {
  const each = Math.ceil(samples.length / parts);
  return Array.from({ length: Math.ceil(samples.length / each) }, (_, at) =>
    median(samples.slice(at * each, (at + 1) * each)),
  );
}

/** What one way takes more than another, part by part. */
export function toDifferences(samples: readonly number[], others: readonly number[]): number[] {
  const base = toRounds(others);
  return toRounds(samples).map((value, at) => value - base[at]!);
}

/** The same as a ratio. */
export function toRatios(samples: readonly number[], others: readonly number[]): number[] {
  const base = toRounds(others);
  return toRounds(samples).map((value, at) => value / base[at]!);
}

/** What benches reported to a file. */
export function readFigures(path: string): Record<string, Figure> {
  if (!existsSync(path)) return {};
  const lines = readFileSync(path, 'utf8').split('\n').filter(Boolean);
  return Object.fromEntries(lines.map((line) => JSON.parse(line) as [string, Figure]));
}

/** Runs that were kept, oldest first, one a line. */
export function readKeptRuns(path: string): KeptRun[] {
  if (!existsSync(path)) return [];
  return readFileSync(path, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as KeptRun);
}

export interface Worse {
  readonly name: string;
  readonly before: Figure;
  readonly now: Figure;
  readonly since: string;
}

const isSameKind = (one: Machine, other: Machine): boolean =>
  one.processor === other.processor && one.cores === other.cores;

/** What is worse than when it was last kept on such a machine, by more than the wider of both spreads. */
export function findWorse(kept: readonly KeptRun[], now: Pick<KeptRun, 'machine' | 'figures'>): Worse[] {
  const comparable = kept.filter(({ machine }) => isSameKind(machine, now.machine)).toReversed();
  return Object.entries(now.figures).flatMap(([name, figure]) => {
    const last = comparable.find(({ figures }) => figures[name] !== undefined);
    if (last === undefined) return [];
    const before = last.figures[name]!;
    const loss = figure.better === 'less' ? figure.value - before.value : before.value - figure.value;
    const spread = Math.max(figure.to - figure.from, before.to - before.from);
    return loss > spread ? [{ name, before, now: figure, since: last.commit }] : [];
  });
}
