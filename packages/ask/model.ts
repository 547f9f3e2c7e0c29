/**
 * One answer of a model behind an OpenAI-compatible endpoint, through the AI SDK. Time and length of the answer are
 * bounded, and calls of tools are checked against their schemas. It asks once: `ask-model.ts` asks again.
 */
import type { LanguageModel, ModelMessage, ToolSet } from 'ai';
import { fetchBounded, FetchError, type FetchAnswer } from 'workcrate/toolkit';
import { AgentError } from './failure.ts';
import type { ModelPackages } from './packages.ts';

export interface ModelEndpoint {
  readonly url: string;
  readonly model: string;
  readonly key: string | null;
  /** How long it may say nothing. */
  readonly silenceMs: number;
}

export interface ModelRequest {
  readonly messages: ModelMessage[];
  readonly tools: ToolSet;
  readonly instructions: string;
  /** Null for models that take none. */
  readonly temperature: number | null;
  readonly signal: AbortSignal;
}

export interface ModelCall {
  readonly name: string;
  readonly input: Readonly<Record<string, unknown>>;
  /** What some endpoints want back with the call. */
  readonly metadata: Record<string, never> | undefined;
}

/** A call that cannot be made: no such tool, no JSON, or arguments that do not fit. */
export interface MalformedCall {
  readonly name: string;
  readonly error: unknown;
}

export interface ModelAnswer {
  readonly text: string;
  readonly calls: readonly ModelCall[];
  readonly malformed: readonly MalformedCall[];
  readonly tokens: Tokens;
}

/** Null where the endpoint does not tell. */
export interface Tokens {
  readonly input: number | null;
  readonly output: number | null;
}

/** Longer than any answer that a person would read or a tool would take. */
const maxAnswerBytes = 16 * 1024 ** 2;
/** However steadily it talks. */
const maxAnswerMs = 15 * 60_000;

export const createModel = ({ provider }: ModelPackages, endpoint: ModelEndpoint): LanguageModel =>
  provider
    .createOpenAICompatible({
      name: 'endpoint',
      baseURL: endpoint.url,
      ...(endpoint.key === null ? {} : { apiKey: endpoint.key }),
      includeUsage: true,
      fetch: (url, request) => fetchAsStream(url as string, request ?? {}, endpoint.silenceMs),
    })
    .chatModel(endpoint.model);

/** Asks the model once. Whatever goes wrong is thrown as it came. */
export async function askOnce(
  packages: ModelPackages,
  model: LanguageModel,
  request: ModelRequest,
): Promise<ModelAnswer> {
  const over = new AbortController();
  const signal = AbortSignal.any([request.signal, over.signal]);
  try {
    return await readAnswer(packages, model, { ...request, signal });
  } catch (error) {
    if (!isNamelessCall(error)) throw error;
    const malformed = [{ name: '', error }];
    return { text: '', calls: [], malformed, tokens: { input: null, output: null } };
  } finally {
    // An answer that is not read to its end would keep its connection.
    over.abort();
  }
}

async function readAnswer(
  { sdk }: ModelPackages,
  model: LanguageModel,
  { messages, tools, instructions, temperature, signal }: ModelRequest,
): Promise<ModelAnswer> {
  const { stream } = sdk.streamText({
    model,
    messages,
    tools,
    instructions,
    ...(temperature === null ? {} : { temperature }),
    abortSignal: signal,
    maxRetries: 0,
    // The errors are in the stream; without this they would be written on the terminal too.
    onError: () => {},
  });
  let text = '';
  let tokens: Tokens = { input: null, output: null };
  const calls: ModelCall[] = [];
  const malformed: MalformedCall[] = [];
  for await (const part of stream)
    switch (part.type) {
      case 'text-delta':
        text += part.text;
        break;
      case 'tool-call': {
        const { toolName: name, input, invalid, error, providerMetadata: metadata } = part;
        if (invalid === true) malformed.push({ name, error });
        else calls.push({ name, input: input as ModelCall['input'], metadata: metadata as never });
        break;
      }
      case 'finish-step':
        tokens = { input: part.usage.inputTokens ?? null, output: part.usage.outputTokens ?? null };
        if (part.finishReason === 'content-filter') throw new AgentError('content_filter', text);
        break;
      case 'error':
        throw part.error;
      case 'abort':
        signal.throwIfAborted();
    }
  if (text.trim() === '' && calls.length === 0 && malformed.length === 0)
    throw new AgentError('broken_answer', 'nothing at all');
  return { text, calls, malformed, tokens };
}

/** A call without a name is to the AI SDK an error of the whole answer; of these errors it alone comes with data. */
const isNamelessCall = (error: unknown): boolean =>
  error instanceof Error &&
  error.name === 'AI_InvalidResponseDataError' &&
  (error as { data?: unknown }).data !== undefined;

/** `fetch` as the AI SDK wants it, by the one way out. What it gives may be read after it has returned. */
async function fetchAsStream(url: string, request: RequestInit, silenceMs: number): Promise<Response> {
  const { promise, resolve, reject } = Promise.withResolvers<Response>();
  const silence = createSilenceLimit(silenceMs);
  const signal = AbortSignal.any([silence.signal, ...(request.signal ? [request.signal] : [])]);
  const headers = Object.fromEntries(new Headers(request.headers));
  const policy = { timeoutMs: maxAnswerMs, maxBytes: maxAnswerBytes, privateAddresses: 'allowed' } as const;
  silence.start();
  fetchBounded(url, { method: 'POST', headers, body: request.body as string, signal }, policy, (answer) => {
    silence.stop();
    demandApi(answer);
    const { body, ended } = toStream(answer, silence, signal);
    resolve(new Response(body, { status: answer.status, headers: toHeaders(answer) }));
    return ended;
  })
    .catch(reject)
    .finally(() => silence.stop());
  return promise;
}

/** A page for people is what a wrong address answers, and a redirect leads away from the one that was named. */
function demandApi({ status, headers }: FetchAnswer): void {
  const type = headers.get('content-type') ?? '';
  if (status < 200 || status === 204 || (status >= 300 && status < 400))
    throw new AgentError('bad_endpoint', `status ${status}`);
  if (status < 300 && /html/i.test(type)) throw new AgentError('bad_endpoint', `an answer of type ${type}`);
}

function toHeaders({ headers }: FetchAnswer): Record<string, string> {
  const names = ['content-type', 'retry-after', 'retry-after-ms'];
  return Object.fromEntries(names.flatMap((name) => toPair(name, headers.get(name))));
}

const toPair = (name: string, value: string | null): [string, string][] =>
  value === null ? [] : [[name, value]];

type SilenceLimit = ReturnType<typeof createSilenceLimit>;

/** Aborts when nothing comes for so long. It counts only while somebody waits. */
function createSilenceLimit(ms: number) {
  const stop = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  return {
    signal: stop.signal,
    start: () => {
      timer = setTimeout(() => stop.abort(new FetchError('timeout', `nothing for ${ms} ms`)), ms);
    },
    stop: () => clearTimeout(timer),
  };
}

function toStream(answer: FetchAnswer, silence: SilenceLimit, signal: AbortSignal) {
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  // Whoever aborts may not read on.
  signal.addEventListener('abort', () => end(), { once: true });
  const chunks = answer.chunks()[Symbol.asyncIterator]();
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      silence.start();
      try {
        const next = await chunks.next();
        if (next.done !== true) return controller.enqueue(next.value);
        controller.close();
        end();
      } catch (error) {
        controller.error(error);
        end();
      } finally {
        silence.stop();
      }
    },
    cancel: () => end(),
  });
  return { body, ended };
}
