/**
 * The one way out over HTTP: a request with a deadline, a limit for its answer, no redirects, and a rule for private
 * addresses. Its errors name neither the address nor a header nor what was answered, since each may hold a secret.
 * It does not retry, pool, decompress or parse, and a status of 500 is an answer like any other.
 */
import { lookup as lookUpName } from 'node:dns';
import type { IncomingMessage } from 'node:http';
import { isIP, type LookupFunction } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { collectText } from '../streams.ts';
import { isPrivateAddress } from './addresses.ts';
import { withDeadline } from './deadline.ts';

export interface FetchPolicy {
  /** For the request and the whole answer together. */
  readonly timeoutMs: number;
  /** Of the body of the answer. */
  readonly maxBytes: number;
  /** Allowed where the operator has named the host; to be refused where anybody else has. */
  readonly privateAddresses: 'allowed' | 'refused';
}

export interface FetchRequest {
  readonly method?: 'GET' | 'POST' | 'PUT';
  readonly headers?: Readonly<Record<string, string>>;
  /** Bytes are sent as they come; their length has to be in the headers. */
  readonly body?: string | AsyncIterable<Uint8Array>;
  /** Of the caller. Its reason is thrown as it is. */
  readonly signal?: AbortSignal | undefined;
}

/** What was answered. It is good only until `read` of `fetchBounded` is done. */
export interface FetchAnswer {
  readonly status: number;
  readonly headers: FetchHeaders;
  /** The body as UTF-8, once. */
  text(): Promise<string>;
  /** The same line by line, each when it comes. */
  lines(): AsyncIterable<string>;
  /** The same as bytes, as they come. */
  chunks(): AsyncIterable<Uint8Array>;
}

export interface FetchHeaders {
  get(name: string): string | null;
}

/** `broken_off`: there was a connection, so what was asked for may have been done. */
type FetchFailure = 'timeout' | 'network' | 'broken_off' | 'too_long' | 'private_address';

/** Nothing was answered, or not all of it. The message goes on after "it failed: ". */
export class FetchError extends Error {
  override readonly name = 'FetchError';
  readonly kind: FetchFailure;

  constructor(kind: FetchFailure, message: string) {
    super(message);
    this.kind = kind;
  }
}

/** Sends one request, and has `read` take what it wants of the answer; what it leaves is not received. */
export async function fetchBounded<T>(
  url: string | URL,
  request: FetchRequest,
  policy: FetchPolicy,
  read: (answer: FetchAnswer) => T | Promise<T>,
): Promise<T> {
  const ask = async (signal: AbortSignal): Promise<T> => {
    const incoming = await sendRequest(url, request, policy, signal).catch(throwFetchError(signal));
    try {
      return await read(toAnswer(incoming, policy, signal));
    } finally {
      // What is here already is let go by, so that its connection is free: one in use keeps the process from ending.
      if (incoming.complete) incoming.resume();
      else incoming.destroy();
    }
  };
  const late = (ms: number): Error => new FetchError('timeout', `no answer within ${ms} ms`);
  return withDeadline(policy.timeoutMs, request.signal, ask, late);
}

async function sendRequest(
  address: string | URL,
  { method = 'GET', headers = {}, body }: FetchRequest,
  { privateAddresses }: FetchPolicy,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const url = new URL(address);
  // Loaded here: with what Node loads beside it, it takes a tenth of a start over stdio.
  const { request } = await (url.protocol === 'https:' ? import('node:https') : import('node:http'));
  signal.throwIfAborted();
  // They would be sent as a header, which nobody has asked for.
  if (url.username !== '' || url.password !== '') throw new FetchError('network', 'its URL holds a password');
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const options = { method, headers: { ...usualHeaders, ...headers }, signal };
  const outgoing = request(
    url,
    privateAddresses === 'allowed' ? options : { ...options, ...checkPublic(url) },
  )
    .once('response', (incoming) => {
      // The reader gets the error; if nobody reads, nobody needs it.
      incoming.on('error', () => {});
      resolve(incoming);
    })
    .on('error', reject);
  if (body === undefined || typeof body === 'string') outgoing.end(body);
  // A server that refuses answers before it has all of it, and that answer counts.
  else pipeline(body, outgoing).catch(reject);
  return promise;
}

/** Some services refuse requests without these. */
const usualHeaders = { Accept: '*/*', 'User-Agent': 'node' };

/** A connection of its own: a kept one may have been made without these rules. */
function checkPublic({ hostname }: URL): { agent: false; lookup: LookupFunction } {
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  if (isIP(host) !== 0 && isPrivateAddress(host)) throw privateError();
  return { agent: false, lookup: lookUpPublic };
}

/** Judges the very addresses that are then connected to, so that a name cannot change in between. */
const lookUpPublic: LookupFunction = (name, options, callback) => {
  lookUpName(name, { ...options, all: true }, (error, found) => {
    const [first] = found ?? [];
    if (error !== null || first === undefined) return callback(error, '', 0);
    if (found.some(({ address }) => isPrivateAddress(address))) return callback(privateError(), '', 0);
    return options.all === true ? callback(null, found) : callback(null, first.address, first.family);
  });
};

const privateError = (): FetchError =>
  new FetchError('private_address', 'its address is private, which is not allowed here');

function toAnswer(incoming: IncomingMessage, { maxBytes }: FetchPolicy, signal: AbortSignal): FetchAnswer {
  const tooLong = (): Error => new FetchError('too_long', `its answer is longer than ${maxBytes} bytes`);
  return {
    status: incoming.statusCode!,
    headers: {
      get(name) {
        const value = incoming.headers[name.toLowerCase()];
        return value === undefined ? null : String(value);
      },
    },
    text: () => collectText(incoming, { limit: maxBytes, tooLong }).catch(throwFetchError(signal)),
    lines: () => readTextLines(readChunks()),
    chunks: readChunks,
  };

  async function* readChunks(): AsyncGenerator<Uint8Array> {
    let size = 0;
    try {
      for await (const chunk of incoming as AsyncIterable<Uint8Array>) {
        size += chunk.length;
        if (size > maxBytes) throw tooLong();
        yield chunk;
      }
    } catch (error) {
      throwFetchError(signal)(error);
    }
  }
}

async function* readTextLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of chunks) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop()!;
    yield* lines.map((line) => line.replace(/\r$/, ''));
  }
  if (rest !== '') yield rest;
}

const brokenOff: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE']);

/** Of the system's error its code alone is kept: its message and fields may repeat what was sent or answered. */
const throwFetchError =
  (signal: AbortSignal) =>
  (error: unknown): never => {
    signal.throwIfAborted();
    if (error instanceof FetchError) throw error;
    const { code } = error as { code?: unknown };
    const isPlain = typeof code === 'string' && /^[A-Z0-9_]{1,40}$/.test(code);
    const kind = isPlain && !brokenOff.has(code) ? 'network' : 'broken_off';
    throw new FetchError(kind, `no connection (${isPlain ? code : 'broken off'})`);
  };
