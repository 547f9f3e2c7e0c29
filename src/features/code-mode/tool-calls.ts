/**
 * The door of this room: lets the code of a run call tools, for as long as the run lasts. It puts grant, files, channel
 * and broker together. It runs no code (`core/runs/`), has no tools of its own, and keeps no record (`CallRecorder`).
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../../platform/clock.ts';
import { WorkcrateError } from '../../platform/errors.ts';
import type { ToolContext } from '../../core/offer/tool.ts';
import type { RequestedTools } from '../../core/runs/extension.ts';
import type { RunQuestions } from '../../core/runs/questions.ts';
import type { Log } from '../../platform/observability/log.ts';
import {
  createRunClock,
  type Language,
  type RunTools,
  type Sandbox,
  type Workspace,
} from '../../ports/sandbox/sandbox.ts';
import { createBroker } from './broker.ts';
import { createChannel } from './channel.ts';
import { grantTools, type ToolGrant } from './grant.ts';
import { createRunFiles } from './run-files.ts';
import { isSaveTool, saveToTool, type OpenSource } from './save.ts';
import { createStubCache } from './stubs/stubs.ts';
import type { CallRecorder } from './runs.ts';

export type { FileSource } from './run-files.ts';
export { saveToTool } from './save.ts';
export type { CallRecorder, ToolCall } from './runs.ts';

export interface ToolCallsOptions {
  /** Of one run. */
  readonly mostCalls: number;
  readonly mostAtOnce: number;
  readonly openSource: OpenSource;
  readonly recorder: CallRecorder;
  readonly clock: Clock;
  readonly log: Log;
}

export interface CallingRun {
  readonly id: string;
  readonly user: string;
  readonly sandbox: Sandbox;
  readonly place: Workspace;
  readonly workingDir: string;
  readonly questions: RunQuestions;
  readonly signal: AbortSignal;
}

/** What a run has of tools, until it is disposed of when the run has ended. Calls that are under way are cancelled then. */
export interface OpenToolCalls extends Disposable {
  readonly tools: RunTools;
}

export interface ToolCalls {
  /** Which tools code may call. Rejects what grants nothing, and languages that cannot call. */
  grant(requested: RequestedTools, language: Language): Promise<ToolGrant>;
  /** For a run that is about to start. */
  open(run: CallingRun, requested: RequestedTools, grant: ToolGrant): OpenToolCalls;
}

/** How long people may keep the clock of a run standing, over all questions. */
const maxHeldMs = 30 * 60_000;
/** A run that is refused so many times more often than it may call is cut off. */
const maxBrokerTries = 10;

export function createToolCalls(options: ToolCallsOptions): ToolCalls {
  const { mostCalls, mostAtOnce } = options;
  const makeStubs = createStubCache();
  const library = readLibrary();
  return {
    async grant({ granted, toolbox, context }, language) {
      if (language === 'bash')
        throw new WorkcrateError(
          'invalid_input',
          'tools are for Python and Node, which have functions for them. Leave tools out, or use another language.',
        );
      const known = await toolbox.list(context);
      // A replay has it among the tools that were recorded.
      return grantTools(granted, known.some(isSaveTool) ? known : [...known, saveToTool]);
    },
    open(run, { toolbox, context }, grant) {
      const { id, user, questions } = run;
      const ending = new AbortController();
      const signal = AbortSignal.any([run.signal, ending.signal]);
      const runClock = createRunClock(maxHeldMs);
      const files = createRunFiles({ ...run, otherwise: id, signal });
      const broker = createBroker({
        ...options,
        execution: { id, user },
        grant,
        toolbox,
        context: toRunContext(context, signal),
        questions,
        runClock,
        files,
      });
      const channel = createChannel({
        mostAtOnce,
        mostRequests: mostCalls * maxBrokerTries,
        answer: (request) => broker.answer(request),
      });
      const definitions = [...grant.values()].map(({ definition }) => definition);
      options.recorder.offer?.({ id, user }, definitions);
      return {
        tools: {
          files: new Map([...library, ...makeStubs(definitions.filter((one) => !isSaveTool(one)))]),
          accept: (connection) => channel.accept(connection),
          clock: runClock,
        },
        [Symbol.dispose]() {
          channel[Symbol.dispose]();
          ending.abort(new WorkcrateError('cancelled', 'The run has ended.'));
          questions[Symbol.dispose]();
        },
      };
    },
  };
}

/**
 * A call of code is no call of the client: it ends with the run, becomes no task and reports no progress. Code shares no
 * machine with anybody: what a client's own user may read by a path, a run may not.
 */
const toRunContext = (context: ToolContext, signal: AbortSignal): ToolContext => ({
  ...context,
  signal,
  sharesMachine: false,
  task: null,
  canWait: true,
  progress: () => {},
  client: { ...context.client, state: null },
});

const brokerFolder = join(import.meta.dirname, 'inside');

/** Of /tools/mcp, which is a package of its own, so that none of the same name is found instead. */
function readLibrary(): [string, string][] {
  const names = ['_workcrate.py', '_workcrate.mjs'];
  return [
    ['__init__.py', ''],
    ...names.map((name): [string, string] => [name, readFileSync(join(brokerFolder, name), 'utf8')]),
  ];
}
