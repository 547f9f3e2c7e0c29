/**
 * The door of the room: works on a request with a model and the tools of a server, step by step, until the model answers
 * in words. It prints nothing and asks nobody: `command.ts` does, by what it is told here.
 */
import type { Tool } from '@modelcontextprotocol/client';
import type { ModelMessage } from 'ai';
import { isWorkcrateError, formatBytes, quoteName } from 'workcrate/toolkit';
import { createAskModel } from './ask-model.ts';
import { AgentError, type FailureClass } from './failure.ts';
import { createLinkCollection, type LinkInText } from './links.ts';
import { describeMalformed, noRecovery, recoverFrom, warmUp, writeRetryNote } from './malformed.ts';
import type { ModelEndpoint, ModelAnswer, ModelCall, Tokens } from './model.ts';
import type { ModelPackages } from './packages.ts';
import type { SentFile } from './send-file.ts';
import { isLostServer, toModelText, type AgentServer } from './server.ts';
import { isSensitive, listOfferableTools } from './tools.ts';

export { sendFile, type SentFile } from './send-file.ts';
export { connectServer, type AgentServer } from './server.ts';
export { loadModelPackages } from './packages.ts';
export { makeOwnFolder, saveLinks, type SavedLink } from './save-links.ts';
export type { LinkInText } from './links.ts';

export interface AgentOptions {
  readonly request: string;
  readonly files: readonly SentFile[];
  readonly packages: ModelPackages;
  readonly endpoint: ModelEndpoint;
  readonly server: AgentServer;
  /** Which of its tools the model sees for this request. */
  readonly chooseTools: (tools: readonly Tool[]) => readonly Tool[];
  readonly maxSteps: number;
  /** Of steps without trouble. */
  readonly temperature: number;
  readonly firstPauseMs: number;
  readonly signal: AbortSignal;
  /** Whether a call of a sensitive tool may be made. Not asked for others. */
  readonly approve: (tool: Tool, input: ModelCall['input']) => Promise<boolean>;
  /** Told what happens, when it happens. */
  readonly observe: (event: AgentEvent) => void;
}

export type AgentEvent =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'call'; readonly tool: string; readonly input: ModelCall['input'] }
  | { readonly type: 'progress'; readonly message: string }
  | { readonly type: 'result'; readonly call: CallRecord }
  | { readonly type: 'malformed'; readonly problem: string; readonly temperature: number }
  | { readonly type: 'retry'; readonly problem: string; readonly waitMs: number };

export interface CallRecord {
  readonly tool: string;
  readonly input: ModelCall['input'];
  readonly outcome: 'ok' | 'failed' | 'refused';
  /** What the model read of it. */
  readonly text: string;
}

export interface StepRecord {
  readonly calls: readonly CallRecord[];
  /** What was wrong with calls that could not be made; null where nothing was. */
  readonly malformed: string | null;
  readonly temperature: number;
  readonly tokens: Tokens;
}

export interface AgentResult {
  /** Null where it failed. */
  readonly answer: string | null;
  readonly failure: AgentFailure | null;
  readonly steps: readonly StepRecord[];
  readonly tokens: Tokens;
  readonly links: readonly LinkInText[];
}

export interface AgentFailure {
  readonly class: FailureClass;
  readonly message: string;
  readonly remedy: string;
}

const instructions = `You do a task for a person with the tools of Workcrate: code runs in a sandbox, and files go by link.
Call a tool whenever one is needed, with arguments that fit its schema. Give the person the links that tools return, exactly as they are.
When a call is refused, do not repeat it: find another way, or say what is missing. When the task is done, answer in a few sentences.`;

/** Works on the request. It fails by its result, which has all that was done until then. */
export async function runAgent(options: AgentOptions): Promise<AgentResult> {
  const steps: StepRecord[] = [];
  const links = createLinkCollection();
  const finish = (answer: string | null, failure: AgentFailure | null): AgentResult => ({
    answer,
    failure,
    steps,
    tokens: sumTokens(steps),
    links: links.list(),
  });
  try {
    return finish(await workThrough(options, steps, links), null);
  } catch (error) {
    return finish(null, toFailure(error, options.signal));
  }
}

type LinkCollection = ReturnType<typeof createLinkCollection>;

async function workThrough(
  options: AgentOptions,
  steps: StepRecord[],
  links: LinkCollection,
): Promise<string> {
  const { request, signal, maxSteps, temperature: base, observe } = options;
  // Once: a list that changed between the steps of a request would lose the prompt cache of the endpoint.
  const tools = options.chooseTools(listOfferableTools(options.server.tools));
  const onRetry = ({ message }: AgentError, waitMs: number): void =>
    observe({ type: 'retry', problem: message, waitMs });
  const askModel = createAskModel({ ...options, tools, onRetry });
  const messages: ModelMessage[] = [{ role: 'user', content: describeRequest(options) }];
  let recovery = noRecovery;
  let note: ModelMessage[] = [];
  while (steps.length < maxSteps) {
    const temperature = warmUp(base, recovery);
    const answer = await askModel({ messages: [...messages, ...note], instructions, temperature, signal });
    const { text, malformed, tokens } = answer;
    const problem = malformed.length === 0 ? null : describeMalformed(malformed, tools);
    const calls: CallRecord[] = [];
    steps.push({ calls, malformed: problem, temperature, tokens });
    if (problem === null && answer.calls.length === 0) return text;
    if (text.trim() !== '') observe({ type: 'text', text });
    messages.push(...(await makeCalls(options, { answer, tools, calls, links, step: steps.length })));
    const next = problem === null ? noRecovery : recoverFrom(recovery);
    if (next === null) throw new AgentError('malformed_call', problem!);
    recovery = next;
    note = [];
    if (problem === null) continue;
    observe({ type: 'malformed', problem, temperature: warmUp(base, recovery) });
    const content = writeRetryNote(recovery, problem, { request, tools, calls: malformed });
    note = [{ role: 'user', content }];
  }
  throw new AgentError('steps_used');
}

function describeRequest({ request, files }: AgentOptions): string {
  const sent = files.map(
    ({ filename, fileId, size }) => `${quoteName(filename)}: file_id ${fileId}, ${formatBytes(size)}`,
  );
  return sent.length === 0 ? request : `${request}\n\nFiles that are on the server:\n${sent.join('\n')}`;
}

interface StepCalls {
  readonly answer: ModelAnswer;
  readonly tools: readonly Tool[];
  /** Each is added when it is done. */
  readonly calls: CallRecord[];
  readonly links: LinkCollection;
  readonly step: number;
}

/** Makes the calls of a step one after the other, and gives what the conversation has of them. */
async function makeCalls(options: AgentOptions, made: StepCalls): Promise<ModelMessage[]> {
  const { answer, calls, step } = made;
  if (answer.calls.length === 0) return [];
  const asked: AssistantPart[] = answer.text.trim() === '' ? [] : [{ type: 'text', text: answer.text }];
  const results: ToolPart[] = [];
  for (const [at, call] of answer.calls.entries()) {
    // Ids of our own: endpoints leave them out, or use one twice.
    const about = { toolCallId: `call_${step}_${at}`, toolName: call.name };
    const record = await makeCall(options, made, call);
    calls.push(record);
    options.observe({ type: 'result', call: record });
    const { metadata } = call;
    asked.push({
      type: 'tool-call',
      ...about,
      input: call.input,
      ...(metadata === undefined ? {} : { providerOptions: metadata }),
    });
    const type = record.outcome === 'ok' ? 'text' : 'error-text';
    results.push({ type: 'tool-result', ...about, output: { type, value: record.text } });
  }
  return [
    { role: 'assistant', content: asked },
    { role: 'tool', content: results },
  ];
}

type AssistantPart = Exclude<Extract<ModelMessage, { role: 'assistant' }>['content'], string>[number];
type ToolPart = Extract<ModelMessage, { role: 'tool' }>['content'][number];

/** A model that asks for more at once has lost its way. */
const maxCallsOfStep = 32;

async function makeCall(
  { server, signal, approve, observe }: AgentOptions,
  { tools, calls, links }: StepCalls,
  { name: tool, input }: ModelCall,
): Promise<CallRecord> {
  const refuse = (text: string): CallRecord => ({ tool, input, outcome: 'refused', text });
  observe({ type: 'call', tool, input });
  if (calls.length >= maxCallsOfStep)
    return refuse(`This call was not made: ${maxCallsOfStep} calls at once are the most.`);
  const definition = tools.find(({ name }) => name === tool)!;
  if (isSensitive(definition) && !(await approve(definition, input)))
    return refuse('The person did not allow this call. It was not made.');
  signal.throwIfAborted();
  const onProgress = (message: string): void => observe({ type: 'progress', message });
  const result = await server.call(tool, input, { signal, onProgress });
  links.addFrom(result);
  return { tool, input, outcome: result.isError === true ? 'failed' : 'ok', text: toModelText(result) };
}

/** Whatever is no failure that can be named goes on as it is. */
function toFailure(error: unknown, signal: AbortSignal): AgentFailure {
  const failed = toNamedError(error, signal);
  if (failed === null) throw error;
  return { class: failed.failure, message: failed.message, remedy: failed.remedy };
}

function toNamedError(error: unknown, signal: AbortSignal): AgentError | null {
  if (signal.aborted || isWorkcrateError(error, 'cancelled')) return new AgentError('cancelled');
  if (error instanceof AgentError) return error;
  return isLostServer(error) ? new AgentError('server_lost', (error as Error).message) : null;
}

/** What is not told for one step is not known for all of them. */
function sumTokens(steps: readonly StepRecord[]): Tokens {
  const sum = (counts: readonly (number | null)[]): number | null =>
    counts.reduce((total, count) => (total === null || count === null ? null : total + count), 0);
  return {
    input: sum(steps.map(({ tokens }) => tokens.input)),
    output: sum(steps.map(({ tokens }) => tokens.output)),
  };
}
