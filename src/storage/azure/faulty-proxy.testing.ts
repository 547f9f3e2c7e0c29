import { once } from 'node:events';
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

/** What may go wrong with one request. */
export type Fault =
  /** It is answered so, and never reaches the store. */
  | { readonly status: number; readonly headers?: Record<string, string> }
  /** The connection is cut before the store sees it. */
  | 'cut'
  /** The store does it, but its answer never arrives. */
  | 'lost'
  /** Half of the answer's body arrives, and then the connection is cut. */
  | 'half'
  /** Half of the body arrives, and is said to be all. */
  | 'short'
  /** Nothing happens any more. */
  | 'silent';

export interface Seen {
  readonly method: string;
  readonly url: string;
  /** Counted from 0. */
  readonly at: number;
}

export interface FaultyProxy extends AsyncDisposable {
  readonly endpoint: string;
  readonly seen: Seen[];
  /** Which fault a request meets, or null for none; may be set anew at any time. */
  fault: (request: Seen) => Fault | null;
}

/**
 * Stands between a client and a real store, and spoils what it is told to. With `host`, it is reached without a path,
 * and passes requests on as if they had been sent to that host.
 */
export async function startFaultyProxy(endpoint: string, host?: string): Promise<FaultyProxy> {
  const target = { ...addressOf(endpoint), host };
  const agent = new http.Agent({ keepAlive: true });
  const server = http.createServer((request, response) => {
    const seen = { method: request.method!, url: request.url!, at: proxy.seen.length };
    proxy.seen.push(seen);
    pass(request, response, proxy.fault(seen), target, agent).catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const proxy: FaultyProxy = {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}${host ? '' : new URL(endpoint).pathname}`,
    seen: [],
    fault: () => null,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      agent.destroy();
      await once(server, 'close');
    },
  };
  return proxy;
}

function addressOf(endpoint: string): { hostname: string; port: string } {
  const { hostname, port } = new URL(endpoint);
  return { hostname, port };
}

async function pass(
  request: IncomingMessage,
  response: ServerResponse,
  fault: Fault | null,
  target: { readonly hostname: string; readonly port: string; readonly host: string | undefined },
  agent: http.Agent,
): Promise<void> {
  if (fault === 'cut') return void response.destroy();
  const body = await buffer(request);
  if (fault === 'silent') return;
  if (typeof fault === 'object' && fault !== null)
    return void response.writeHead(fault.status, fault.headers).end();
  const { method, url: path } = request;
  const headers = { ...request.headers, host: target.host ?? request.headers.host };
  const onward = http.request({ host: target.hostname, port: target.port, method, path, headers, agent });
  onward.end(body);
  const [answer] = (await once(onward, 'response')) as [IncomingMessage];
  const whole = await buffer(answer);
  if (fault === 'lost') return void response.destroy();
  send(response, answer, whole, fault);
}

function send(response: ServerResponse, answer: IncomingMessage, whole: Buffer, fault: Fault | null): void {
  const { 'transfer-encoding': _, ...headers } = answer.headers;
  const half = whole.subarray(0, whole.length >> 1);
  const length = fault === 'short' ? half.length : whole.length;
  const isHead = response.req.method === 'HEAD';
  response.writeHead(answer.statusCode!, isHead ? headers : { ...headers, 'content-length': length });
  if (fault === 'half') response.write(half, () => response.destroy());
  else response.end(fault === 'short' ? half : whole);
}
