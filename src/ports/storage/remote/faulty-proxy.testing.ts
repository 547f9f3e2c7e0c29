import { once } from 'node:events';
import http, { type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

/** What happens to one request in place of, or on top of, what the store does. */
export type Fault =
  /** It is answered so, and never reaches the store. */
  | { readonly answer: number; readonly headers?: Record<string, string>; readonly text?: string }
  /** Never reaches the store, and the connection breaks. */
  | 'reset'
  /** Reaches the store, which does it, but the answer gets lost. */
  | 'lose answer'
  /** Is never answered. */
  | 'hang'
  /** The body breaks off after so many bytes. */
  | { readonly cutAfter: number }
  /** The body ends after so many bytes as if it were whole. */
  | { readonly shortenTo: number };

export interface Seen {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  /** Counted from 0. */
  readonly at: number;
}

export interface FaultyProxy extends AsyncDisposable {
  readonly endpoint: string;
  /** Each request so far. */
  readonly seen: Seen[];
  /** Asked at each request; null lets it pass. May be set anew at any time. */
  fault: (request: Seen) => Fault | null;
}

/**
 * Stands before a real store and does to its requests what networks and busy stores do. With `host`, it is reached
 * without a path, and passes requests on as if they had been sent to that host.
 */
export async function startFaultyProxy(target: string, host?: string): Promise<FaultyProxy> {
  const agent = new http.Agent({ keepAlive: true });
  const { origin, pathname } = new URL(target);
  const server = http.createServer((request, response) => {
    const { method, url, headers } = request;
    const seen = { method: method!, url: url!, headers, at: proxy.seen.length };
    proxy.seen.push(seen);
    const onward = { origin, agent, headers: host === undefined ? headers : { ...headers, host } };
    meet(request, response, proxy.fault(seen), onward).catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const path = host === undefined ? pathname.replace(/\/$/, '') : '';
  const proxy: FaultyProxy = {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`,
    seen: [],
    fault: () => null,
    async [Symbol.asyncDispose]() {
      agent.destroy();
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
  return proxy;
}

interface Onward {
  readonly origin: string;
  readonly headers: IncomingHttpHeaders;
  readonly agent: http.Agent;
}

async function meet(
  request: IncomingMessage,
  response: ServerResponse,
  fault: Fault | null,
  { origin, headers, agent }: Onward,
): Promise<void> {
  if (fault === 'reset') return void response.destroy();
  const body = await buffer(request);
  if (fault === 'hang') return;
  if (isOwnAnswer(fault)) return void response.writeHead(fault.answer, fault.headers).end(fault.text);
  const { method, url } = request;
  const onward = http.request(`${origin}${url}`, { method, headers, agent, setHost: false }).end(body);
  const [answer] = (await once(onward, 'response')) as [IncomingMessage];
  const whole = await buffer(answer);
  if (fault === 'lose answer') response.destroy();
  else giveBack(response, answer, whole, fault);
}

const isOwnAnswer = (fault: Fault | null): fault is Extract<Fault, { answer: number }> =>
  typeof fault === 'object' && fault !== null && 'answer' in fault;

/** Shortened, it is chunked, so that nothing on the line shows that there should be more. */
function giveBack(
  response: ServerResponse,
  answer: IncomingMessage,
  whole: Buffer,
  fault: { cutAfter: number } | { shortenTo: number } | null,
): void {
  const { 'content-length': length, ...others } = answer.headers;
  const isShortened = fault !== null && 'shortenTo' in fault;
  const headers = isShortened || length === undefined ? others : { ...others, 'content-length': length };
  response.writeHead(answer.statusCode!, headers);
  if (fault === null) response.end(whole);
  else if (isShortened) response.end(whole.subarray(0, fault.shortenTo));
  else response.write(whole.subarray(0, fault.cutAfter), () => response.destroy());
}
