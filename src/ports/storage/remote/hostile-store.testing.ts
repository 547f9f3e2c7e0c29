import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';

export interface HostileStore {
  readonly endpoint: string;
  /** `METHOD url` of each request so far. */
  readonly seen: string[];
  /** May be set anew at any time. */
  answer: RequestListener;
}

/** Answers whatever it is told to: no real store can be made to say such things. */
export async function startHostileStore(t: TestContext): Promise<HostileStore> {
  const server = createServer((request, response) => {
    store.seen.push(`${request.method} ${request.url}`);
    request.resume();
    store.answer(request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const store: HostileStore = {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen: [],
    answer: (_, response) => void response.end(),
  };
  return store;
}

/** An answer that is the same whatever was asked for. */
export const always =
  (status: number, text: string, headers: Record<string, string> = {}): RequestListener =>
  (_, response) =>
    void response.writeHead(status, headers).end(text);
