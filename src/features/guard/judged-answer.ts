/**
 * Judges what is about to be shown, whatever door it leaves by: an answer, a question, an error. Gives it as the guard lets
 * it be seen, or rejects. Bytes of pictures and the like are left out by place, and a URI is read as what it encodes.
 */
import type { CallToolResult, ContentBlock, GetPromptResult } from '@modelcontextprotocol/server';
import { ProtocolError } from '@modelcontextprotocol/server';
import { asWorkcrateError, publicMessage, WorkcrateError } from '../../platform/errors.ts';
import type { Question, ToolAnswer, ToolContext } from '../../core/offer/tool.ts';
import { toVerdictError, type Guard, type JudgedCall, type JudgedTool, type Verdict } from './guard.ts';
import { listTexts, replaceTexts } from './texts.ts';

/** Through which door something leaves, and to whom. */
export interface Door {
  readonly guard: Guard;
  readonly tool: JudgedTool;
  readonly context: ToolContext;
}

export const isVerdictError = (error: unknown): error is WorkcrateError =>
  error instanceof WorkcrateError && (error.code === 'guard_blocked' || error.code === 'guard_failed');

const toCall = ({ tool, context: { caller, client, signal } }: Door) => ({
  tool,
  user: caller.user,
  client: client.name,
  signal,
});

/** Judges a call before it is done. */
export const demandCall = (
  door: Door,
  asked: Pick<JudgedCall, 'arguments' | 'code'>,
): Promise<Pick<Verdict, 'action' | 'outputs' | 'reason'>> =>
  demandVerdict(door.guard, { ...toCall(door), when: 'before', ...asked });

async function demandVerdict(guard: Guard, call: JudgedCall): Promise<Verdict> {
  const verdict = await guard.judge(call);
  const error = toVerdictError(verdict);
  if (error !== null) throw error;
  return verdict;
}

/** An answer of a tool of ours, with a line that says what was changed. What was passed on was judged where it was got. */
export async function fitAnswer(
  door: Door,
  answer: ToolAnswer<unknown>,
  fitsSchema: (structured: unknown) => boolean,
): Promise<ToolAnswer<never>> {
  const shown = { text: answer.text, structured: answer.structured, content: toTextParts(answer.content) };
  const { fitted, note } = await judgeValue(door, shown);
  // A blank may be in a place where only a date or a digest fits.
  if (note !== null && !fitsSchema(fitted.structured)) throw unfitError(note);
  return {
    text: note === null ? fitted.text : `${fitted.text}\n${note}`,
    structured: fitted.structured as never,
    ...(answer.content === undefined ? {} : { content: restoreParts(answer.content, fitted.content) }),
    ...(answer.passedOn === undefined ? {} : { passedOn: answer.passedOn }),
  };
}

/** The result of a tool of another server. */
export async function fitResult(door: Door, result: CallToolResult): Promise<CallToolResult> {
  const { content, structuredContent } = result;
  const shown = { structuredContent, content: toTextParts(content) };
  const { fitted, note } = await judgeValue(door, shown);
  const told: ContentBlock[] = note === null ? [] : [{ type: 'text', text: note }];
  return {
    ...result,
    content: [...restoreParts(content, fitted.content), ...told],
    ...(structuredContent === undefined
      ? {}
      : { structuredContent: fitted.structuredContent as Record<string, unknown> }),
  };
}

/** A question is shown as it is or not at all: with other words it would be another question. */
export async function demandQuestion(door: Door, question: Question): Promise<Question> {
  const { note } = await judgeValue(door, question.ask);
  if (note !== null) throw unfitError(note);
  return question;
}

/** The result of a request that is no call: resources, prompts, completions, lists. */
export async function fitRequested<T>(door: Door, result: T): Promise<T> {
  if (door.tool.name === 'resources/read') {
    const { contents } = result as { contents: readonly { blob?: string }[] };
    const { fitted } = await judgeValue(door, { ...result, contents: contents.map(withoutBlob) });
    return {
      ...fitted,
      contents: fitted.contents.map((one, at) => ({ ...one, ...pickBlob(contents[at]!) })),
    };
  }
  if (door.tool.name === 'prompts/get') {
    const { messages, ...rest } = result as GetPromptResult;
    const contents = messages.map(({ content }) => content);
    const shown = { rest, messages: messages.map(({ role }) => role), contents: toTextParts(contents) };
    const { fitted } = await judgeValue(door, shown);
    const restored = restoreParts(contents, fitted.contents);
    return {
      ...fitted.rest,
      messages: messages.map(({ role }, at) => ({ role, content: restored[at]! })),
    } as T;
  }
  return (await judgeValue(door, result)).fitted;
}

function withoutBlob<T extends { readonly blob?: string }>(resource: T): Omit<T, 'blob'> {
  const { blob: _, ...rest } = resource;
  return rest;
}

const pickBlob = ({ blob }: { readonly blob?: string }) => (blob === undefined ? {} : { blob });

/** Names of files are in errors too. A guard's own error has been decided, and a call that has ended is shown to nobody. */
export async function fitError(door: Door, error: unknown): Promise<unknown> {
  if (isVerdictError(error) || door.context.signal.aborted) return error;
  if (error instanceof ProtocolError) {
    const { message, data } = error;
    const { fitted, note } = await judgeValue(door, { message, data });
    return note === null ? error : new ProtocolError(error.code, fitted.message, fitted.data);
  }
  const known = asWorkcrateError(error);
  const { fitted, note } = await judgeValue(door, { message: publicMessage(known), details: known.details });
  if (note === null) return error;
  return new WorkcrateError(known.code, fitted.message, { details: fitted.details, cause: error });
}

async function judgeValue<T>(door: Door, value: T): Promise<{ fitted: T; note: string | null }> {
  const texts = listTexts(value);
  const outputs = texts.map(decodeUri);
  const verdict = await demandVerdict(door.guard, { ...toCall(door), when: 'after', outputs });
  if (verdict.action !== 'redact') return { fitted: value, note: null };
  const blanked = verdict.outputs.map((output, at) => {
    if (output === outputs[at]) return texts[at]!;
    return outputs[at] === texts[at] ? output : encodeURI(output.toWellFormed());
  });
  let at = 0;
  const fitted = replaceTexts(value, () => blanked[at++]!) as T;
  return { fitted, note: `The guard of this server redacted this answer. ${verdict.reason ?? ''}`.trim() };
}

/** In a URI a name such as ada@example.org has other characters, by which no rule would know it. */
function decodeUri(text: string): string {
  if (!/^[a-z][\w+.-]*:\S*%[0-9a-f]{2}/i.test(text)) return text;
  try {
    return decodeURIComponent(text);
  } catch (error) {
    // Its percent encoding is broken.
    if (error instanceof URIError) return text;
    throw error;
  }
}

const unfitError = (note: string): WorkcrateError =>
  new WorkcrateError(
    'guard_blocked',
    `The guard of this server found what must not be shown in a place where it cannot be blanked. Its answer is not shown. ${note}`,
  );

/** What patterns can read of a block: all but the bytes of pictures, sounds and blobs. */
const toTextParts = (content: readonly ContentBlock[] = []): unknown[] => content.map(withoutBytes);

function withoutBytes(block: ContentBlock): unknown {
  const { data: _, ...rest } = block as ContentBlock & { data?: string };
  if (rest.type !== 'resource') return rest;
  return { ...rest, resource: withoutBlob(rest.resource as { blob?: string }) };
}

function restoreParts(content: readonly ContentBlock[], fitted: readonly unknown[]): ContentBlock[] {
  return content.map((block, at) => {
    const shown = fitted[at] as ContentBlock;
    if (block.type === 'resource' && shown.type === 'resource' && 'blob' in block.resource)
      return { ...shown, resource: { ...shown.resource, blob: block.resource.blob } } as ContentBlock;
    return 'data' in block ? ({ ...shown, data: block.data } as ContentBlock) : shown;
  });
}
