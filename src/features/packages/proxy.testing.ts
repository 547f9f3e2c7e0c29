import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import type { Duplex } from 'node:stream';
import type { OpenInstallNetwork } from './packages.ts';

/** What was asked of it, as `CONNECT host:port` or `GET url`, and what was not let through. */
export interface TestProxy {
  readonly open: OpenInstallNetwork;
  readonly asked: string[];
  readonly refused: string[];
  readonly closed: string[];
}

/**
 * A real proxy that lets a run reach the registries that it was opened for, and nothing else. It stands for that of
 * the server, which knows more rules.
 */
export function createTestProxy(): TestProxy {
  const asked: string[] = [];
  const refused: string[] = [];
  const closed: string[] = [];
  return {
    asked,
    refused,
    closed,
    open(_caller, run, registry) {
      const allowed = new Set(registry.map(({ host, port }) => `${host}:${port}`));
      const judge = (target: string): boolean => {
        if (allowed.has(target)) return true;
        refused.push(target);
        return false;
      };
      const server = createServer((incoming, answer) => passOn(incoming, answer, asked, judge));
      server.on('connect', (incoming, socket, head) => {
        const target = incoming.url ?? '';
        asked.push(`CONNECT ${target}`);
        if (!judge(target)) return void socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
        tunnel(target, socket, head);
      });
      return {
        accept: (connection) => void server.emit('connection', connection),
        environment: (url) =>
          Object.fromEntries(
            ['http_proxy', 'https_proxy', 'HTTP_PROXY', 'HTTPS_PROXY'].map((name) => [name, url]),
          ),
        close: () => void closed.push(run),
      };
    },
  };
}

function passOn(
  incoming: IncomingMessage,
  answer: ServerResponse,
  asked: string[],
  judge: (target: string) => boolean,
): void {
  const url = URL.parse(incoming.url ?? '');
  asked.push(`${incoming.method} ${incoming.url}`);
  if (url === null || !judge(`${url.hostname}:${url.port || 80}`)) {
    answer.writeHead(403).end('This host is not allowed.');
    return;
  }
  const outgoing = request(url, { method: incoming.method!, headers: incoming.headers }, (reply) => {
    answer.writeHead(reply.statusCode!, reply.headers);
    reply.pipe(answer);
  });
  outgoing.on('error', () => answer.writeHead(502).end('The host did not answer.'));
  incoming.pipe(outgoing);
}

function tunnel(target: string, socket: Duplex, head: Buffer): void {
  const { hostname, port } = new URL(`http://${target}`);
  const outside = connect(Number(port), hostname, () => {
    socket.write('HTTP/1.1 200 Connection Established\r\n\r\n');
    outside.write(head);
    outside.pipe(socket);
    socket.pipe(outside);
  });
  outside.on('error', () => socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n'));
  socket.on('error', () => outside.destroy());
}
