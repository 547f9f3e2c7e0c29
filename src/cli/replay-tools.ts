/**
 * Lets the code of a replayed run call tools: those that the crate has the answers of, or the real ones of a running
 * server. Nobody is asked, so what does more than read is refused.
 */
import type { ServerConfig as Config } from '../server/settings.ts';
import type { ReplayTools } from '../features/packing/replay.ts';
import { WorkcrateError } from '../platform/errors.ts';
import { localCaller } from '../core/identity.ts';
import type { ToolContext } from '../core/offer/tool.ts';
import type { Toolbox } from '../core/offer/toolbox.ts';
import { createLog } from '../platform/observability/log.ts';
import { createRunQuestions } from '../core/runs/questions.ts';
import { createToolCalls, type ToolCall } from '../features/code-mode/tool-calls.ts';

const replayRun = { id: 'exec_000000000000', user: 'replay' };

export function createReplayTools(config: Config, live: Toolbox | null): ReplayTools {
  return {
    live,
    async open(toolbox, run) {
      const made: ToolCall[] = [];
      const calls = createToolCalls({
        mostCalls: config.toolCalls,
        mostAtOnce: config.toolCallsAtOnce,
        openSource: async () => {
          throw new WorkcrateError(
            'unsupported',
            'The bytes that a run saved are not in its crate, so this call of save cannot be replayed.',
          );
        },
        recorder: { note: async (_, call) => void made.push(call) },
        clock: Date.now,
        log: createLog('warn'),
      });
      const context = createContext(run.signal);
      const granted = (await toolbox.list(context)).map(({ name }) => name);
      const requested = { granted, toolbox, context };
      const grant = await calls.grant(requested, run.language);
      const questions = createRunQuestions({ isAttended: false, timeoutMs: 0, abandoned: () => {} });
      const opened = calls.open({ ...run, ...replayRun, questions }, requested, grant);
      return {
        request: { tools: opened.tools },
        end() {
          opened[Symbol.dispose]();
          return made;
        },
      };
    },
  };
}

/** Of a client that can be asked nothing. */
const createContext = (signal: AbortSignal): ToolContext => ({
  caller: localCaller,
  signal,
  stopping: signal,
  sharesMachine: false,
  mayUse: () => true,
  canWait: true,
  progress: () => {},
  task: null,
  client: {
    name: null,
    connection: null,
    capabilities: {},
    state: null,
    answer: () => {
      throw new WorkcrateError('unsupported', 'Nobody can be asked while a crate is replayed.');
    },
  },
});
