import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { chmodSync } from 'node:fs';
import { createServer, type ListenOptions, type Server } from 'node:net';
import { join } from 'node:path';

/** Listens wherever a run could try to reach this machine. Nobody else knows of these places. */
export interface Ears extends AsyncDisposable {
  readonly tcp: number;
  readonly udp: number;
  /** Without the NUL before it. */
  readonly abstract: string;
  readonly path: string;
  /** Who came since it was asked last. */
  heard(): string[];
}

export async function openEars(folder: string, nonce: string): Promise<Ears> {
  const heard = new Set<string>();
  const path = join(folder, 'ear.sock');
  const abstract = `workcrate-${nonce}`;
  const tcp = await listen({ host: '127.0.0.1', port: 0 }, () => heard.add('a TCP port on loopback'));
  const named = await listen({ path }, () => heard.add('a unix socket'));
  const hidden = await listen({ path: `\0${abstract}` }, () => heard.add('an abstract socket'));
  chmodSync(path, 0o777);
  const udp = createSocket('udp4').on('message', () => heard.add('a UDP port on loopback'));
  udp.bind(0, '127.0.0.1');
  await once(udp, 'listening');
  return {
    tcp: (tcp.address() as { port: number }).port,
    udp: udp.address().port,
    abstract,
    path,
    heard() {
      const words = [...heard];
      heard.clear();
      return words;
    },
    async [Symbol.asyncDispose]() {
      udp.close();
      for (const server of [tcp, named, hidden]) server.close();
    },
  };
}

async function listen(where: ListenOptions, came: () => void): Promise<Server> {
  const server = createServer((socket) => {
    came();
    socket.on('error', () => {}).destroy();
  });
  server.listen(where);
  await once(server, 'listening');
  return server;
}
