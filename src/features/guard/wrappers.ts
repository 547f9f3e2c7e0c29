/**
 * Puts the guard at every door by which something is asked or told: our tools, those of other servers, and requests for
 * resources, prompts and completions. Code and output of runs are judged with the run (`core/runs/`), where code of
 * scripts and sessions is known; here it is what their answers say besides.
 */
import { isRunTool } from '../../core/audit/run-lines.ts';
import type { JudgeAnswer } from '../../core/offer/judge.ts';
import type { Toolbox } from '../../core/offer/toolbox.ts';
import {
  isQuestion,
  toErrorResult,
  type Tool,
  type ToolAnswer,
  type ToolContext,
} from '../../core/offer/tool.ts';
import type { JudgeRooms, OpenJudge } from '../../core/feature.ts';
import { createGuard, type Guard } from './guard.ts';
import {
  demandCall,
  demandQuestion,
  fitAnswer,
  fitError,
  fitRequested,
  fitResult,
  isVerdictError,
  type Door,
} from './judged-answer.ts';
import { loadRules } from './rule-file.ts';
import { createRunGuard } from './runs.ts';

/** The guard with the rules of a file. One that cannot be read or has a fault keeps the server from starting. */
export async function openGuard({ audit, files, log }: JudgeRooms, file: string): Promise<OpenJudge> {
  const { rules, judge } = loadRules(file);
  log.info('start.guard', { rules: rules.length, judge: judge !== null });
  const guard = createGuard({ rules, judge, audit, log });
  return {
    calls: {
      judgeTool: (tool) => guardTool(tool, guard),
      judgeToolbox: (toolbox) => guardToolbox(toolbox, guard),
      judgeAnswer: createAnswerJudge(guard),
    },
    runs: createRunGuard({ guard, files, log }),
    [Symbol.asyncDispose]: () => guard[Symbol.asyncDispose](),
  };
}

/** The same tool, judged; the tool itself where nothing of the guard is about it. */
export function guardTool(tool: Tool, guard: Guard): Tool {
  const judged = { name: tool.name, isSensitive: isSensitive(tool) };
  const isRun = isRunTool(tool.name);
  const before = !isRun && guard.judges(judged, 'before');
  const after = guard.judges(judged, 'after');
  if (!before && !after) return tool;
  const fitsSchema = (structured: unknown): boolean => tool.output.safeParse(structured).success;
  return {
    ...tool,
    async handle(input, context) {
      const door = { guard, tool: judged, context };
      if (before) await demandCall(door, toAsked(input));
      if (!after) return tool.handle(input, context);
      // What a run prints meanwhile is held back where it runs.
      const answer = await judgeErrors(door, () =>
        tool.handle(input, isRun ? context : withoutMessages(context)),
      );
      if (isQuestion(answer)) return demandQuestion(door, answer);
      return isRun && !saysMore(answer) ? answer : fitAnswer(door, answer, fitsSchema);
    },
  };
}

/** What changes something, reaches the world outside or brings files of the client. */
const isSensitive = ({ annotations, group }: Tool): boolean =>
  annotations.readOnlyHint !== true || annotations.openWorldHint === true || group === 'client';

/** Of the answer to a run: what was judged with it, and words of ours. Whatever else it has is judged by itself. */
const judgedWithRun: ReadonlySet<string> = new Set([
  'execution_id',
  'language',
  'stdout',
  'stderr',
  'signal',
  'end_reason',
  'unenforced',
  'results',
  'full_stdout',
  'full_stderr',
  'guard',
  'background',
]);

/** Whether the answer to a run names files, hosts or anything else beside what the run printed. */
function saysMore({ structured }: ToolAnswer<unknown>): boolean {
  return Object.entries(structured as object).some(
    ([key, value]) => !judgedWithRun.has(key) && hasText(value),
  );
}

const hasText = (value: unknown): boolean =>
  typeof value === 'string' ||
  (Array.isArray(value)
    ? value.some(hasText)
    : typeof value === 'object' && value !== null && Object.values(value).some(hasText));

/** The same tools of other servers, judged. What those say of themselves is not believed: all are sensitive. */
export function guardToolbox(toolbox: Toolbox, guard: Guard): Toolbox {
  return {
    list: (context) => toolbox.list(context),
    has: (name, context) => toolbox.has(name, context),
    async call(name, input, context) {
      const door = { guard, tool: { name, isSensitive: true }, context };
      try {
        if (guard.judges(door.tool, 'before')) await demandCall(door, toAsked(input));
        if (!guard.judges(door.tool, 'after')) return await toolbox.call(name, input, context);
        const result = await judgeErrors(door, () => toolbox.call(name, input, withoutMessages(context)));
        return isQuestion(result) ? await demandQuestion(door, result) : await fitResult(door, result);
      } catch (error) {
        if (isVerdictError(error)) return toErrorResult(error);
        throw error;
      }
    },
  };
}

/** Judges what is answered to requests that are no calls, by the name of their method. */
export function createAnswerJudge(guard: Guard): JudgeAnswer {
  return async (method, context, work) => {
    const door = { guard, tool: { name: method, isSensitive: false }, context };
    if (!guard.judges(door.tool, 'after')) return work(context);
    return fitRequested(door, await judgeErrors(door, () => work(context)));
  };
}

async function judgeErrors<T>(door: Door, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw await fitError(door, error);
  }
}

/** Progress is told at once, and a verdict takes its time: so only the numbers of it are. */
const withoutMessages = (context: ToolContext): ToolContext => ({
  ...context,
  progress: (done, total) => context.progress(done, total),
});

/** Names under which tools take code. */
const codeArguments = ['code', 'command', 'script'] as const;

function toAsked(input: Readonly<Record<string, unknown>>) {
  const text = codeArguments.map((name) => input[name]).find((value) => typeof value === 'string');
  const language = typeof input['language'] === 'string' ? input['language'] : null;
  return { arguments: input, ...(text === undefined ? {} : { code: { language, text } }) };
}
