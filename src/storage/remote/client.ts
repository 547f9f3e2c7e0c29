import http, { type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import https from 'node:https';
import { createTimeoutError } from '../../net/deadline.ts';

// outbound: an object store streams both ways for hours, on connections of its own that are kept and counted

export interface RemoteRequest {
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE';
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** In memory, so that it can be sent again; null for none. */
  readonly body: Uint8Array | null;
  /** How many bytes of an answer are held whole at the most; 4 MB where nothing else is said. */
  readonly longestText?: number | undefined;
  /** How long it may take in all, where that is not as usual. */
  readonly longestMs?: number | undefined;
}

export interface RemoteAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Read it to its end or destroy it: it holds a connection. It fails if it breaks off. */
  readonly body: IncomingMessage;
}

/** One try. Rejects with what the system said, or with the signal's reason at once when that fires. */
export type Send = (request: RemoteRequest, signal?: AbortSignal) => Promise<RemoteAnswer>;

export interface ClientLimits {
  /** Connections at a time; further requests wait for `connectMs`. */
  readonly sockets: number;
  /** Until a connection stands, waiting for a free one included. */
  readonly connectMs: number;
  /** How long the store may take nothing and say nothing. */
  readonly idleMs: number;
}

export const clientLimits: ClientLimits = { sockets: 256, connectMs: 15_000, idleMs: 60_000 };

/** HTTP to an object store. Its limits are for each part of a request, since one may rightly take hours. */
export function createClient(limits: ClientLimits): { send: Send; close(): void } {
  // Stores close what is idle for some 20 seconds or more; ours go before that, so that few requests meet a closed one.
  const kept = { keepAlive: true, maxSockets: limits.sockets, maxFreeSockets: 16, timeout: 15_000 };
  const agents = { http: new http.Agent(kept), https: new https.Agent(kept) };
  return {
    send: (request, signal) => sendOnce(request, signal, agents, limits),
    close() {
      agents.http.destroy();
      agents.https.destroy();
    },
  };
}

async function sendOnce(
  { method, url, headers, body }: RemoteRequest,
  signal: AbortSignal | undefined,
  agents: { http: http.Agent; https: https.Agent },
  limits: ClientLimits,
): Promise<RemoteAnswer> {
  signal?.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<RemoteAnswer>();
  const length =
    body === null && method !== 'PUT' && method !== 'POST'
      ? {}
      : { 'Content-Length': `${body?.length ?? 0}` };
  const options = { method, headers: { ...headers, ...length } };
  const request =
    url.protocol === 'https:'
      ? https.request(url, { ...options, agent: agents.https })
      : http.request(url, { ...options, agent: agents.http });
  request.on('error', reject);
  // Rejected here as well: one that still waits for a connection tells of its end only when it gets one.
  const end = (error: Error): void => {
    reject(error);
    request.destroy(error);
  };
  stopWith(signal, request, end);
  limitConnecting(request, limits.connectMs, url.protocol === 'https:' ? 'secureConnect' : 'connect', end);
  request.once('response', (incoming: IncomingMessage) => {
    resolve({ status: incoming.statusCode!, headers: incoming.headers, body: incoming });
  });
  limitIdling(request, limits.idleMs, end);
  request.end(body ?? undefined);
  return promise;
}

type End = (error: Error) => void;

function stopWith(signal: AbortSignal | undefined, request: http.ClientRequest, end: End): void {
  if (signal === undefined) return;
  const stop = (): void => end(asError(signal.reason));
  signal.addEventListener('abort', stop, { once: true });
  request.once('close', () => signal.removeEventListener('abort', stop));
}

function limitConnecting(request: http.ClientRequest, limit: number, connected: string, end: End): void {
  const timer = setTimeout(() => end(createTimeoutError(`no connection within ${limit} ms`)), limit);
  const done = (): void => clearTimeout(timer);
  request.once('close', done);
  request.once('socket', (socket) => (socket.connecting ? socket.once(connected, done) : done()));
}

/** A reader of ours that is slow is no fault of the store's: then the clock starts anew. */
function limitIdling(request: http.ClientRequest, limit: number, end: End): void {
  let response: IncomingMessage | null = null;
  request.once('response', (incoming) => void (response = incoming));
  request.setTimeout(limit, () => {
    if (response !== null && response.readableLength > 0) request.socket?.setTimeout(limit);
    else end(createTimeoutError(`nothing happened for ${limit} ms`));
  });
}

const asError = (reason: unknown): Error => (reason instanceof Error ? reason : new Error(String(reason)));
