import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { open, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { OpenObject } from '../../ports/storage/storage.ts';
import { type BodySegment, type SendOptions, type Sent, sendSegments } from './transfer.ts';

// What the tests of this room share: a real server on loopback, raw clients, and objects to send.

const folder = mkdtempSync(join(tmpdir(), 'workcrate-transfer-'));
process.on('exit', () => rmSync(folder, { recursive: true }));
let files = 0;

/** An object in a file, with the path for tests that spoil it. */
export async function fileObject(bytes: Uint8Array): Promise<OpenObject & { path: string }> {
  const path = join(folder, String((files += 1)));
  await writeFile(path, bytes);
  const handle = await open(path, 'r');
  return {
    path,
    size: bytes.length,
    descriptor: handle.fd,
    read: () => handle.createReadStream({ autoClose: false }),
    [Symbol.asyncDispose]: () => handle.close(),
  };
}

/** An object of a backend without descriptors, in chunks of `chunk` bytes. */
export function streamObject(bytes: Uint8Array, chunk = 10_000): OpenObject {
  return {
    size: bytes.length,
    descriptor: null,
    async *read(start, end) {
      for (let at = start; at < end; at += chunk) yield bytes.subarray(at, Math.min(at + chunk, end));
    },
    [Symbol.asyncDispose]: async () => {},
  };
}

export const whole = (object: OpenObject): BodySegment => ({ object, start: 0, end: object.size });

export type Answer = (req: IncomingMessage, res: ServerResponse) => Promise<Sent>;

/** Answers each request with these segments. */
export function body(
  segments: () => AsyncIterable<BodySegment> | Iterable<BodySegment>,
  options: SendOptions,
): Answer {
  return (_req, res) => {
    res.writeHead(200, { 'Content-Length': options.length });
    return sendSegments(res, segments(), options);
  };
}

export interface Loopback extends AsyncDisposable {
  readonly port: number;
  /** What became of each request, in the order of their arrival. */
  readonly outcomes: Promise<Sent>[];
}

export async function serve(answer: Answer, server: Server = createServer()): Promise<Loopback> {
  const outcomes: Promise<Sent>[] = [];
  server.on('request', (req: IncomingMessage, res: ServerResponse) => {
    const outcome = answer(req, res);
    // The test looks at it later; until then a rejection is not unhandled.
    outcome.catch(() => {});
    outcomes.push(outcome);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const stop = async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  };
  const port = address !== null && typeof address === 'object' ? address.port : 0;
  return { port, outcomes, [Symbol.asyncDispose]: stop };
}

export async function dial(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  return socket.on('error', () => {});
}

export const request = (path = '/', method = 'GET') => `${method} ${path} HTTP/1.1\r\nHost: loopback\r\n\r\n`;

/** All that one connection receives until it ends, with the requests given. */
export async function received(port: number, requests: string): Promise<Buffer> {
  const socket = await dial(port);
  socket.write(requests);
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  await once(socket, 'close');
  return Buffer.concat(chunks);
}

/** The body after the headers of the only response. */
export function bodyOf(response: Buffer): Buffer {
  return response.subarray(response.indexOf('\r\n\r\n') + 4);
}

export const closing = (path = '/', method = 'GET') =>
  request(path, method).replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n');

export const noise = (length: number) => randomBytes(length);
