import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import type { Way } from './outside.testing.ts';

/** Through the proxy, as HTTP clients do. */
export async function get(
  way: Way,
  url: string,
  {
    method = 'GET',
    headers = {},
    body,
  }: { method?: string; headers?: Record<string, string>; body?: string } = {},
): Promise<{ status: number; reason: string; headers: IncomingMessage['headers']; text: string }> {
  const outgoing = request({
    host: '127.0.0.1',
    port: way.port,
    path: url,
    method,
    agent: false,
    headers: { Host: new URL(url).host, ...headers },
  });
  outgoing.end(body);
  const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage];
  return {
    status: incoming.statusCode!,
    reason: incoming.statusMessage!,
    headers: incoming.headers,
    text: await text(incoming),
  };
}

/** A tunnel that was opened, or its refusal. */
export async function openTunnelTo(way: Way, authority: string): Promise<{ answer: string; socket: Socket }> {
  const socket = await way.connect();
  socket.write(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n\r\n`);
  const [chunk] = (await once(socket, 'data')) as [Buffer];
  return { answer: chunk.toString(), socket };
}
