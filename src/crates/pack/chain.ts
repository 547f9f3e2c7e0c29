/**
 * What several runs, one after the other, know of each other's files: whether a later one found a result as its run had
 * left it, or has overwritten it. It reads records only, and no files.
 */
import { WorkcrateError } from '../../errors.ts';
import type { Execution } from '../../executions/executions.ts';
import type { Language } from '../../sandbox/sandbox.ts';

/** A file that a run was given, found or opened, by its path inside the sandbox. */
export interface FileBefore {
  readonly size: number;
  /** Null where nobody hashed it. */
  readonly sha256: string | null;
}

/** A run of the chain, and what it tells of files. */
export interface ChainStep {
  readonly execution: Execution;
  /** How it is called in notes: by its number in a chain, else `the run`. */
  readonly title: string;
  /** The folder of its files in the crate, with a slash at its end; empty if it is the only run. */
  readonly folder: string;
  readonly isChain: boolean;
  /** The session in which it can find the state of the steps before it; null if it was a run of its own. */
  readonly session: string | null;
  /** The files that it had at its start, by their paths inside. */
  readonly before: ReadonlyMap<string, FileBefore>;
  /** The paths inside that it created, changed or deleted. */
  readonly changed: ReadonlySet<string>;
  readonly later: readonly ChainStep[];
}

/** A session and the executions that its state comes from, in order. */
export interface SessionToPack {
  readonly record: { readonly id: string; readonly name: string | null; readonly language: Language };
  readonly executionIds: readonly string[];
}

/** More runs than this make no crate that anybody reads. */
export const maxPackedRuns = 200;

/**
 * The runs in the order in which they were started, which is the only one in which files can pass between them. Cells of
 * a `session` that was forked have been cells of another, and are packed as its own.
 */
export function createChain(executions: readonly Execution[], session: string | null = null): ChainStep[] {
  const ordered = executions.toSorted((one, other) => one.startedAt - other.startedAt);
  ordered.forEach(checkRunEnded);
  const isChain = ordered.length > 1;
  const steps: ChainStep[] = [];
  for (const [index, execution] of ordered.toReversed().entries()) {
    const number = ordered.length - index;
    steps.unshift({
      execution,
      title: isChain ? `step ${number}` : 'the run',
      folder: isChain ? `step-${number}/` : '',
      isChain,
      session: session ?? execution.sessionId,
      before: listFilesBefore(execution),
      changed: listChangedPaths(execution),
      later: [...steps],
    });
  }
  return steps;
}

function checkRunEnded({ id, reason }: Execution): void {
  if (reason === 'running')
    throw new WorkcrateError('invalid_input', `${id} is still running. Pack it when it has ended.`);
  if (reason === 'refused')
    throw new WorkcrateError('invalid_input', `${id} was never started, so there is nothing to pack.`);
}

/** The path of a file as all runs see it. */
export function toInsidePath(workingDir: string, name: string): string {
  return name.startsWith('/') ? name : `${workingDir.replace(/\/+$/, '')}/${name}`;
}

function listFilesBefore({ workingDir, inputs, knownInputs }: Execution): Map<string, FileBefore> {
  const given = inputs.map((file) => ({ ...file, path: toInsidePath(workingDir, file.name) }));
  return new Map([...knownInputs, ...given].map(({ path, size, sha256 }) => [path, { size, sha256 }]));
}

function listChangedPaths({ workingDir, artifacts }: Execution): Set<string> {
  const { created, modified, deleted } = artifacts;
  return new Set([...created, ...modified, ...deleted].map((name) => toInsidePath(workingDir, name)));
}

/** What the later runs tell of a result: how they found it, or which of them has changed it since. */
export interface ResultFate {
  readonly found: FileBefore | null;
  readonly changedBy: string | null;
}

/** A run finds files before it changes them, so the first one that tells anything decides. */
export function traceResult({ later }: ChainStep, path: string): ResultFate {
  for (const { title, before, changed } of later) {
    const found = before.get(path);
    if (found?.sha256) return { found, changedBy: null };
    if (changed.has(path)) return { found: null, changedBy: title };
  }
  return { found: null, changedBy: null };
}
