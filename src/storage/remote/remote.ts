import { WorkcrateError } from '../../errors.ts';
import { readRefusal, readWhole, type StreamedAnswer, type WholeAnswer } from './answers.ts';
import { clientLimits, createClient, type ClientLimits, type RemoteRequest } from './client.ts';
import { unreachable } from './failures.ts';
import { retrying, retryLimits, type RetryLimits } from './retry.ts';

export { element, elements, type Refusal, type StreamedAnswer, type WholeAnswer } from './answers.ts';
export type { RemoteRequest } from './client.ts';
export { refusedAs } from './failures.ts';

/** A store that speaks HTTP. What it refuses is an answer, with its `refusal`; what did not get there is thrown. */
export interface Remote {
  /** Sends, and reads the whole answer, which must be short. Tried again where that may help. */
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

export type RemoteLimits = Partial<ClientLimits & RetryLimits>;

export function createRemote({ store, sign, limits = {} }: RemoteOptions): Remote {
  const client = createClient({ ...clientLimits, ...limits });
  const retry = { ...retryLimits, ...limits };
  const broken = (error: unknown): WorkcrateError => unreachable(store, error);
  const tellApart = (signal?: AbortSignal) => (error: unknown) => {
    throw signal?.aborted ? signal.reason : broken(error);
  };
  const send = async (request: RemoteRequest, signal?: AbortSignal) =>
    client.send(await sign(request), signal);
  return {
    ask: (request, signal) =>
      retrying(retry, async () => readWhole(await send(request, signal)), signal).catch(tellApart(signal)),
    stream: (request, signal) =>
      retrying(retry, async () => readRefusal(await send(request, signal)), signal).catch(tellApart(signal)),
    broken,
    close: client.close,
  };
}
