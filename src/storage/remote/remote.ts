import { WorkcrateError } from '../../errors.ts';
import { withDeadline } from '../../net/deadline.ts';
import { readRefusal, readWhole, type StreamedAnswer, type WholeAnswer } from './answers.ts';
import {
  clientLimits,
  createClient,
  type ClientLimits,
  type RemoteAnswer,
  type RemoteRequest,
} from './client.ts';
import { unreachable } from './failures.ts';
import { retrying, retryLimits, type RetryLimits, type Tried } from './retry.ts';

export { demandDocument } from './answers.ts';
export type { Refusal, StreamedAnswer, WholeAnswer } from './answers.ts';
export type { RemoteRequest } from './client.ts';
export { refusedAs } from './failures.ts';
export { advanced, mostStaged, tooManyStaged } from './listing.ts';
export { namesBelow, type Names } from './names.ts';
export { partsOf, type Part, type Parts } from './parts.ts';
export { openRemote, readRange, type Opened, type Range } from './reading.ts';
export { sendParts, type SendingFailure } from './sending.ts';

/** A store that speaks HTTP. What it refuses is an answer, with its `refusal`; what did not get there is thrown. */
export interface Remote {
  /** Sends, and reads the whole answer, which must not be longer than the request allows. Tried again where that may help. */
  ask(request: RemoteRequest, signal?: AbortSignal): Promise<WholeAnswer>;
  /** Sends, and leaves a good answer's body to be read by the caller. Tried again until there is an answer. */
  stream(request: RemoteRequest, signal?: AbortSignal): Promise<StreamedAnswer>;
  /** What a body that broke off is to be told as. */
  broken(error: unknown): WorkcrateError;
  close(): void;
}

export interface RemoteOptions {
  /** Its host, as messages name it. */
  readonly store: string;
  /** Done anew at each try: a signature is good for some minutes only. */
  sign(request: RemoteRequest): Promise<RemoteRequest>;
  readonly limits?: RemoteLimits | undefined;
}

/** Told of every try: its method, `ok`, a status of 400 and more or `failed`, and how long it took. */
export type Observe = (operation: string, result: string, seconds: number) => void;

export type RemoteLimits = Partial<ClientLimits & RetryLimits> & {
  /** How long a request may take in all, however often it is tried; more where it has much to send. */
  readonly wholeMs?: number;
  readonly observe?: Observe;
};

const usualWholeMs = 120_000;
/** A line slower than 64 kB/s is none that a part can be sent by. */
const slowestBytesPerMs = 64;

export function createRemote({ store, sign, limits = {} }: RemoteOptions): Remote {
  const client = createClient({ ...clientLimits, ...limits });
  const retry = { ...retryLimits, ...limits };
  const broken = (error: unknown): WorkcrateError => unreachable(store, error);
  const tellApart =
    (signal?: AbortSignal) =>
    (error: unknown): never => {
      throw signal?.aborted ? signal.reason : broken(error);
    };
  const send = async (request: RemoteRequest, signal?: AbortSignal) => {
    const started = performance.now();
    let result = 'failed';
    try {
      const answer = await client.send(await sign(request), signal);
      result = answer.status < 400 ? 'ok' : String(answer.status);
      return answer;
    } finally {
      limits.observe?.(request.method, result, (performance.now() - started) / 1000);
    }
  };
  /** The body of a good answer that is left to the caller has no such limit: it may be long, and so may its reader. */
  const inTime = <T extends Tried>(
    request: RemoteRequest,
    signal: AbortSignal | undefined,
    read: (answer: RemoteAnswer) => Promise<T>,
  ): Promise<T> => {
    const sendingMs = (request.body?.length ?? 0) / slowestBytesPerMs;
    const ms = (request.longestMs ?? limits.wholeMs ?? usualWholeMs) + sendingMs;
    const work = (either: AbortSignal) =>
      retrying(retry, async () => read(await send(request, either)), either);
    return withDeadline(ms, signal, work).catch(tellApart(signal));
  };
  return {
    ask: (request, signal) => inTime(request, signal, (answer) => readWhole(answer, request.longestText)),
    stream: (request, signal) => inTime(request, signal, readRefusal),
    broken,
    close: client.close,
  };
}
