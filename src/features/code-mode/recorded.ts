/**
 * Calls that were recorded, as tools: a run that is replayed gets the answers of the first time, by tool and arguments,
 * in order. And what differs between the calls of two runs. It calls nothing real.
 */
import type { CallToolResult } from '@modelcontextprotocol/server';
import { WorkcrateError } from '../../platform/errors.ts';
import { toErrorResult } from '../../core/offer/tool.ts';
import { hashDefinition, toolNotFoundError, type Toolbox } from '../../core/offer/toolbox.ts';
import { toOfferedDefinition, type RecordedTool } from './offered-tool.ts';
import type { RecordedCall } from './store.ts';

/** What a replay needs of a call. */
export type ReplayedCall = Pick<
  RecordedCall,
  'sequence' | 'tool' | 'definitionHash' | 'argumentsHash' | 'result' | 'resultHash' | 'outcome' | 'error'
>;

const toCallKey = ({ tool, argumentsHash }: Pick<ReplayedCall, 'tool' | 'argumentsHash'>): string =>
  `${argumentsHash} ${tool}`;

function groupCalls<T extends Pick<ReplayedCall, 'tool' | 'argumentsHash'>>(calls: readonly T[]) {
  const groups = new Map<string, T[]>();
  for (const call of calls) {
    const known = groups.get(toCallKey(call));
    if (known === undefined) groups.set(toCallKey(call), [call]);
    else known.push(call);
  }
  return groups;
}

/**
 * The tools that a run could call, with the answers that they gave. The same call again gets the next answer that was
 * recorded for it, and the last one from then on. A call that was not recorded is an error, which code can catch.
 */
export function createRecordedToolbox(
  calls: readonly ReplayedCall[],
  tools: readonly RecordedTool[],
): Toolbox {
  const answers = groupCalls(calls);
  const definitions = new Map(tools.map((tool) => [tool.name, toOfferedDefinition(tool)]));
  return {
    list: async () => [...definitions.values()],
    has: async (name) => definitions.has(name),
    async call(tool, input) {
      if (!definitions.has(tool)) throw toolNotFoundError(tool, definitions.keys());
      const left = answers.get(toCallKey({ tool, argumentsHash: hashDefinition(input) }));
      if (left === undefined) return notRecordedResult(tool);
      return toRecordedResult(left.length > 1 ? left.shift()! : left[0]!);
    },
  };
}

const toErrorAnswer = (code: 'not_found' | 'forbidden' | 'too_large', message: string): CallToolResult =>
  toErrorResult(new WorkcrateError(code, message));

const notRecordedResult = (name: string): CallToolResult =>
  toErrorAnswer(
    'not_found',
    `No call of ${name} with these arguments was recorded. Replay with --tools live.`,
  );

function toRecordedResult(call: ReplayedCall): CallToolResult {
  if (call.result !== null) return call.result;
  if (call.resultHash === null)
    return toErrorAnswer(
      'forbidden',
      call.error ?? `The call of ${call.tool} was ${call.outcome} the first time.`,
    );
  const message = `The answer of ${call.tool} was too large to be recorded. Replay with --tools live.`;
  return toErrorAnswer('too_large', message);
}

/**
 * The real tools under the names that the code had for them. Crates come from anywhere, and nobody can be asked: what
 * does not only read says that it destroys, so that it is refused.
 */
export function createLiveToolbox(live: Toolbox, tools: readonly RecordedTool[]): Toolbox {
  return {
    ...live,
    async list(context) {
      const known = new Map((await live.list(context)).map((definition) => [definition.name, definition]));
      return tools.flatMap(({ name, server, nameThere }) => {
        const definition = known.get(name);
        if (definition === undefined) return [];
        const isReadOnly = definition.annotations.readOnlyHint === true;
        const annotations = isReadOnly ? definition.annotations : { destructiveHint: true };
        return [{ ...definition, server, nameThere, annotations }];
      });
    },
  };
}

/** How a call of this run compares with those that were recorded. */
export type CallState = 'same' | 'other result' | 'other definition' | 'missing' | 'extra';

export interface CallDiff {
  readonly tool: string;
  /** Its number among the calls of its run: of the first run where it is missing now. */
  readonly sequence: number;
  readonly state: CallState;
}

export type ComparedCall = Omit<ReplayedCall, 'result' | 'error'>;

/**
 * Compares the calls of two runs: each call now with the first that was recorded for the same tool and arguments and is
 * not taken yet. Other arguments show as one call that is missing and one that is extra.
 */
export function diffCalls(recorded: readonly ComparedCall[], made: readonly ComparedCall[]): CallDiff[] {
  const left = groupCalls(recorded);
  const diffs = made.map((call): CallDiff => {
    const before = left.get(toCallKey(call))?.shift();
    const state = before === undefined ? 'extra' : compareCall(before, call);
    return { tool: call.tool, sequence: call.sequence, state };
  });
  const missing = [...left.values()].flat().toSorted((one, other) => one.sequence - other.sequence);
  return [...diffs, ...missing.map(({ tool, sequence }): CallDiff => ({ tool, sequence, state: 'missing' }))];
}

function compareCall(before: ComparedCall, now: ComparedCall): CallState {
  if (before.definitionHash !== now.definitionHash) return 'other definition';
  // What was refused has no result, and its error says who refused it.
  const bothFailed = before.resultHash === null && now.outcome !== 'ok';
  return bothFailed || before.resultHash === now.resultHash ? 'same' : 'other result';
}
