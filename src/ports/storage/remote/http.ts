import http, { type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import https from 'node:https';
import { setTimeout as pause } from 'node:timers/promises';
import { WorkcrateError } from '../../../platform/errors.ts';
import { createTimeoutError } from '../../../platform/net/deadline.ts';
import type { StoreRefusal } from './remote.ts';

// outbound: an object store streams both ways for hours, on connections of its own that are kept and counted

export interface RemoteRequest {
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE';
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** In memory, so that it can be sent again; null for none. */
  readonly body: Uint8Array | null;
  /** The most bytes of an answer that is read whole; 4 MB by default. */
  readonly longestText?: number | undefined;
  /** How long it may take in all, if not as long as usual. */
  readonly longestMs?: number | undefined;
}

export interface RemoteAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Read it to its end or destroy it: it occupies a connection. It fails if it breaks off. */
  readonly body: IncomingMessage;
}

/** One try. Rejects with the error of the system, or with the signal's reason at once when that fires. */
export type SendRequest = (request: RemoteRequest, signal?: AbortSignal) => Promise<RemoteAnswer>;

export interface ClientLimits {
  /** Connections at a time; further requests wait for `connectMs`. */
  readonly sockets: number;
  /** Until there is a connection, waiting for a free one included. */
  readonly connectMs: number;
  /** How long the connection may be idle in both directions. */
  readonly idleMs: number;
}

export const clientLimits: ClientLimits = { sockets: 256, connectMs: 15_000, idleMs: 60_000 };

/** HTTP to an object store. Its limits are for each part of a request, since one may rightly take hours. */
export function createRemoteClient(limits: ClientLimits): { send: SendRequest; close(): void } {
  // Stores close what is idle for some 20 seconds or more; ours go before that, so that few requests meet a closed one.
  const kept = { keepAlive: true, maxSockets: limits.sockets, maxFreeSockets: 16, timeout: 15_000 };
  const agents = { http: new http.Agent(kept), https: new https.Agent(kept) };
  return {
    send: (request, signal) => sendRemoteOnce(request, signal, agents, limits),
    close() {
      agents.http.destroy();
      agents.https.destroy();
    },
  };
}

async function sendRemoteOnce(
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
  // Rejected here as well: a request that waits for a connection emits its error only when it gets one.
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

type EndRequest = (error: Error) => void;

function stopWith(signal: AbortSignal | undefined, request: http.ClientRequest, end: EndRequest): void {
  if (signal === undefined) return;
  const stop = (): void => end(toErrorObject(signal.reason));
  signal.addEventListener('abort', stop, { once: true });
  request.once('close', () => signal.removeEventListener('abort', stop));
}

function limitConnecting(
  request: http.ClientRequest,
  limit: number,
  connected: string,
  end: EndRequest,
): void {
  const timer = setTimeout(() => end(createTimeoutError(`no connection within ${limit} ms`)), limit);
  const done = (): void => clearTimeout(timer);
  request.once('close', done);
  request.once('socket', (socket) => (socket.connecting ? socket.once(connected, done) : done()));
}

/** A slow reader on our side is no fault of the store: then the clock starts again. */
function limitIdling(request: http.ClientRequest, limit: number, end: EndRequest): void {
  let response: IncomingMessage | null = null;
  request.once('response', (incoming) => void (response = incoming));
  request.setTimeout(limit, () => {
    if (response !== null && response.readableLength > 0) request.socket?.setTimeout(limit);
    else end(createTimeoutError(`nothing happened for ${limit} ms`));
  });
}

const toErrorObject = (reason: unknown): Error =>
  reason instanceof Error ? reason : new Error(String(reason));

export interface RetryLimits {
  readonly tries: number;
  /** The longest pause after the first try; it doubles with each, up to `longestPauseMs`. */
  readonly firstPauseMs: number;
  readonly longestPauseMs: number;
  /** A store that asks for a longer pause by `Retry-After` is asked again after this. */
  readonly longestAskedMs: number;
  /** No pause goes beyond this, counted from the first try. */
  readonly totalMs: number;
}

export const retryLimits: RetryLimits = {
  tries: 6,
  firstPauseMs: 200,
  longestPauseMs: 5000,
  longestAskedMs: 10_000,
  totalMs: 45_000,
};

export interface RetriedAnswer {
  readonly refusal: StoreRefusal | null;
  readonly headers: { readonly 'retry-after'?: string | undefined };
}

/**
 * Retries while the store is busy or the network fails, with exponential backoff and full jitter, so that clients that
 * were refused together do not come back together. The last answer or failure is passed on as it is.
 */
export async function retryWithBackoff<T extends RetriedAnswer>(
  limits: RetryLimits,
  work: (attempt: number) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  const end = Date.now() + limits.totalMs;
  for (let attempt = 1; ; attempt++) {
    const outcome = await attemptWork(() => work(attempt), signal);
    const wait = pauseAfter(outcome, attempt, limits);
    if (wait === null || attempt >= limits.tries || Date.now() + wait > end) {
      if ('error' in outcome) throw outcome.error;
      return outcome.answer;
    }
    await pause(wait, undefined, signal === undefined ? {} : { signal }).catch((error: unknown) => {
      throw signal?.aborted ? signal.reason : error;
    });
  }
}

type AttemptOutcome<T> = { readonly answer: T } | { readonly error: unknown };

async function attemptWork<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<AttemptOutcome<T>> {
  try {
    return { answer: await work() };
  } catch (error) {
    if (signal?.aborted) throw signal.reason;
    return { error };
  }
}

/** Milliseconds until the next try, or null if another would be of no use. */
function pauseAfter(
  outcome: AttemptOutcome<RetriedAnswer>,
  attempt: number,
  limits: RetryLimits,
): number | null {
  const random = Math.random() * Math.min(limits.longestPauseMs, limits.firstPauseMs * 2 ** (attempt - 1));
  if ('error' in outcome) return isTemporaryError(outcome.error) ? random : null;
  const { refusal, headers } = outcome.answer;
  if (refusal === null || !isBusyRefusal(refusal)) return null;
  return Math.max(random, Math.min(limits.longestAskedMs, parseRetryAfter(headers['retry-after'])));
}

const temporaryNetworkErrors = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
]);

const busyStatuses = new Set([408, 429, 500, 502, 503, 504]);
const busyCodes = new Set([
  'SlowDown',
  'RequestTimeout',
  'ServerBusy',
  'OperationTimedOut',
  'InternalError',
  // Two writers at once, and neither has written.
  'ConditionalRequestConflict',
  'OperationAborted',
  // Bytes changed or lost on the way; we still have them.
  'XAmzContentSHA256Mismatch',
  'BadDigest',
  'IncompleteBody',
]);

const isBusyRefusal = ({ status, code }: StoreRefusal): boolean =>
  busyStatuses.has(status) || busyCodes.has(code);

/** Resets, refusals, timeouts and a name not found are temporary; a bad certificate or an answer that is no HTTP is not. */
function isTemporaryError(error: unknown): boolean {
  return temporaryNetworkErrors.has(getSystemCode(error));
}

/** `Retry-After` in milliseconds, as seconds or as a date; 0 where there is none. */
function parseRetryAfter(header: string | undefined): number {
  if (header === undefined) return 0;
  const ms = /^\d{1,6}$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now();
  return Number.isFinite(ms) ? Math.max(0, ms) : 0;
}

/** The code of a failed connection; where every address of a name failed, that of the first. */
function getSystemCode(error: unknown): string {
  if (error instanceof AggregateError) return getSystemCode(error.errors[0]);
  const { code } = error instanceof Error ? (error as NodeJS.ErrnoException) : {};
  return typeof code === 'string' ? code : '';
}

const networkRemedies: Record<string, string> = {
  ECONNREFUSED: 'refuses connections. Check that it runs, and its address.',
  ENOTFOUND: 'was not found by that name. Check its address.',
  EAI_AGAIN: 'could not be looked up. Check the name service of this machine, and the address.',
  ETIMEDOUT: 'does not answer in time. See whether it is overloaded or behind a firewall.',
  ECONNRESET: 'closed the connection. Try again; see its log if this continues.',
  EPIPE: 'closed the connection. Try again; see its log if this continues.',
};

const otherRemedy = 'cannot be reached. The log of the server says why.';
const certificateRemedy =
  'shows a certificate that is not trusted. Give Node its authority by NODE_EXTRA_CA_CERTS, or check the address.';

/** The error for a connection that failed; `store` names the host, never a URL that might be signed. */
export function storeUnreachableError(store: string, error: unknown): WorkcrateError {
  if (error instanceof WorkcrateError) return error;
  const code = getSystemCode(error);
  const remedy = networkRemedies[code] ?? (/CERT|TLS|SIGNATURE/.test(code) ? certificateRemedy : otherRemedy);
  const text = error instanceof Error ? error.message : String(error);
  return new WorkcrateError('storage_failed', `The store ${store} ${remedy}`, {
    cause: new Error(`${code} ${text}`.trim()),
  });
}

/** For the log: which request was refused, and how. */
export function toRefusalCause(store: string, { status, code, requestId }: StoreRefusal): Error {
  return new Error(`${store} answered ${status} ${code}`.trim() + (requestId && ` to request ${requestId}`));
}
