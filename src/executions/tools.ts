/**
 * The tools `execute_code`, `execute_bash`, `get_execution` and `search_executions`. They translate between MCP and
 * `executions.ts`. The text of an answer is made in `answer.ts`, the schemas are in `schema.ts`.
 */
import { z } from 'zod';
import { WorkcrateError } from '../errors.ts';
import { defineTool, isQuestion, type Tool } from '../mcp/tool.ts';
import { languages } from '../sandbox/sandbox.ts';
import {
  buildAnswer,
  endedShape,
  toEndLines,
  toInputLines,
  toOutputLines,
  type AnswerOptions,
} from './answer.ts';
import {
  clientFilesInput,
  crateFilesInput,
  findClientFiles,
  findCrateFiles,
  type ClientFilePort,
  type FindCrateFiles,
} from './client-and-crate-files.ts';
import type { Execution, Executions } from './executions.ts';
import {
  codeText,
  executionId,
  executionShape,
  filesInput,
  pageShape,
  searchInput,
  showExecution,
  toExecutionPage,
  stdinText,
} from './schema.ts';
import { describeFolders, describeSurroundings } from './surroundings.ts';
import { truncateText, type OutputBounds } from './truncation.ts';

export type { RequestedClientFile, ClientFilePort, FindCrateFiles } from './client-and-crate-files.ts';
export { readSurroundings, toInstallCommand, describePackages } from './surroundings.ts';

export interface ExecutionToolsOptions extends AnswerOptions {
  readonly executions: Executions;
  readonly timeoutMs: number;
  readonly maxTimeoutMs: number;
  /** How much of the code of an earlier run is shown. */
  readonly outputBounds: OutputBounds;
  /** Finds files in crates for runs; without it there are no crates. */
  readonly crateFiles?: FindCrateFiles;
  /** Asks the client for files of its own; without it nobody is asked. */
  readonly clientFiles?: ClientFilePort;
}

/** Code may do anything that the sandbox lets it; it meets the world where it has a network (D10). */
const toRunAnnotations = (surroundings: ExecutionToolsOptions['surroundings']) => ({
  readOnlyHint: false,
  destructiveHint: true,
  idempotentHint: false,
  openWorldHint: surroundings?.hasNetwork ?? true,
});
const readOnlyAnnotations = { readOnlyHint: true, openWorldHint: false };

/** Tools that run code, and that look up what was run. */
export function createExecutionTools(options: ExecutionToolsOptions): Tool[] {
  return [
    createExecuteCodeTool(options),
    createExecuteBashTool(options),
    createGetExecutionTool(options),
    createSearchExecutionsTool(options),
  ];
}

function createExecuteCodeTool(options: ExecutionToolsOptions): Tool {
  return defineTool({
    name: 'execute_code',
    group: 'code',
    title: 'Run code',
    description: `Runs Python, Node or Bash code in a sandbox and gives its output, exit code and the files it changed. Each run is a new process; /workspace and /artifacts are kept between runs. Write files for people to /artifacts.${describeFolders(options.surroundings ?? null)}${describeSurroundings(options.surroundings ?? null)}`,
    input: z.strictObject({
      language: z.enum(languages),
      code: codeText,
      timeout_ms: z
        .number()
        .int()
        .min(1)
        .optional()
        .describe(`Default ${options.timeoutMs}, at most ${options.maxTimeoutMs}`),
      working_dir: z
        .string()
        .min(1)
        .max(4096)
        .optional()
        .describe('In /workspace, /artifacts, /tmp or ~; default: a folder of its own in /workspace'),
      stdin: stdinText.optional(),
      files: filesInput,
      crate_files: crateFilesInput,
      client_files: clientFilesInput,
      session_id: z.string().min(1).max(200).optional().describe('There are no sessions yet: leave it out'),
    }),
    output: endedShape,
    annotations: toRunAnnotations(options.surroundings),
    auditFields: {
      subject: [],
      made: ['execution_id'],
      files: ['files', 'client_files', 'crate_files'],
      runEnd: { reason: 'end_reason', exitCode: 'exit_code' },
    },
    async handle(input, context) {
      const { caller, signal, progress } = context;
      if (input.session_id !== undefined)
        throw new WorkcrateError(
          'not_found',
          'There is no such session: this server has none. Leave session_id out.',
        );
      const clients = await findClientFiles(options.clientFiles, context, input.client_files);
      if (isQuestion(clients)) return clients;
      const request = {
        tool: 'execute_code',
        language: input.language,
        code: input.code,
        stdin: input.stdin ?? '',
        workingDir: input.working_dir ?? null,
        timeoutMs: input.timeout_ms ?? null,
        files: input.files ?? [],
        others: [...clients, ...(await findCrateFiles(options.crateFiles, context, input.crate_files))],
      };
      return buildAnswer(
        options,
        caller,
        await options.executions.run(caller, request, { signal, progress }),
      );
    },
  });
}

function createExecuteBashTool(options: ExecutionToolsOptions): Tool {
  return defineTool({
    name: 'execute_bash',
    group: 'code',
    title: 'Run a shell command',
    description: `Runs a Bash command in a sandbox, in /workspace, and gives its output, exit code and the files it changed. /workspace and /artifacts are kept between calls; /tools and /skills can be read. Write files for people to /artifacts.${describeFolders(options.surroundings ?? null)}`,
    input: z.strictObject({
      command: codeText,
      timeout: z
        .number()
        .min(0.001)
        .optional()
        .describe(`Seconds; default ${options.timeoutMs / 1000}, at most ${options.maxTimeoutMs / 1000}`),
      files: filesInput,
      crate_files: crateFilesInput,
      client_files: clientFilesInput,
    }),
    output: endedShape,
    annotations: toRunAnnotations(options.surroundings),
    auditFields: {
      subject: [],
      made: ['execution_id'],
      files: ['files', 'client_files', 'crate_files'],
      runEnd: { reason: 'end_reason', exitCode: 'exit_code' },
    },
    async handle({ command, timeout, files = [], crate_files, client_files }, context) {
      const { caller, signal, progress } = context;
      const clients = await findClientFiles(options.clientFiles, context, client_files);
      if (isQuestion(clients)) return clients;
      const request = {
        tool: 'execute_bash',
        language: 'bash' as const,
        code: command,
        stdin: '',
        workingDir: '/workspace',
        timeoutMs: timeout === undefined ? null : Math.ceil(timeout * 1000),
        files,
        others: [...clients, ...(await findCrateFiles(options.crateFiles, context, crate_files))],
      };
      return buildAnswer(
        options,
        caller,
        await options.executions.run(caller, request, { signal, progress }),
      );
    },
  });
}

function createGetExecutionTool({ executions, outputBounds }: ExecutionToolsOptions): Tool {
  return defineTool({
    name: 'get_execution',
    group: 'code',
    title: 'See what was run',
    description:
      'Gives the code, inputs, output, changed files, limits and end of an earlier run. Where output was cut, share_file makes a link of its stdout_file or stderr_file, for as long as that is kept.',
    input: z.strictObject({ execution_id: executionId }),
    output: executionShape,
    annotations: readOnlyAnnotations,
    auditFields: { subject: ['execution_id'], runEnd: { reason: 'end_reason', exitCode: 'exit_code' } },
    async handle({ execution_id }, { caller }) {
      const execution = await executions.get(caller, execution_id);
      return { text: describeExecution(execution, outputBounds), structured: showExecution(execution) };
    },
  });
}

function describeExecution(execution: Execution, bounds: OutputBounds): string {
  const { language, workingDir, startedAt, code, stdoutFile, stderrFile } = execution;
  return [
    `${language} in ${workingDir} at ${new Date(startedAt).toISOString()}:`,
    truncateText(code, bounds),
    ...toInputLines(execution),
    '--- stdout ---',
    ...toOutputLines(execution),
    ...toEndLines(execution),
    ...(stdoutFile === null ? [] : [`All of stdout: share_file with file_id ${stdoutFile}`]),
    ...(stderrFile === null ? [] : [`All of stderr: share_file with file_id ${stderrFile}`]),
  ].join('\n');
}

function createSearchExecutionsTool({ executions }: ExecutionToolsOptions): Tool {
  return defineTool({
    name: 'search_executions',
    group: 'code',
    title: 'Search earlier runs',
    description:
      'Lists your earlier runs, newest first, by page: by text in the start of the code or the output, language, outcome and time. As long as there is a `next` there may be more, even after a page with few or none.',
    input: searchInput,
    output: pageShape,
    annotations: readOnlyAnnotations,
    auditFields: { subject: [] },
    async handle(input, { caller }) {
      const page = await executions.search(caller, input);
      const lines = page.executions.map(
        ({ id, startedAt, language, reason, exitCode, code }) =>
          `${id}  ${new Date(startedAt).toISOString()}  ${language}  ${reason}${exitCode === null ? '' : ` ${exitCode}`}  ${JSON.stringify(code.slice(0, 80))}`,
      );
      if (lines.length === 0) lines.push(page.next === null ? 'Nothing was found.' : 'Nothing yet.');
      if (page.next !== null) lines.push(`Go on with after: ${page.next}`);
      return { text: lines.join('\n'), structured: toExecutionPage(page) };
    },
  });
}
