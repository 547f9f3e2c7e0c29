/**
 * The methods of asking a client: a command for its shell, a page, a form, or its model (sampling), and how each
 * answer is read. Whether a client supports a method is decided in `file-request.ts`, and which one is used in
 * `requests.ts`.
 */
import { setTimeout as pause } from 'node:timers/promises';
import {
  inputRequired,
  type CreateMessageRequestParams,
  type InputRequest,
  type InputResponseView,
} from '@modelcontextprotocol/server';
import { isWorkcrateError } from '../../../platform/errors.ts';
import { createStoppingError, type Question, type ToolContext } from '../../../core/offer/tool.ts';
import type { TransferMethod } from '../client-file.ts';
import { encodeText, parseBase64 } from '../text/text.ts';
import { mayAnswerFirst } from '../freshness.ts';
import {
  clientRefusedError,
  clientPathNotFoundError,
  declinedReason,
  tooLargeForMethodError,
  clientTimeoutError,
} from './failures.ts';
import {
  maxTypedBytes,
  type FileRequest,
  type ClientInstructions,
  type AnswerHandlers,
  type RequestCall,
  type UseAnswer,
} from './file-request.ts';
import { createOffers, type OffersOptions } from './offers.ts';
import {
  createPendingUploads,
  type IsRecentEnough,
  type PendingUploads,
  type PendingUploadsOptions,
  type UsedUpload,
} from './pending-uploads.ts';
import {
  fileAnswerKey,
  createFileQuestions,
  type ClientFileQuestionsOptions,
  type QuestionState,
  type ClientFileQuestions,
} from './questions.ts';

export interface FileMethodsOptions
  extends PendingUploadsOptions, ClientFileQuestionsOptions, Omit<OffersOptions, 'awaited'> {}

export type FileMethods = ReturnType<typeof createFileMethods>;

/** The methods of asking. Which of them a client supports is decided elsewhere. */
export function createFileMethods(options: FileMethodsOptions) {
  const { baseUrl, timeoutMs, clock } = options;
  const questions = createFileQuestions(options);
  const awaited = createPendingUploads(options);

  const isRecent: IsRecentEnough = (came) => mayAnswerFirst(came, { refresh: true }, clock());

  /** What was sent for this and answered no call yet; or null. It answers others too until it is spent. */
  const findArrived = <T>(
    { request, context }: RequestCall,
    use: UseAnswer<T>,
    isRecentEnough = isRecent,
  ): Promise<UsedUpload<T> | null> =>
    awaited.findReceived(
      context.caller,
      request,
      ({ file, rung, receivedAt, read, keep }) =>
        use(read(), { ...nothingSaid, rung, receivedAt, stored: { file, keep } }),
      isRecentEnough,
    );

  /** The same, spent at once. */
  async function arrived<T>(...finding: Parameters<typeof findArrived<T>>): Promise<T | null> {
    const used = await findArrived<T>(...finding);
    await used?.spend();
    return used === null ? null : used.value;
  }

  const pages = createUploadPages({ questions, awaited, arrived, baseUrl, timeoutMs });
  const { offer, offerProof } = createOffers({ ...options, awaited });

  return {
    questions,
    findArrived,
    arrived,
    offer,
    offerProof,
    page: awaited.page,

    /** What came earlier and stayed stored. */
    kept: ({ request, context }: RequestCall) => awaited.kept(context.caller, request),
    forgetKept: awaited.forgetKept,
    outdate: awaited.outdate,

    /** Asks by one method; what comes back is not the answer yet. */
    async ask(
      rung: Exclude<TransferMethod, 'direct'>,
      call: RequestCall,
    ): Promise<Question | ClientInstructions> {
      const { request, subject, context } = call;
      if (rung === 'upload') return offer(call);
      if (rung === 'url') return pages.ask(call, 0);
      if (rung === 'form') return questions.ask(subject, context, 'form', () => buildFormRequest(request));
      const withTools = context.client.capabilities.sampling?.tools !== undefined;
      const build = (mark: string) => buildSamplingRequest(request, mark, withTools);
      return questions.ask(subject, context, 'sampling', build);
    },

    /** What the client answered to that; null where a model says that it gave it by another way. */
    async answered<T>(
      call: RequestCall,
      state: QuestionState,
      taking: AnswerHandlers<T>,
    ): Promise<T | Question | null> {
      const { request, context } = call;
      const { use } = taking;
      if (state.rung === 'url') return pages.answered(call, state, taking);
      const answer = context.client.answer(fileAnswerKey);
      const encoding = request.binary ? null : 'utf-8';
      const receivedAt = clock();
      const announced = {
        from: 'root',
        size: null,
        sha256: null,
        encoding,
        receivedAt,
        stored: null,
      } as const;
      if (state.rung === 'form')
        return use(yieldBytesOnce(readFormAnswer(request, answer)), { ...announced, rung: 'form' });
      const typed = readSamplingAnswer(request, state.nonce, answer);
      if (typed === null) return null;
      const { bytes, size, sha256 } = typed;
      return use(yieldBytesOnce(bytes), { ...announced, rung: 'sampling', size, sha256 });
    },
  };
}

async function* yieldBytesOnce(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

const nothingSaid = { from: 'folder', size: null, sha256: null, encoding: null } as const;

/** Asks a person, or the program that speaks for one, for a small text. */
function buildFormRequest({ operation, path, recursive, pattern }: FileRequest): InputRequest {
  const shown = JSON.stringify(path.relative || '.');
  const message =
    operation === 'read'
      ? `The server asks for the text of the file ${shown} of your project. Paste it, or decline.`
      : `The server asks what is in the folder ${shown} of your project${recursive ? ', and in all below it' : ''}${pattern === null ? '' : `, only what fits ${JSON.stringify(pattern)}`}. ` +
        'Give one path a line, from the project\'s folder, such as "docs/a.md" and "docs/more/" for a folder; ' +
        'or, with more facts, "file 120 2026-01-31T12:00:00Z docs/a.md". Or decline.';
  return inputRequired.elicit({
    message,
    requestedSchema: {
      type: 'object',
      properties: {
        content: {
          type: 'string',
          title: operation === 'read' ? 'Text' : 'Paths',
          description: `At most ${maxTypedBytes} bytes`,
          maxLength: maxTypedBytes,
        },
      },
      required: ['content'],
    },
  });
}

function readFormAnswer({ path: { relative } }: FileRequest, answer: InputResponseView): Uint8Array {
  if (answer.kind !== 'elicit')
    throw clientRefusedError(relative, 'the client sent no answer to the question');
  if (answer.action !== 'accept') throw clientRefusedError(relative, declinedReason);
  const content = answer.content?.['content'];
  if (typeof content !== 'string') throw clientRefusedError(relative, 'the answer holds no text');
  // Half a character is refused, and not replaced.
  const bytes = encodeText(content, 'utf-8');
  if (bytes.length > maxTypedBytes) throw tooLargeForMethodError('form', relative, maxTypedBytes);
  return bytes;
}

/** A file as a model gave it, with what it says of the file. */
export interface TypedFile {
  readonly bytes: Uint8Array;
  readonly size: number | null;
  readonly sha256: string | null;
}

type SamplingTools = NonNullable<CreateMessageRequestParams['tools']>;

/** So that a model can give the content as an argument, where nothing is added to it. */
const samplingTools: SamplingTools = [
  {
    name: 'guide_cache_file',
    description: 'Gives the server the content of a file of the project',
    inputSchema: {
      type: 'object',
      properties: {
        path: { type: 'string' },
        content: { type: 'string' },
        binary: { type: 'boolean', description: 'Whether content is base64' },
      },
      required: ['path', 'content'],
    },
  },
];

const maxSamplingTokens = 32_000;

/** Asks the client's model to type a file. The marks are new each time, so no file can hold them. */
function buildSamplingRequest(request: FileRequest, mark: string, withTools: boolean): InputRequest {
  return inputRequired.createMessage({
    messages: [{ role: 'user', content: { type: 'text', text: buildPrompt(request, mark) } }],
    maxTokens: maxSamplingTokens,
    temperature: 0,
    ...(withTools && request.operation === 'read'
      ? { tools: samplingTools, toolChoice: { mode: 'auto' } }
      : {}),
  });
}

function buildPrompt({ operation, path, binary, recursive, pattern }: FileRequest, mark: string): string {
  const shown = JSON.stringify(path.relative || '.');
  const wanted =
    operation === 'read'
      ? `Give the exact content of the file ${shown} of the project${binary ? ', in base64' : ''}: every character, nothing left out, nothing added.`
      : `List the folder ${shown} of the project${recursive ? ' and all folders below it' : ''}${pattern === null ? '' : `, only what fits ${JSON.stringify(pattern)}`}. ` +
        'One JSON object a line, with path (from the project\'s folder), type (file, folder, link or other), size and mtime (milliseconds): {"path":"docs/a.md","type":"file","size":120,"mtime":1790000000000}.';
  const cached =
    operation === 'read'
      ? 'Or call guide_cache_file with the path and the content, and answer with CACHED. '
      : '';
  return (
    `${wanted} Write it between two lines that read BEGIN-${mark} and END-${mark}, with no code fence. ${cached}` +
    `If there is no such thing, answer NOT-FOUND-${mark}; if you may not read it, answer DENIED-${mark}.`
  );
}

/** Null where the answer gives nothing itself: it may have come by guide_cache_file. */
function readSamplingAnswer(request: FileRequest, mark: string, answer: InputResponseView): TypedFile | null {
  const { relative } = request.path;
  if (answer.kind !== 'sampling')
    throw clientRefusedError(relative, 'the client sent no answer to the question');
  const blocks = ([answer.result.content].flat() as readonly (Record<string, unknown> | null)[]).filter(
    (block) => typeof block === 'object' && block !== null,
  );
  const called = blocks.find(({ type, name }) => type === 'tool_use' && name === 'guide_cache_file');
  if (called) return readToolCall(request, called['input']);
  const text = blocks.map((block) => (typeof block['text'] === 'string' ? block['text'] : '')).join('');
  const given = extractBetween(text, `BEGIN-${mark}`, `END-${mark}`);
  if (given !== null) return parseTypedFile(relative, given, request.binary);
  if (text.includes(`NOT-FOUND-${mark}`)) throw clientPathNotFoundError(relative);
  if (text.includes(`DENIED-${mark}`)) throw clientRefusedError(relative, 'the client may not read it');
  if (answer.result.stopReason === 'maxTokens')
    throw tooLargeForMethodError('sampling', relative, maxTypedBytes);
  return null;
}

/** An answer about another file than the one asked for is none. */
function readToolCall(request: FileRequest, input: unknown): TypedFile {
  const { relative, absolute } = request.path;
  const { path, content, binary, size, sha256 } = (input ?? {}) as Record<string, unknown>;
  if ((path !== relative && path !== absolute) || typeof content !== 'string')
    throw clientRefusedError(relative, 'the client gave another file');
  const announced = {
    size: typeof size === 'number' ? size : null,
    sha256: typeof sha256 === 'string' ? sha256.toLowerCase() : null,
  };
  return { ...parseTypedFile(relative, content, binary === true), ...announced };
}

function parseTypedFile(path: string, content: string, isBase64: boolean): TypedFile {
  // Base64 takes four characters for three bytes.
  if (content.length > maxTypedBytes * 2) throw tooLargeForMethodError('sampling', path, maxTypedBytes);
  const bytes = isBase64 ? parseBase64(content) : encodeText(content, 'utf-8');
  if (bytes.length > maxTypedBytes) throw tooLargeForMethodError('sampling', path, maxTypedBytes);
  return { bytes, size: null, sha256: null };
}

/** The text between two marks; the last line break belongs to the mark. */
function extractBetween(text: string, begin: string, end: string): string | null {
  const mark = new RegExp(`${RegExp.escape(begin)}\\r?\\n`).exec(text);
  const to = text.lastIndexOf(end);
  if (mark === null || to < mark.index + mark[0].length) return null;
  return text.slice(mark.index + mark[0].length, to).replace(/\r?\n$/, '');
}

export interface UploadPagesOptions {
  readonly questions: Pick<ClientFileQuestions, 'ask'>;
  readonly awaited: Pick<PendingUploads, 'expect' | 'withdraw'>;
  readonly arrived: <T>(call: RequestCall, use: UseAnswer<T>) => Promise<T | null>;
  readonly baseUrl: () => string;
  readonly timeoutMs: number;
}

const pagePollMs = 200;
const maxPageRounds = 2;

/** Asking by a page on which a person chooses the file. */
function createUploadPages({ questions, awaited, arrived, baseUrl, timeoutMs }: UploadPagesOptions) {
  async function ask({ request, subject, context }: RequestCall, round: number): Promise<Question> {
    const { token } = await awaited.expect(context.caller, request, 'url');
    const what = request.operation === 'read' ? 'file' : 'names of what is in the folder';
    const page = inputRequired.elicitUrl({
      message: `The server asks for the ${what} ${JSON.stringify(request.path.relative || '.')} of your project. Choose it on this page.`,
      url: `${baseUrl()}/ask/${token}`,
    });
    return questions.ask(subject, context, 'url', () => page, round);
  }

  /** Where nobody agreed to open the page, nothing can be sent by it any more. */
  async function demandAgreed({ request, context }: RequestCall): Promise<void> {
    const { relative } = request.path;
    try {
      const answer = context.client.answer(fileAnswerKey);
      if (answer.kind !== 'elicit')
        throw clientRefusedError(relative, 'the client sent no answer to the question');
      if (answer.action !== 'accept') throw clientRefusedError(relative, declinedReason);
    } catch (error) {
      if (isWorkcrateError(error, 'client_refused')) await awaited.withdraw(context.caller, request);
      throw error;
    }
  }

  /** To agree to open a page is not to have used it: most clients answer before anything was sent. */
  async function answered<T>(
    call: RequestCall,
    state: QuestionState,
    { use, meanwhile }: AnswerHandlers<T>,
  ): Promise<T | Question> {
    const { relative } = call.request.path;
    const { context } = call;
    await demandAgreed(call);
    const share = timeoutMs / maxPageRounds;
    const since = performance.now();
    for (;;) {
      const came = (await arrived(call, use)) ?? meanwhile();
      if (came !== null) return came;
      const waited = performance.now() - since;
      if (waited > share) break;
      context.progress(Math.round(state.round * share + waited), null, 'waiting for the file');
      await wait(context);
    }
    if (state.round + 1 < maxPageRounds) return ask(call, state.round + 1);
    throw clientTimeoutError(relative, timeoutMs);
  }

  async function wait({ signal, stopping }: ToolContext): Promise<void> {
    try {
      const either = AbortSignal.any([signal, stopping]);
      await pause(Math.min(pagePollMs, timeoutMs), null, { signal: either });
    } catch (error) {
      throw stopping.aborted ? createStoppingError(error) : error;
    }
  }

  return { ask, answered };
}
