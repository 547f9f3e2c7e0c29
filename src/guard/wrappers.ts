/**
 * Wraps tools and toolboxes so that the guard judges each call before and its answer after. Tools whose calls are runs are
 * judged with the run (`executions/`), where code of scripts and sessions is known, and are left alone here.
 */
import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/server';
import { isRunTool } from '../audit/run-lines.ts';
import { WorkcrateError } from '../errors.ts';
import type { Toolbox } from '../mcp/toolbox.ts';
import { isQuestion, toErrorResult, type Tool, type ToolAnswer, type ToolContext } from '../mcp/tool.ts';
import { toVerdictError, type Guard, type JudgedCall, type JudgedTool, type Verdict } from './guard.ts';
import { listTexts, replaceTexts } from './texts.ts';

/** The same tool, judged; the tool itself where nothing of the guard is about it. */
export function guardTool(tool: Tool, guard: Guard | null): Tool {
  if (guard === null || isRunTool(tool.name)) return tool;
  const judged = { name: tool.name, isSensitive: isSensitive(tool) };
  const [before, after] = [guard.judges(judged, 'before'), guard.judges(judged, 'after')];
  if (!before && !after) return tool;
  return {
    ...tool,
    async handle(input, context) {
      if (before) await demandCall(guard, judged, input, context);
      const answer = await tool.handle(input, context);
      return isQuestion(answer) || !after ? answer : fitAnswer(guard, judged, answer, context);
    },
  };
}

/** What changes something, reaches the world outside or brings files of the client. */
const isSensitive = ({ annotations, group }: Tool): boolean =>
  annotations.readOnlyHint !== true || annotations.openWorldHint === true || group === 'client';

/** The same tools of other servers, judged. What those say of themselves is not believed: all are sensitive. */
export function guardToolbox(toolbox: Toolbox, guard: Guard | null): Toolbox {
  if (guard === null) return toolbox;
  return {
    list: (context) => toolbox.list(context),
    has: (name, context) => toolbox.has(name, context),
    async call(name, input, context) {
      const judged = { name, isSensitive: true };
      try {
        if (guard.judges(judged, 'before')) await demandCall(guard, judged, input, context);
        const result = await toolbox.call(name, input, context);
        if (isQuestion(result) || !guard.judges(judged, 'after')) return result;
        return await fitResult(guard, judged, result, context);
      } catch (error) {
        if (isVerdictError(error)) return toErrorResult(error);
        throw error;
      }
    },
  };
}

const isVerdictError = (error: unknown): error is WorkcrateError =>
  error instanceof WorkcrateError && (error.code === 'guard_blocked' || error.code === 'guard_failed');

const toCall = (tool: JudgedTool, { caller, client, signal }: ToolContext) => ({
  tool,
  user: caller.user,
  client: client.name,
  signal,
});

/** Names under which tools take code. */
const codeArguments = ['code', 'command', 'script'] as const;

async function demandCall(
  guard: Guard,
  tool: JudgedTool,
  input: Readonly<Record<string, unknown>>,
  context: ToolContext,
): Promise<void> {
  const text = codeArguments.map((name) => input[name]).find((value) => typeof value === 'string');
  const language = typeof input['language'] === 'string' ? input['language'] : null;
  const code = text === undefined ? {} : { code: { language, text } };
  await demandVerdict(guard, { ...toCall(tool, context), when: 'before', arguments: input, ...code });
}

async function demandVerdict(guard: Guard, call: JudgedCall): Promise<Verdict> {
  const verdict = await guard.judge(call);
  const error = toVerdictError(verdict);
  if (error !== null) throw error;
  return verdict;
}

/** An answer as the guard lets it be seen, with a line that says so. */
async function fitAnswer(
  guard: Guard,
  tool: JudgedTool,
  answer: ToolAnswer<unknown>,
  context: ToolContext,
): Promise<ToolAnswer<never>> {
  const shown = { text: answer.text, structured: answer.structured, content: toTextParts(answer.content) };
  const { fitted, note } = await judgeValue(guard, tool, shown, context);
  return {
    text: note === null ? fitted.text : `${fitted.text}\n${note}`,
    structured: fitted.structured as never,
    ...(answer.content === undefined ? {} : { content: restoreParts(answer.content, fitted.content) }),
  };
}

async function fitResult(
  guard: Guard,
  tool: JudgedTool,
  result: CallToolResult,
  context: ToolContext,
): Promise<CallToolResult> {
  const { content, structuredContent } = result;
  const shown = { structuredContent, content: toTextParts(content) };
  const { fitted, note } = await judgeValue(guard, tool, shown, context);
  const told: ContentBlock[] = note === null ? [] : [{ type: 'text', text: note }];
  return {
    ...result,
    content: [...restoreParts(content, fitted.content), ...told],
    ...(structuredContent === undefined
      ? {}
      : { structuredContent: fitted.structuredContent as Record<string, unknown> }),
  };
}

async function judgeValue<T>(
  guard: Guard,
  tool: JudgedTool,
  value: T,
  context: ToolContext,
): Promise<{ fitted: T; note: string | null }> {
  const call = { ...toCall(tool, context), when: 'after' as const };
  const { action, outputs, reason } = await demandVerdict(guard, { ...call, outputs: listTexts(value) });
  if (action !== 'redact') return { fitted: value, note: null };
  let at = 0;
  const fitted = replaceTexts(value, () => outputs[at++]!) as T;
  return { fitted, note: `The guard of this server redacted this answer. ${reason ?? ''}`.trim() };
}

/** What patterns can read of a block: all but the bytes of pictures, sounds and blobs. */
const toTextParts = (content: readonly ContentBlock[] = []): unknown[] =>
  content.map((block) => withoutBytes(block));

function withoutBytes(block: ContentBlock): unknown {
  const { data: _, ...rest } = block as ContentBlock & { data?: string };
  if (rest.type !== 'resource') return rest;
  const { blob: __, ...resource } = rest.resource as { blob?: string };
  return { ...rest, resource };
}

function restoreParts(content: readonly ContentBlock[], fitted: readonly unknown[]): ContentBlock[] {
  return content.map((block, at) => {
    const shown = fitted[at] as ContentBlock;
    if (block.type === 'resource' && shown.type === 'resource' && 'blob' in block.resource)
      return { ...shown, resource: { ...shown.resource, blob: block.resource.blob } } as ContentBlock;
    return 'data' in block ? ({ ...shown, data: block.data } as ContentBlock) : shown;
  });
}
