import type { CallToolResult, ClientCapabilities } from '@modelcontextprotocol/server';
import { createLog } from '../../../src/platform/observability/log.ts';
import { bubblewrapSandbox } from '../../../src/ports/sandbox/bubblewrap/bubblewrap.ts';
import {
  openBench,
  outcomeOf,
  type Bench,
  type Outcome,
} from '../../../src/ports/sandbox/contract/harness.contract.ts';
import { joinPlaces, testPlaces } from '../../../src/ports/sandbox/places.testing.ts';
import { contractOptions } from '../../../src/ports/sandbox/sandbox.contract.ts';
import type { Language } from '../../../src/ports/sandbox/sandbox.ts';
import { hashDefinition, type Toolbox, type ToolDefinition } from '../../../src/core/offer/toolbox.ts';
import type { Question, ToolContext } from '../../../src/core/offer/tool.ts';
import { createRunQuestions } from '../../../src/core/runs/questions.ts';
import { createToolCalls, type ToolCall } from '../../../src/features/code-mode/tool-calls.ts';

/** Tools of a server that a test plays. */
export type PlayedTools = Readonly<
  Record<string, (input: Record<string, unknown>, context: ToolContext) => Promise<CallToolResult | Question>>
>;

export const say = (text: string): CallToolResult => ({ content: [{ type: 'text', text }] });

export function playToolbox(server: string, tools: PlayedTools): Toolbox {
  const define = (name: string): ToolDefinition => {
    const told = {
      name: `${server}_${name}`,
      title: null,
      description: `Does ${name}`,
      inputSchema: { type: 'object' },
      outputSchema: null,
      annotations: { readOnlyHint: true },
    };
    return { ...told, server, nameThere: name, hash: hashDefinition(told) };
  };
  const list = Object.keys(tools).map(define);
  return {
    list: async () => list,
    has: async (name) => list.some((tool) => tool.name === name),
    call: (name, input, context) => tools[name.slice(server.length + 1)]!(input, context),
  };
}

function createTestContext(capabilities: ClientCapabilities = {}): ToolContext {
  const never = new AbortController().signal;
  return {
    caller: { user: 'anna', since: 0 },
    signal: never,
    stopping: never,
    client: {
      name: 'test',
      connection: null,
      capabilities,
      state: null,
      answer: () => ({ kind: 'missing' }),
    },
    sharesMachine: false,
    mayUse: () => true,
    canWait: true,
    progress: () => {},
    task: null,
  };
}

export interface PlayedRun extends Outcome {
  readonly calls: readonly ToolCall[];
}

export interface CallsBench extends AsyncDisposable {
  readonly bench: Bench;
  /** Runs code that may call all tools of the toolbox. */
  run(language: Language, code: string, toolbox: Toolbox, more?: PlayedOptions): Promise<PlayedRun>;
}

export interface PlayedOptions {
  readonly mostCalls?: number;
  readonly signal?: AbortSignal;
}

/** Bubblewrap with tools that a test plays, without a server around it. */
export async function openCallsBench(): Promise<CallsBench> {
  const bench = await openBench(async (options) => {
    const places = await testPlaces();
    const sandbox = await bubblewrapSandbox({ ...contractOptions, ...options, python: null });
    return joinPlaces(sandbox, places);
  });
  return {
    bench,
    async run(language, code, toolbox, { mostCalls = 100, signal = new AbortController().signal } = {}) {
      const calls: ToolCall[] = [];
      const room = createToolCalls({
        mostCalls,
        mostAtOnce: 8,
        openSource: async () => null,
        recorder: { note: async (_, call) => void calls.push(call) },
        clock: Date.now,
        log: createLog('off'),
      });
      const { inside } = await bench.folder();
      const context = createTestContext();
      const granted = (await toolbox.list(context)).map(({ name }) => name);
      const requested = { granted: [...granted, 'save'], toolbox, context };
      using questions = createRunQuestions({ isAttended: false, timeoutMs: 1000, abandoned: () => {} });
      using open = room.open(
        {
          id: 'exec_000000000000',
          user: 'anna',
          sandbox: bench.sandbox,
          place: await bench.place('anna'),
          workingDir: inside,
          questions,
          signal,
        },
        requested,
        await room.grant(requested, language),
      );
      const { tools } = open;
      const run = await bench.start(language, code, { tools, signal, workingDir: inside });
      return { ...(await outcomeOf(run)), calls };
    },
    [Symbol.asyncDispose]: () => bench[Symbol.asyncDispose](),
  };
}
