import type { CallDiff, CallState } from '../code-mode/recorded.ts';
import { shownFolder } from './packed.ts';
import type { ReplayDifference } from './replay-difference.ts';
import type { PlannedFile, ReplayStep } from './replay-plan.ts';

export type ReplayResultState = 'same' | 'differs' | 'missing' | 'extra' | 'unknown';

/** A result of either run. It is `unknown` if the crate does not record its sha256. */
export interface ReplayResultDiff {
  readonly name: string;
  readonly state: ReplayResultState;
  readonly expected: string | null;
  readonly found: string | null;
  /** In what a result differs; null if it does not. */
  readonly difference: ReplayDifference | null;
  /** Why the crate has no bytes of it, so that its recorded hash was compared; null if it has them. */
  readonly missing: string | null;
}

/** An input that a step before was to make. */
export interface ReplayInputDiff extends Omit<ReplayResultDiff, 'difference' | 'missing'> {
  readonly state: 'same' | 'differs' | 'missing';
}

/** One run of the crate, and how it went this time. */
export interface ReplayStepReport {
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
  /** Inputs that are not as they were, since a step before did not make them so. */
  readonly inputs: readonly ReplayInputDiff[];
  readonly results: readonly ReplayResultDiff[];
  /** The tools that its code called, then and now. They do not count: what it made of them does. */
  readonly calls: readonly CallDiff[];
  /** False if there may be results that were not compared. */
  readonly complete: boolean;
  /** What the crate says of results that nobody hashed or saw. */
  readonly notes: readonly string[];
}

export interface ReplayReport {
  /** Whether every step was. */
  readonly reproduced: boolean;
  /** In the order in which they ran. */
  readonly steps: readonly ReplayStepReport[];
}

/**
 * Compares the results of both runs. `found` has the hashes of this run's files, by their paths inside; `judge` looks at
 * a result that differs.
 */
export async function diffReplayResults(
  { folder, results }: Pick<ReplayStep, 'folder' | 'results'>,
  found: ReadonlyMap<string, string>,
  judge: (result: PlannedFile, path: string) => Promise<ReplayDifference>,
): Promise<ReplayResultDiff[]> {
  const known = new Set<string>();
  const expected: ReplayResultDiff[] = [];
  for (const result of results) {
    const { names, sha256, missing } = result;
    const made = names.filter((name) => found.has(name));
    const path = made.find((name) => found.get(name) === sha256) ?? made[0] ?? names[0]!;
    known.add(path);
    const now = found.get(path) ?? null;
    const state = compareHashes(sha256, now);
    const difference = state === 'differs' ? await judge(result, path) : null;
    const name = toShownName(folder, path);
    expected.push({ name, state, expected: sha256, found: now, difference, missing });
  }
  const extra = [...found].filter(([path]) => !known.has(path));
  return [
    ...expected,
    ...extra.map(([path, hash]): ReplayResultDiff => ({
      name: toShownName(folder, path),
      state: 'extra',
      expected: null,
      found: hash,
      difference: null,
      missing: null,
    })),
  ];
}

/** As the run names it: relative to its working folder. What it showed, such as a figure, is in no folder. */
function toShownName(folder: string, path: string): string {
  if (path.startsWith(shownFolder)) return path.slice(shownFolder.length);
  return path.startsWith(`${folder}/`) ? path.slice(folder.length + 1) : path;
}

function compareHashes(expected: string | null, found: string | null): ReplayResultState {
  if (found === null) return 'missing';
  if (expected === null) return 'unknown';
  return expected === found ? 'same' : 'differs';
}

/** Extra files are reported, but do not count. A run without results is judged by its stdout. */
export function isStepReproduced(report: Omit<ReplayStepReport, 'reproduced'>): boolean {
  const { recorded, ended, results, stdout } = report;
  const expected = results.filter(({ state }) => state !== 'extra');
  const isSame =
    expected.length === 0 ? stdout !== 'differs' : expected.every(({ state }) => state === 'same');
  return recorded === ended && isSame;
}

/** The report for programs. */
export function toReplayJson({ reproduced, steps }: ReplayReport): Record<string, unknown> {
  return {
    reproduced,
    steps: steps.map(({ recordedRuntime, durationMs, ...rest }) => {
      return { ...rest, recorded_runtime: recordedRuntime, duration_ms: durationMs };
    }),
  };
}

const resultStateLabels: Readonly<Record<ReplayResultState, string>> = {
  same: 'same   ',
  differs: 'DIFFERS',
  missing: 'MISSING',
  extra: 'extra  ',
  unknown: 'unknown',
};

function formatVerdict({ reproduced, steps }: ReplayReport): string {
  if (!reproduced && steps.every(hasOnlyUnknown)) {
    const unknown = steps.flatMap(({ results }) => results.filter(({ state }) => state === 'unknown'));
    return `Not known whether it is reproduced: ${unknown.length} of its results have no recorded hash. What could be compared is the same.`;
  }
  if (!reproduced) {
    const first = steps.findIndex((step) => !step.reproduced) + 1;
    const where = steps.length === 1 ? '' : `: step ${first} is the first that differs`;
    const what = steps.every(hasOnlyOtherDates) ? ', but only dates and ids in files differ' : '';
    return `Not reproduced${where}${what}.`;
  }
  return steps.some(({ results }) => results.some(({ state }) => state === 'same'))
    ? `Reproduced: every result${steps.length === 1 ? '' : ' of every step'} is the same, byte for byte.`
    : 'Reproduced as far as can be told: it ended as before, and has no results to compare.';
}

/** Whether nothing else keeps a step from being reproduced. */
const hasOnlyOtherDates = (step: ReplayStepReport): boolean =>
  isStepReproduced({
    ...step,
    results: step.results.map((result) =>
      result.difference === 'dates_and_ids' ? { ...result, state: 'same' } : result,
    ),
  });

/** Whether all that could be compared is the same, and some could not. */
const hasOnlyUnknown = (step: ReplayStepReport): boolean =>
  isStepReproduced({
    ...step,
    results: step.results.map((result) =>
      result.state === 'unknown' ? { ...result, state: 'same' } : result,
    ),
  });

const differenceLabels: Readonly<Record<ReplayDifference, string>> = {
  dates_and_ids: ' (only dates and ids differ)',
  content: ' (its content differs)',
  unknown: ' (whether more than dates and ids differs, cannot be told)',
};

/** The report for people. */
export function formatReplayReport(report: ReplayReport): string {
  const { steps } = report;
  const lines = steps.flatMap((step, index) => [
    ...(steps.length === 1 ? [] : [`Step ${index + 1} of ${steps.length}`]),
    ...formatStep(step),
  ]);
  return [...lines, formatVerdict(report), ''].join('\n');
}

function formatStep(step: ReplayStepReport): string[] {
  const { run, language, runtime, recordedRuntime, sandbox, outcome, durationMs, stdout } = step;
  const before = recordedRuntime === null ? step.recorded : `${step.recorded} on ${recordedRuntime}`;
  return [
    replaceControlCharacters(
      `${run}: ${outcome} after ${durationMs} ms, by ${runtime ?? language} in ${sandbox}`,
    ),
    replaceControlCharacters(`The first time: ${before}`),
    ...step.inputs.map(
      ({ name, state }) => `  ${resultStateLabels[state]}  ${replaceControlCharacters(name)} (input)`,
    ),
    ...step.results.map(
      ({ name, state, difference, missing, expected }) =>
        `  ${resultStateLabels[state]}  ${replaceControlCharacters(name)}${difference === null ? '' : differenceLabels[difference]}${replaceControlCharacters(formatMissing(missing, expected))}`,
    ),
    ...step.notes.map((note) => `  ${replaceControlCharacters(note)}`),
    ...formatCalls(step.calls),
    `  stdout: ${stdout === 'unknown' ? 'not in the crate, so not compared' : stdout}`,
    ...(step.complete ? [] : ['  There may be more results: not all files could be compared.']),
    ...(step.ended === 'failed' && step.stderr !== ''
      ? step.stderr.split('\n').map((line) => `  | ${replaceControlCharacters(line)}`)
      : []),
  ];
}

function formatMissing(missing: string | null, expected: string | null): string {
  if (missing === null) return '';
  const how = expected === null ? 'not compared' : 'compared by its recorded hash';
  return ` (${how}; not in the crate: ${missing})`;
}

const callStateLabels: Readonly<Record<CallState, string>> = {
  same: 'same',
  'other result': 'OTHER RESULT',
  'other definition': 'OTHER DEFINITION',
  missing: 'MISSING',
  extra: 'EXTRA',
};

/** Those that differ, one by one. */
function formatCalls(calls: readonly CallDiff[]): string[] {
  if (calls.length === 0) return [];
  const differing = calls.filter(({ state }) => state !== 'same');
  const count = `  tool calls: ${calls.length - differing.length} as recorded`;
  return [
    differing.length === 0 ? count : `${count}, ${differing.length} not:`,
    ...differing.map(
      ({ tool, sequence, state }) =>
        `    ${callStateLabels[state]}  call ${sequence}: ${replaceControlCharacters(tool)}`,
    ),
  ];
}

/** Names and outputs are untrusted: they must not control the terminal. */
function replaceControlCharacters(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}]/gu, '\ufffd');
}
