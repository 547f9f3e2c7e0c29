/**
 * The tool `run_script`: it runs a version of a script as execute_code runs code, with arguments. These go in as JSON on
 * stdin: a channel that every language and backend has, and that nothing takes for code (decision 051).
 */
import { z } from 'zod';
import { WorkcrateError } from '../../platform/errors.ts';
import { clientFilesInput, crateFilesInput } from '../../core/runs/client-and-crate-files.ts';
import { filesInput, makeTimeout, stdinText, toolsInput } from '../../core/runs/schema.ts';
import {
  makeEndedShape,
  runCell,
  runCode,
  sessionFolderError,
  toRunAnnotations,
  type RunsRoom,
} from '../../core/runs/tools.ts';
import type { Caller } from '../../core/identity.ts';
import { listAs, makeText } from '../../core/offer/schema.ts';
import { declareTool, type DeclaredTool } from '../../core/offer/tool.ts';
import type { Language } from '../../ports/sandbox/sandbox.ts';
import { toScriptLabel } from './names.ts';
import { scriptReference } from './schema.ts';
import type { Scripts, WholeScript } from './scripts.ts';

/** Which of these packages a run of the caller would not find. Resolves with none where nobody can tell. */
export type FindMissingPackages = (
  caller: Caller,
  language: Language,
  names: readonly string[],
  signal: AbortSignal,
) => Promise<readonly string[]>;

/** What its text and schema depend on. */
export type RunScriptTerms = Pick<
  RunsRoom,
  'record' | 'timeoutMs' | 'maxTimeoutMs' | 'surroundings' | 'mayHaveNetwork'
>;

export interface RunScriptRoom extends RunsRoom {
  readonly scripts: Pick<Scripts, 'get' | 'toRun'>;
  readonly findMissingPackages: FindMissingPackages;
}

/** Taken as it is: a schema that copies objects would lose keys such as `__proto__`. */
const argsInput = listAs(
  z.custom<object>((value) => typeof value === 'object' && value !== null, 'args is a JSON object or a list'),
  { type: 'object', description: 'The code reads it as JSON from stdin; a list is taken too' },
);

const asInExecuteCode = { type: 'array', items: { type: 'string' }, description: 'As in execute_code' };

const makeRunInput = (terms: RunScriptTerms) =>
  z.strictObject({
    name: scriptReference,
    args: argsInput.optional(),
    timeout_ms: makeTimeout(terms).optional(),
    working_dir: makeText(4096, 'As in execute_code').optional(),
    files: listAs(filesInput, asInExecuteCode),
    crate_files: listAs(crateFilesInput, asInExecuteCode),
    client_files: listAs(clientFilesInput, asInExecuteCode),
    session_id: makeText(64, 'As in execute_code').optional(),
    background: z.boolean().optional().describe('As in execute_code'),
    show: z.boolean().optional().describe('As in execute_code'),
    tools: listAs(toolsInput, asInExecuteCode),
  });

export const declareRunScriptTool = (terms: RunScriptTerms): DeclaredTool<RunScriptRoom> =>
  declareTool({
    name: 'run_script',
    view: 'ui://workcrate/run',
    group: 'scripts',
    title: 'Run a script',
    description:
      'Runs a saved script, the latest version unless one is named, and answers as execute_code does.',
    input: makeRunInput(terms),
    output: makeEndedShape(terms.record),
    annotations: toRunAnnotations(terms),
    mayBeTask: true,
    auditFields: {
      subject: [],
      made: ['execution_id'],
      failed: ['name', 'session_id'],
      files: ['files', 'client_files', 'crate_files'],
      runEnd: { reason: 'end_reason', exitCode: 'exit_code', background: 'background' },
    },
    async handle(room: RunScriptRoom, { name, args = {}, session_id, working_dir = null, ...run }, context) {
      const { scripts, findMissingPackages } = room;
      const { caller, signal } = context;
      if (session_id !== undefined && working_dir !== null) throw sessionFolderError();
      const stdin = toStdin(args);
      const script = await scripts.get(caller, name);
      await checkPackagesNamed(findMissingPackages, caller, script, signal);
      const { language, code } = script;
      const asked = {
        ...run,
        language,
        code,
        stdin,
        tool: 'run_script',
        part: scripts.toRun(caller, script),
        isCell: session_id !== undefined,
      };
      if (session_id === undefined)
        return runCode(room, context, asked, async () => ({ language, workingDir: working_dir }));
      return runCell(room, context, { ...asked, wanted: { session: session_id, language, reset: false } });
    },
  });

/** One line, so that a shell can read it with `read`. */
function toStdin(args: object): string {
  try {
    return stdinText.parse(`${JSON.stringify(args)}\n`);
  } catch (error) {
    // Of JSON, only what is nested some thousand deep.
    if (error instanceof RangeError) throw unusableArgsError('is nested too deeply');
    if (error instanceof z.ZodError) throw unusableArgsError('has more than 2 MB; send it as a file instead');
    throw error;
  }
}

const unusableArgsError = (why: string): WorkcrateError =>
  new WorkcrateError('invalid_input', `args ${why}. Nothing was run.`);

async function checkPackagesNamed(
  findMissingPackages: FindMissingPackages,
  caller: Caller,
  script: WholeScript,
  signal: AbortSignal,
): Promise<void> {
  const { language, packages } = script;
  if (packages.length === 0) return;
  const missing = await findMissingPackages(caller, language, packages, signal);
  if (missing.length === 0) return;
  const names = missing.join(', ');
  throw new WorkcrateError(
    'packages_missing',
    `${toScriptLabel(script)} needs ${language} packages that are not installed: ${names}. Nothing was run. Install them, or ask whoever runs the server; or save a version that does without them.`,
    { details: { packages: names } },
  );
}
