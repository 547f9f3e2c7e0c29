/** Runs that are packed together, as steps in the order of their start. It reads records only, and no files. */
import { WorkcrateError } from '../../platform/errors.ts';
import type { Execution } from '../../core/runs/executions.ts';
import type { Language } from '../../ports/sandbox/sandbox.ts';

/** A run of the chain. */
export interface ChainStep {
  readonly execution: Execution;
  /** How it is called in notes: by its number in a chain, else `the run`. */
  readonly title: string;
  /** The folder of its files in the crate, with a slash at its end; empty if it is the only run. */
  readonly folder: string;
  readonly isChain: boolean;
  /** The session in which it can find the state of the steps before it; null if it was a run of its own. */
  readonly session: string | null;
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
  return ordered.map((execution, index) => ({
    execution,
    title: isChain ? `step ${index + 1}` : 'the run',
    folder: isChain ? `step-${index + 1}/` : '',
    isChain,
    session: session ?? execution.sessionId,
  }));
}

function checkRunEnded({ id, reason }: Execution): void {
  if (reason === 'running')
    throw new WorkcrateError('invalid_input', `${id} is still running. Pack it when it has ended.`);
  if (reason === 'refused')
    throw new WorkcrateError('invalid_input', `${id} was never started, so there is nothing to pack.`);
}

/** The path of a file as all runs see it. */
export function toPathInRun(workingDir: string, name: string): string {
  return name.startsWith('/') ? name : `${workingDir.replace(/\/+$/, '')}/${name}`;
}
