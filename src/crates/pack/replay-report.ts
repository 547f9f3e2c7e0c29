import type { ReplayPlan } from './replay-plan.ts';

export type ReplayResultState = 'same' | 'differs' | 'missing' | 'extra' | 'unknown';

/** A result of either run. It is `unknown` if the crate does not record its sha256. */
export interface ReplayResultDiff {
  readonly name: string;
  readonly state: ReplayResultState;
  readonly expected: string | null;
  readonly found: string | null;
}

export interface ReplayReport {
  /** Whether it ended as before and every result is the same, byte for byte. */
  readonly reproduced: boolean;
  readonly run: string;
  readonly language: string;
  /** The interpreter of the original run; null if it was not recorded. */
  readonly recordedRuntime: string | null;
  /** The interpreter of this run; null if it is not known. */
  readonly runtime: string | null;
  readonly sandbox: string;
  /** How the original run ended, and this one. */
  readonly recorded: 'completed' | 'failed';
  readonly ended: 'completed' | 'failed';
  readonly outcome: string;
  readonly durationMs: number;
  readonly stdout: 'same' | 'differs' | 'unknown';
  /** The end of what it wrote to stderr. */
  readonly stderr: string;
  readonly results: readonly ReplayResultDiff[];
  /** False if there may be results that were not compared. */
  readonly complete: boolean;
}

/** Compares the results of both runs. `found` has the hashes of this run's files, by name. */
export function diffReplayResults(plan: ReplayPlan, found: ReadonlyMap<string, string>): ReplayResultDiff[] {
  const expected = plan.results.map(({ name, sha256 }): ReplayResultDiff => {
    const now = found.get(name) ?? null;
    return { name, state: compareHashes(sha256, now), expected: sha256, found: now };
  });
  const known = new Set(expected.map(({ name }) => name));
  const extra = [...found].filter(([name]) => !known.has(name));
  return [
    ...expected,
    ...extra.map(([name, hash]): ReplayResultDiff => ({ name, state: 'extra', expected: null, found: hash })),
  ];
}

function compareHashes(expected: string | null, found: string | null): ReplayResultState {
  if (found === null) return 'missing';
  if (expected === null) return 'unknown';
  return expected === found ? 'same' : 'differs';
}

/** Extra files are reported, but do not count. A run without results is judged by its stdout. */
export function isReplayReproduced(report: Omit<ReplayReport, 'reproduced'>): boolean {
  const { recorded, ended, results, stdout } = report;
  const expected = results.filter(({ state }) => state !== 'extra');
  const isSame =
    expected.length === 0 ? stdout !== 'differs' : expected.every(({ state }) => state === 'same');
  return recorded === ended && isSame;
}

/** The report for programs. */
export function toReplayJson(report: ReplayReport): Record<string, unknown> {
  const { recordedRuntime, durationMs, ...rest } = report;
  return { ...rest, recorded_runtime: recordedRuntime, duration_ms: durationMs };
}

const resultStateLabels: Readonly<Record<ReplayResultState, string>> = {
  same: 'same   ',
  differs: 'DIFFERS',
  missing: 'MISSING',
  extra: 'extra  ',
  unknown: 'unknown',
};

function formatVerdict({ reproduced, results }: ReplayReport): string {
  if (!reproduced) return 'Not reproduced.';
  return results.some(({ state }) => state === 'same')
    ? 'Reproduced: every result is the same, byte for byte.'
    : 'Reproduced as far as can be told: it ended as before, and has no results to compare.';
}

/** The report for people. */
export function formatReplayReport(report: ReplayReport): string {
  const { run, language, runtime, recordedRuntime, sandbox, outcome, durationMs, stdout } = report;
  const before = recordedRuntime === null ? report.recorded : `${report.recorded} on ${recordedRuntime}`;
  return [
    replaceControlCharacters(
      `${run}: ${outcome} after ${durationMs} ms, by ${runtime ?? language} in ${sandbox}`,
    ),
    replaceControlCharacters(`The first time: ${before}`),
    ...report.results.map(
      ({ name, state }) => `  ${resultStateLabels[state]}  ${replaceControlCharacters(name)}`,
    ),
    `  stdout: ${stdout === 'unknown' ? 'not in the crate, so not compared' : stdout}`,
    ...(report.complete ? [] : ['  There may be more results: not all files could be compared.']),
    ...(report.ended === 'failed' && report.stderr !== ''
      ? report.stderr.split('\n').map((line) => `  | ${replaceControlCharacters(line)}`)
      : []),
    formatVerdict(report),
    '',
  ].join('\n');
}

/** Names and outputs are untrusted: they must not control the terminal. */
function replaceControlCharacters(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}]/gu, '\ufffd');
}
