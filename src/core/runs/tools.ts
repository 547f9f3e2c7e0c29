/**
 * The tools that run code, follow a run, end it and search earlier ones. They translate between MCP and `executions.ts`.
 * The texts are made in `answer.ts` and `record-text.ts`, the schemas are in `schema.ts`.
 */
import { z } from 'zod';
import { WorkcrateError } from '../../platform/errors.ts';
import { hideArguments, listAs, makeText, makeWholeNumber } from '../offer/schema.ts';
import { formatDuration } from '../../platform/text/text.ts';
import { declareTool, isQuestion, type DeclaredTool, type ToolContext } from '../offer/tool.ts';
import type { Toolbox } from '../offer/toolbox.ts';
import { languages, type Language } from '../../ports/sandbox/sandbox.ts';
import type { RequestedTools, RunJudgement, RunPart } from './extension.ts';
import { continueForCall, runForCall, type AttendedRun } from './attend.ts';
import {
  buildAnswer,
  makeEndedShape,
  type AnswerOptions,
  describeEndOfRun,
  buildRunningAnswer,
  describeNextStep,
  maxWaitMs,
} from './answer.ts';
import type { CellSlot, SessionPort, WantedSession } from './cell-slot.ts';
import {
  clientFilesInput,
  crateFilesInput,
  findClientFiles,
  findCrateFiles,
  type ClientFilePort,
  type FindCrateFiles,
} from './client-and-crate-files.ts';
import type { ExecutionRequest, Executions } from './executions.ts';
import { describeFoundRuns, describeExecution } from './record-text.ts';
import {
  codeText,
  filesInput,
  makeTimeout,
  networkInput,
  pageShape,
  toolsInput,
  searchInput,
  toExecutionPage,
  stdinText,
  executionId,
  makeFollowedShape,
} from './schema.ts';
import { describeFolders, describeMemory, describeSurroundings } from './surroundings.ts';
import type { OutputBounds } from './output.ts';
import { reasons } from './fields.ts';
import type { CancelledRun } from './follow.ts';
import { showResultPictures, wantsPictures } from './results.ts';

export type { RequestedClientFile, ClientFilePort, FindCrateFiles } from './client-and-crate-files.ts';
export { makeEndedShape, type AnswerOptions } from './answer.ts';
export {
  readSurroundings,
  toInstallCommand,
  describePackages,
  describePythonToOperator,
  findMissingPackages,
} from './surroundings.ts';

export interface RunsRoom extends AnswerOptions {
  readonly executions: Executions;
  readonly timeoutMs: number;
  readonly maxTimeoutMs: number;
  /** After how long a run goes on without its call, where the client cannot wait; null: never. */
  readonly detachMs: number | null;
  /** Whether the settings let runs have a network, for as long as the sandbox has not said what it has. */
  readonly mayHaveNetwork?: boolean;
  /** Whether there is a list of hosts that runs may reach, of which a call may ask for fewer. */
  readonly hasHostList?: boolean;
  /** How much of the code of an earlier run is shown. */
  readonly outputBounds: OutputBounds;
  /** Finds files in crates for runs; without it there are no crates. */
  readonly crateFiles?: FindCrateFiles;
  /** Asks the client for files of its own; without it nobody is asked. */
  readonly clientFiles?: ClientFilePort;
  /** All tools that callers may use, for code that calls them. */
  readonly toolbox?: Toolbox;
  /** Finds and opens sessions; without it there are none. */
  readonly sessions?: SessionPort;
}

/** Code may do anything that the sandbox lets it; it meets the world where it has a network (D10). */
export const toRunAnnotations = ({
  surroundings,
  mayHaveNetwork = false,
}: Pick<RunTerms, 'surroundings' | 'mayHaveNetwork'>) => ({
  readOnlyHint: false,
  destructiveHint: true,
  idempotentHint: false,
  openWorldHint: surroundings?.hasNetwork ?? mayHaveNetwork,
});
const readOnlyAnnotations = { readOnlyHint: true, openWorldHint: false };

/** What these tools tell of the settings. */
export type RunTerms = Pick<
  RunsRoom,
  'record' | 'timeoutMs' | 'maxTimeoutMs' | 'surroundings' | 'mayHaveNetwork' | 'hasHostList'
>;

/** Tools that run code, and that look up what was run. */
export const declareExecutionTools = (terms: RunTerms): DeclaredTool<RunsRoom>[] => [
  declareExecuteCodeTool(terms),
  declareExecuteBashTool(terms),
  declareGetExecutionTool(terms),
  cancelExecutionTool,
  searchExecutionsTool,
];

const makeExecuteCodeInput = (terms: RunTerms) =>
  z.strictObject({
    language: z.enum(languages),
    code: codeText,
    timeout_ms: makeTimeout(terms).optional(),
    working_dir: makeText(4096, 'In /workspace, /artifacts, /tmp or ~; default: a new folder').optional(),
    stdin: stdinText.optional(),
    files: filesInput,
    crate_files: crateFilesInput,
    client_files: clientFilesInput,
    show: z.boolean().optional().describe('true: also show picture files it makes; false: no pictures'),
    background: z.boolean().optional().describe('Answer at once; get_execution waits for its end'),
    session_id: makeText(64, 'Continues a session: its id, or a name of yours, which makes one').optional(),
    reset: z.boolean().optional().describe('Begin the session anew'),
    network: networkInput,
    tools: toolsInput,
  });

/** Listed only where there is something to choose from: it costs every conversation its tokens. */
export const hideNetwork = ({ hasHostList = false }: RunTerms): 'network'[] =>
  hasHostList ? [] : ['network'];

function declareExecuteCodeTool(terms: RunTerms) {
  return declareTool({
    name: 'execute_code',
    view: 'ui://workcrate/run',
    alwaysLoad: true,
    searchHint: 'python, javascript, calculate, analyse data, plot, chart, image',
    group: 'code',
    title: 'Run code',
    description: `Runs a Python, Node or Bash script in a sandbox; gives output, exit code and changed files; of Python also the value of the last expression and its matplotlib figures. Each run is a new process, unless session_id continues one; /workspace and /artifacts are kept. Write files for people to /artifacts. For shell commands use execute_bash.${describeFolders(terms.surroundings ?? null)}${describeSurroundings(terms.surroundings ?? null)}${describeMemory(terms.surroundings ?? null)}`,
    input: hideArguments(makeExecuteCodeInput(terms), hideNetwork(terms)),
    output: makeEndedShape(terms.record),
    mayBeTask: true,
    annotations: toRunAnnotations(terms),
    auditFields: {
      subject: [],
      made: ['execution_id'],
      failed: ['session_id'],
      files: ['files', 'client_files', 'crate_files'],
      runEnd: { reason: 'end_reason', exitCode: 'exit_code', background: 'background' },
    },
    async handle(room: RunsRoom, input, context) {
      const { session_id, reset = false, language, working_dir = null, ...code } = input;
      const asked = { ...code, language, isCell: session_id !== undefined, tool: 'execute_code' };
      if (session_id !== undefined) {
        if (working_dir !== null) throw sessionFolderError();
        return runCell(room, context, { ...asked, wanted: { session: session_id, language, reset } });
      }
      if (reset) throw new WorkcrateError('invalid_input', 'reset is for a session: give its session_id.');
      return runCode(room, context, asked, async () => ({ language, workingDir: working_dir }));
    },
  });
}

export function sessionFolderError(): WorkcrateError {
  return new WorkcrateError(
    'invalid_input',
    'A session works in a folder of its own. Leave working_dir out, or give it to start_session.',
  );
}

/** What tools that run code have in common. */
interface CodeInput {
  readonly tool: string;
  readonly code: string;
  readonly timeout_ms?: number | undefined;
  readonly stdin?: string | undefined;
  readonly files?: readonly string[] | undefined;
  readonly crate_files?: z.output<typeof crateFilesInput>;
  readonly client_files?: z.output<typeof clientFilesInput>;
  readonly show?: boolean | undefined;
  readonly background?: boolean | undefined;
  readonly network?: readonly string[] | undefined;
  /** What those who ask for it add to it. */
  readonly part?: RunPart;
  /** Where it is known before the session is. */
  readonly language?: Language | undefined;
  readonly isCell?: boolean;
  /** The tools that the code may call. */
  readonly tools?: readonly string[] | undefined;
}

/** Runs a cell and answers as every run does. */
export async function runCell(
  options: RunsRoom,
  context: ToolContext,
  { wanted, ...input }: CodeInput & { readonly wanted: WantedSession },
) {
  const { sessions } = options;
  if (sessions === undefined)
    throw new WorkcrateError('unsupported', 'This server has no sessions. Leave session_id out.');
  let entered: CellSlot | null = null;
  try {
    return await runCode(options, context, input, async () => {
      const session = (entered = await sessions.enter(context.caller, wanted));
      return { language: session.language, workingDir: session.workingDir, session };
    });
  } catch (error) {
    // A run gives it back itself, but none may have begun.
    (entered as CellSlot | null)?.release();
    throw error;
  }
}

/** Where code runs; found when its inputs are. */
type FindPlace = () => Promise<Pick<ExecutionRequest, 'language' | 'workingDir' | 'session'>>;

/** Runs code for a call and answers as every run does. */
export async function runCode(
  options: RunsRoom,
  context: ToolContext,
  input: CodeInput,
  findPlace: FindPlace,
) {
  const continued = await continueForCall(options, context);
  if (continued !== null) return answerAttended(options, { ...context, show: input.show }, continued, null);
  const judged = await judgeEarly(options, context, input);
  if (judged?.refusal) return answerRefused(options, context, input, judged);
  const clients = await findClientFiles(options.clientFiles, context, input.client_files);
  if (isQuestion(clients)) return clients;
  const request: ExecutionRequest = {
    tool: input.tool,
    code: input.code,
    stdin: input.stdin ?? '',
    timeoutMs: input.timeout_ms ?? null,
    files: input.files ?? [],
    others: [...clients, ...(await findCrateFiles(options.crateFiles, context, input.crate_files))],
    network: input.network,
    part: input.part,
    judged,
    tools: toRequestedTools(options, context, input),
    ...(await findPlace()),
  };
  return answerRun(options, context, request, input);
}

/** Before a client is asked for files, and before a session begins anew: neither is done for code that may not run. */
async function judgeEarly(
  { executions }: RunsRoom,
  { caller, client }: ToolContext,
  { tool, language, code, stdin = '', client_files: files = [], isCell = false }: CodeInput,
): Promise<RunJudgement | null> {
  if (language === undefined || (files.length === 0 && !isCell)) return null;
  return executions.judge(caller, { tool, language, code, stdin, client: client.name });
}

/** Records that it was refused, and fails. */
function answerRefused(
  options: RunsRoom,
  context: ToolContext,
  { tool, code, stdin = '', language, part }: CodeInput,
  judged: RunJudgement,
) {
  const nothing = { workingDir: null, timeoutMs: null, files: [] };
  return answerRun(
    options,
    context,
    { ...nothing, tool, code, stdin, language: language!, part, judged },
    {},
  );
}

/** Runs code for a call, and answers with its result, or with how to go on if the run outlives the call. */
async function answerRun(
  options: RunsRoom,
  context: ToolContext,
  request: ExecutionRequest,
  { background = false, show }: { background?: boolean | undefined; show?: boolean | undefined },
) {
  const run = await runForCall(options, context, request, background);
  const answer = await answerAttended(options, { ...context, show }, run, request.session ?? null);
  const { timeoutMs } = request;
  if (isQuestion(answer) || timeoutMs === null || timeoutMs <= options.maxTimeoutMs) return answer;
  const [most, asked] = [options.maxTimeoutMs, timeoutMs].map((ms) => formatDuration(ms));
  return {
    ...answer,
    text: `${answer.text}\nIts limit was ${most}, the most that there is here, not ${asked}.`,
  };
}

async function answerAttended(
  options: RunsRoom,
  context: ToolContext & { readonly show: boolean | undefined },
  run: AttendedRun,
  session: CellSlot | null,
) {
  if ('question' in run) return run.question;
  if ('ended' in run) return buildAnswer(options, context, run.ended);
  return buildRunningAnswer(options.record, run.live, session, options.outputBounds, Date.now());
}

const toRequestedTools = (
  { toolbox }: RunsRoom,
  context: ToolContext,
  { tools = [] }: CodeInput,
): RequestedTools | undefined =>
  toolbox === undefined || tools.length === 0 ? undefined : { granted: tools, toolbox, context };

/** Inputs that both tools take are explained once, with execute_code. */
const briefList = { type: 'array', items: { type: 'string' }, description: 'As in execute_code' };

const makeExecuteBashInput = (terms: RunTerms) =>
  z.strictObject({
    command: codeText,
    timeout_ms: makeTimeout(terms).optional(),
    /** In seconds; programs that know the tool by its older form give it. */
    timeout: z.number().min(0.001).optional(),
    files: listAs(filesInput, briefList),
    crate_files: listAs(crateFilesInput, briefList),
    client_files: listAs(clientFilesInput, briefList),
    show: z.boolean().optional().describe('As in execute_code'),
    background: z.boolean().optional().describe('As in execute_code'),
    network: networkInput,
  });

function readTimeout({
  timeout_ms,
  timeout,
}: {
  timeout_ms?: number | undefined;
  timeout?: number | undefined;
}) {
  if (timeout_ms !== undefined && timeout !== undefined)
    throw new WorkcrateError('invalid_input', 'Give timeout_ms, or timeout in seconds, but not both.');
  return timeout_ms ?? (timeout === undefined ? null : Math.ceil(timeout * 1000));
}

function declareExecuteBashTool(terms: RunTerms) {
  return declareTool({
    name: 'execute_bash',
    view: 'ui://workcrate/run',
    group: 'code',
    title: 'Run a shell command',
    description: `Runs a Bash command in /workspace, in the sandbox of execute_code; gives output, exit code and changed files. /workspace and /artifacts are kept; /tools and /skills can be read. Write files for people to /artifacts.${describeFolders(terms.surroundings ?? null)}`,
    input: hideArguments(makeExecuteBashInput(terms), ['timeout', ...hideNetwork(terms)]),
    output: makeEndedShape(terms.record),
    mayBeTask: true,
    annotations: toRunAnnotations(terms),
    auditFields: {
      subject: [],
      made: ['execution_id'],
      files: ['files', 'client_files', 'crate_files'],
      runEnd: { reason: 'end_reason', exitCode: 'exit_code', background: 'background' },
    },
    async handle(room: RunsRoom, input, context) {
      const { command, files = [], crate_files, client_files, show, background, network } = input;
      const timeoutMs = readTimeout(input);
      const asked = { tool: 'execute_bash', language: 'bash' as const, code: command, client_files };
      const judged = await judgeEarly(room, context, asked);
      if (judged?.refusal) return answerRefused(room, context, asked, judged);
      const clients = await findClientFiles(room.clientFiles, context, client_files);
      if (isQuestion(clients)) return clients;
      const request = {
        tool: 'execute_bash',
        language: 'bash' as const,
        code: command,
        stdin: '',
        workingDir: '/workspace',
        timeoutMs,
        files,
        others: [...clients, ...(await findCrateFiles(room.crateFiles, context, crate_files))],
        network,
        judged,
      };
      return answerRun(room, context, request, { background, show });
    },
  });
}

const searchExecutionsTool = declareTool({
  name: 'search_executions',
  group: 'code',
  title: 'Search earlier runs',
  description:
    'Lists your earlier runs, newest first. As long as there is a next, there may be more, even after an empty page.',
  // For people who page both ways; a model goes on to older ones.
  input: hideArguments(searchInput, ['before']),
  output: pageShape,
  annotations: readOnlyAnnotations,
  auditFields: { subject: [] },
  async handle({ executions }: RunsRoom, input, { caller }) {
    const page = await executions.search(caller, input);
    return { text: describeFoundRuns(page), structured: toExecutionPage(page) };
  },
});

export const declareGetExecutionTool = ({ record }: Pick<RunTerms, 'record'>) =>
  declareTool({
    name: 'get_execution',
    view: 'ui://workcrate/run',
    group: 'code',
    title: 'See what was run',
    description:
      'Shows a run: code, inputs, output, changed files, limits, how it ended, and the file_id of output that was cut. Can wait for the end of one that is running.',
    input: z.strictObject({
      execution_id: executionId,
      wait_ms: makeWholeNumber(0, maxWaitMs, `How long to wait for its end, at most ${maxWaitMs}`).optional(),
      output_from: makeWholeNumber(
        0,
        Number.MAX_SAFE_INTEGER,
        'Only the output from this offset on, without the code',
      ).optional(),
    }),
    output: makeFollowedShape(record),
    annotations: { readOnlyHint: true, openWorldHint: false },
    auditFields: { subject: ['execution_id'], runEnd: { reason: 'end_reason', exitCode: 'exit_code' } },
    async handle(
      room: RunsRoom,
      { execution_id, wait_ms: waitMs = 0, output_from },
      { caller, client, signal },
    ) {
      const { executions, outputBounds } = room;
      const run = await executions.follow(caller, execution_id, { waitMs, signal });
      const { execution, isElsewhere } = run;
      const isRunning = execution.reason === 'running';
      const output =
        isRunning || output_from !== undefined ? run.readOutput(output_from ?? 0, outputBounds.most) : null;
      const view = { output, isElsewhere, outputFrom: output_from ?? null };
      // Of a run in the background, this is the first answer that can show its figures.
      const { pictures } = wantsPictures(undefined, client)
        ? await showResultPictures(room, caller, execution)
        : { pictures: [] };
      return {
        get text() {
          return describeExecution(record, execution, outputBounds, view);
        },
        structured: { ...record.show(execution), output, running_elsewhere: isElsewhere },
        content: pictures,
      };
    },
  });

const cancelExecutionTool = declareTool({
  name: 'cancel_execution',
  group: 'code',
  title: 'End a run',
  description:
    'Ends a run of yours that is running or waiting. get_execution then shows what it had printed.',
  input: z.strictObject({ execution_id: executionId }),
  output: z.object({
    execution_id: z.string(),
    cancelled: z.boolean().describe('False where it was over already, or is not over yet'),
    end_reason: z.enum(reasons),
  }),
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
  auditFields: { subject: ['execution_id'] },
  async handle({ executions }: RunsRoom, { execution_id }, { caller }) {
    const run = await executions.cancel(caller, execution_id);
    const { reason } = run.execution;
    return {
      text: describeCancelled(run),
      structured: { execution_id, cancelled: isCancelled(run), end_reason: reason },
    };
  },
});

const isCancelled = ({ execution, wasOver }: CancelledRun): boolean =>
  !wasOver && execution.reason === 'cancelled';

function describeCancelled(run: CancelledRun): string {
  const { execution, wasOver } = run;
  const end = describeEndOfRun(execution);
  if (wasOver) return `${end}\nIt was over already, so nothing was cancelled.`;
  if (isCancelled(run)) return `${end}\nIt has ended. get_execution shows what it had printed.`;
  if (execution.reason !== 'running') return `${end}\nIt ended by itself before it could be cancelled.`;
  return `${end}\nIts server was told to end it, and has not done so yet. ${describeNextStep(execution.id, null)}`;
}
