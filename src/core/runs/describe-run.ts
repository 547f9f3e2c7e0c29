/**
 * A run in words: how it is, why it ended and by whom, under which limits, and what was lost. Answers, pages, views and
 * crates use these words. They are made from the fields that tools answer, and import nothing of Node, so that they are
 * the same in a browser.
 */
import { formatBytes, formatDuration } from '../../platform/text/text.ts';
import type { Difference } from './difference.ts';
import type { Background, CancelledBy, Reason } from './fields.ts';
import type { ShownRun } from './schema.ts';

/** How a run ended. The answer to its call leaves some of it out. */
export type DescribedEnd = Pick<ShownRun, 'end_reason' | 'exit_code' | 'signal' | 'duration_ms'> &
  Partial<Pick<ShownRun, 'cancelled_by'>> & { readonly limits?: EnforcedLimits | null };

type EnforcedLimits = Pick<ShownRun['limits'], 'timeout_ms' | 'memory_bytes' | 'processes' | 'disk_bytes'>;

const languageNames: Readonly<Record<ShownRun['language'], string>> = {
  python: 'Python',
  node: 'Node',
  bash: 'Bash',
};

const isLanguage = (name: string): name is ShownRun['language'] => Object.hasOwn(languageNames, name);

/** The saved script that runs, or its language. */
export const nameRun = ({ language, script }: { language: string; script: string | null }): string =>
  script ?? `${isLanguage(language) ? languageNames[language] : language} run`;

export type EndKind = 'going' | 'good' | 'bad';

/** How a run is, in a word, and whether that is good. */
export function describeState(reason: string, exitCode: number | null): { kind: EndKind; word: string } {
  if (reason === 'running') return { kind: 'going', word: reason };
  if (reason !== 'exit') return { kind: 'bad', word: reason };
  return exitCode === 0 ? { kind: 'good', word: 'ok' } : { kind: 'bad', word: `exit ${exitCode}` };
}

const endWords: Readonly<Record<Reason, (end: DescribedEnd, after: string) => string>> = {
  running: (_end, after) => `still running${after}`,
  refused: () => 'could not be started',
  exit: ({ exit_code }, after) => `exit code ${exit_code}${after}`,
  signal: ({ signal }, after) => `ended by ${signal ?? 'a signal'}${after}`,
  timeout: (end, after) =>
    `timed out${after}${end.limits ? `: its limit is ${formatDuration(end.limits.timeout_ms)}` : ''}${describeStatus(end)}`,
  oom: (end, after) =>
    `killed${after}: it used more than its ${end.limits ? formatBytes(end.limits.memory_bytes) : 'limit'} of memory${describeStatus(end)}`,
  pids: (end, after) =>
    `failed${after}: it tried to start more than its ${end.limits?.processes ?? 'limit of'} processes and threads${describeStatus(end)}`,
  disk: (end, after) =>
    `killed${after}: /workspace and /artifacts took more than their ${end.limits ? formatBytes(end.limits.disk_bytes) : 'limit'} together, or the disk of the server is nearly full${describeStatus(end)}`,
  cancelled: (end, after) =>
    `cancelled${after}${end.cancelled_by ? cancellerWords[end.cancelled_by] : ''}${describeStatus(end)}`,
  lost: (end, after) =>
    end.duration_ms === null
      ? 'lost: its server ended while it ran'
      : `lost${after}: its sandbox ended unexpectedly${describeStatus(end)}`,
};

/** Records of earlier releases do not say who it was. */
const cancellerWords: Readonly<Record<CancelledBy, string>> = {
  client: ' by its client',
  cancel_execution: ' by cancel_execution',
  operator: ' by an operator of the server',
  lost_connection: ': its client lost the connection, and nobody asked for it in time',
  removed_user: ': its user was removed',
  stopped_server: ': the server stopped before it was over',
};

/** What its first process ended with, where something else ended the run. */
function describeStatus({ exit_code, signal }: DescribedEnd): string {
  const status = signal ?? (exit_code === null ? null : `exit code ${exit_code}`);
  return status === null ? '' : ` (${status})`;
}

export const isReason = (reason: string): reason is Reason => Object.hasOwn(endWords, reason);
export const isCanceller = (name: string): name is CancelledBy => Object.hasOwn(cancellerWords, name);

/** How a run ended and why, as a clause. */
export function describeEnd(end: DescribedEnd): string {
  const after = end.duration_ms === null ? '' : ` after ${formatDuration(end.duration_ms)}`;
  return endWords[end.end_reason](end, after);
}

/** Why a run did not end by itself, in sentences; null where its state says it all. */
export function explainEnd(end: DescribedEnd, difference: Pick<Difference, 'removed'>): string | null {
  if (end.end_reason === 'running' || end.end_reason === 'exit') return null;
  const [first = '', ...rest] = describeEnd(end);
  return [`${first.toUpperCase()}${rest.join('')}.`, ...listLosses(end, difference)].join(' ');
}

/** What was lost with the end of a run, and what to do about it, in a sentence each. */
export function listLosses(
  { end_reason, duration_ms }: Pick<DescribedEnd, 'end_reason' | 'duration_ms'>,
  difference: Pick<Difference, 'removed'>,
): string[] {
  if (end_reason === 'lost' && duration_ms === null)
    return ['Of its output is kept what it had printed until some seconds before.'];
  if (end_reason !== 'disk') return [];
  return [...describeRemoved(difference), 'Delete files before you write more.'];
}

/** In a sentence or two; none where nothing had to be removed. */
export function describeRemoved({ removed }: Pick<Difference, 'removed'>): string[] {
  if (removed === null) return [];
  const { files, bytes, complete } = removed;
  if (files === 0) return ['Nothing that it made was removed.'];
  const some = files === 1 ? '1 file' : `${files} files`;
  return [
    `Removed, so that the disk is free again: ${some} that it had made (${formatBytes(bytes)}).`,
    ...(complete ? [] : ['Not all that it made was removed.']),
  ];
}

/** In a sentence; none where all changes are named. */
export function describeUnnamedChanges({ created, modified, deleted, complete }: Difference): string[] {
  const named = created.length + modified.length + deleted.length;
  return complete
    ? []
    : [`There may be ${named === 0 ? '' : 'more '}changes: not all files could be compared or named.`];
}

/** In a sentence; none where all that it read is known. */
export const describeUnknownInputs = (mayBeIncomplete: boolean, notes: readonly string[]): string[] =>
  mayBeIncomplete ? [`It may have read more files. ${notes.join(' ')}`.trimEnd()] : [];

/** Each limit in a few words. */
export const listLimits = (limits: ShownRun['limits']): string[] => [
  formatDuration(limits.timeout_ms),
  `${formatBytes(limits.memory_bytes)} of memory`,
  `${limits.processes} processes`,
  `${limits.cpus} CPUs`,
  `${formatBytes(limits.file_bytes)} a file`,
  `${formatBytes(limits.disk_bytes)} on disk`,
  `${formatBytes(limits.tmp_bytes)} in /tmp`,
];

/** In a sentence; none where every limit was enforced. */
export const describeUnenforced = (unenforced: readonly string[]): string[] =>
  unenforced.length === 0 ? [] : [`Not enforced here: ${unenforced.join(', ')}.`];

const backgroundWords: Readonly<Record<Background, string>> = {
  asked: 'In the background, as asked.',
  detached: 'In the background, detached when its call had lasted as long as its client may wait.',
  adopted: 'In the background, adopted by a later call after its own had lost the connection.',
  task: 'In the background, as a task.',
};

/** Why it goes or went on without the call that began it, in a sentence; none where it did not. */
export const describeBackground = (background: Background | null): string[] =>
  background === null ? [] : [backgroundWords[background]];

/** The name of a file right in /artifacts, which can be opened by it; null for any other. */
export const toArtifactName = (path: string): string | null =>
  /^\/artifacts\/([^/]+)$/.exec(path)?.[1] ?? null;

/** Pictures that a browser shows in an `img`. */
export const isPictureName = (name: string): boolean => /\.(?:png|jpe?g|gif|webp|svg)$/i.test(name);
