/**
 * Runs a program of the server itself behind the walls of a user's runs: for what has to be asked of an interpreter, or is
 * too hostile to be read in this process. It is no run of the user, so nothing of it is recorded or kept.
 */
import { WorkcrateError } from '../../platform/errors.ts';
import { collectText } from '../../platform/streams.ts';
import type { Language, RunEnd, Sandbox } from '../../ports/sandbox/sandbox.ts';
import type { Caller } from '../identity.ts';
import type { Workspaces } from '../workspaces/workspaces.ts';
import { newExecutionId } from './store.ts';

export interface Program {
  readonly language: Language;
  readonly code: string;
  readonly stdin: string;
  /** As seen inside. */
  readonly workingDir: string;
  /** Of its output, in bytes; what is beyond is cut off. */
  readonly maxOutput: number;
}

export interface SandboxProgramEnd extends RunEnd {
  readonly stdout: string;
}

/** In the folders of its caller. `sandbox_unavailable` where the language does not run. */
export type RunProgram = (
  caller: Caller,
  program: Program,
  signal: AbortSignal,
) => Promise<SandboxProgramEnd>;

const maxProgramMs = 20_000;

export function createProgramRunner(sandbox: Sandbox | string, places: Pick<Workspaces, 'of'>): RunProgram {
  return async ({ user }, { maxOutput: limit, ...program }, signal) => {
    const run = await demandLanguage(sandbox, program.language).start({
      ...program,
      id: newExecutionId(),
      user,
      place: await places.of(user),
      timeoutMs: maxProgramMs,
      signal,
    });
    const [stdout, , end] = await Promise.all([
      collectText(run.stdout, { limit, tooLong: 'truncate' }),
      collectText(run.stderr, { limit, tooLong: 'truncate' }),
      run.ended,
    ]);
    return { ...end, stdout };
  };
}

/** The sandbox, where it runs the language. */
export function demandLanguage(sandbox: Sandbox | string, language: Language): Sandbox {
  if (typeof sandbox === 'string')
    throw new WorkcrateError('sandbox_unavailable', `No code can be run here. ${sandbox}`);
  if (sandbox.languages.includes(language)) return sandbox;
  throw new WorkcrateError(
    'sandbox_unavailable',
    `${language} is not installed where code runs. Available: ${sandbox.languages.join(', ')}.`,
  );
}
