import { once } from 'node:events';
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What happens to one request in place of, or on top of, what the store does. */
export type Fault =
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

export interface FaultyProxy extends AsyncDisposable {
  readonly endpoint: string;
  /** `METHOD path` of each request so far. */
  readonly seen: string[];
  /** Asked at each request; null lets it pass. */
  fault: (request: IncomingMessage, count: number) => Fault | null;
}

/** Stands before a real store and does to its requests what networks and busy stores do. */
export async function startFaultyProxy(target: string): Promise<FaultyProxy> {
  const agent = new http.Agent({ keepAlive: true });
  const seen: string[] = [];
  const server = http.createServer((request, response) => {
    seen.push(`${request.method} ${request.url}`);
    meet(proxy.fault(request, seen.length), request, response, target, agent);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const proxy: FaultyProxy = {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    fault: () => null,
    async [Symbol.asyncDispose]() {
      agent.destroy();
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return proxy;
}

function meet(
  fault: Fault | null,
  request: IncomingMessage,
  response: ServerResponse,
  target: string,
  agent: http.Agent,
): void {
  if (fault === 'hang') return void request.resume();
  if (fault === 'reset') return void request.socket.destroy();
  if (fault !== null && typeof fault === 'object' && 'answer' in fault) {
    request.resume();
    request.once('end', () => response.writeHead(fault.answer, fault.headers).end(fault.text));
    return;
  }
  const { method, headers } = request;
  const onward = http.request(`${target}${request.url}`, { method, headers, agent, setHost: false });
  onward.on('error', () => response.destroy());
  onward.on('response', (answer) => giveBack(answer, response, fault));
  request.pipe(onward);
}

function giveBack(answer: IncomingMessage, response: ServerResponse, fault: Fault | null): void {
  answer.on('error', () => response.destroy());
  if (fault === 'lose answer') {
    answer.resume();
    answer.once('end', () => response.destroy());
    return;
  }
  const limit = fault !== null && typeof fault === 'object' ? cutOf(fault) : null;
  if (limit === null) {
    response.writeHead(answer.statusCode!, answer.headers);
    return void answer.pipe(response);
  }
  cut(answer, response, limit.bytes, limit.isClean);
}

const cutOf = (fault: Exclude<Fault, string>): { bytes: number; isClean: boolean } | null => {
  if ('cutAfter' in fault) return { bytes: fault.cutAfter, isClean: false };
  return 'shortenTo' in fault ? { bytes: fault.shortenTo, isClean: true } : null;
};

/** Cleanly: chunked, so that nothing on the line shows that there should be more. */
function cut(answer: IncomingMessage, response: ServerResponse, bytes: number, isClean: boolean): void {
  const { 'content-length': length, ...headers } = answer.headers;
  response.writeHead(answer.statusCode!, isClean ? headers : { ...headers, 'content-length': length });
  let left = bytes;
  answer.on('data', (chunk: Buffer) => {
    if (left > 0) response.write(chunk.subarray(0, left));
    left -= chunk.length;
    if (left > 0) return;
    answer.destroy();
    if (isClean) response.end();
    else setImmediate(() => response.destroy());
  });
}
