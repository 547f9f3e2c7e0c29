/**
 * The server's end of the ways out of a sandbox: a unix socket at which the relays inside (`workcrate_inside/gate.py`)
 * connect, each connection for one run by the token of that run. It decides nothing about hosts: it hands the connection
 * to the `RunNetwork` that the run was given, and closes it where the run has none. By it comes also the one connection
 * over which the code of a run calls tools, which is made before that code is there.
 */
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer, type AddressInfo, type ListenOptions, type Server, type Socket } from 'node:net';
import { once } from 'node:events';
import { join } from 'node:path';
import type { RunNetwork, RunTools, SandboxOptions } from './sandbox.ts';

export interface Gate extends AsyncDisposable {
  /** The socket, which a backend makes visible inside as `gateInside`. */
  readonly path: string;
  /** For a worker or container that may be given a network later. Nothing of it is accepted until then. */
  makePass(): GatePass;
  /** For one connection, over which the code of a run calls tools. */
  makeToolsPass(tools: Pick<RunTools, 'accept'>): ToolsPass;
}

/** What the first process of a run shows to connect, once, before its code runs. */
export interface ToolsPass extends Disposable {
  readonly token: string;
}

/** What a relay shows to be let through. */
export interface GatePass extends Disposable {
  readonly token: string;
  /** Where its connections go from now on; null closes those that come. */
  network: RunNetwork | null;
}

export const gateInside = '/opt/workcrate/gate';
/** The folder in which a run finds the certificates that it has to trust. */
export const certificatesInside = '/opt/workcrate/certificates';
/** Where code finds the proxy, in the network of its own run. */
const proxyInside = 'http://127.0.0.1:3128';

/** The variables for code that finds the proxy and the certificates where all sandboxes have them. */
export const toProxyVariables = (
  environment: RunNetwork['environment'] | null | undefined,
  { certificates = null }: Pick<SandboxOptions, 'certificates'>,
): Readonly<Record<string, string>> =>
  environment?.(proxyInside, certificates === null ? null : certificatesInside) ?? {};

const gateTokenForm = /^[0-9a-f]{32}$/;
/** A token and its line break. */
const greetingBytes = 33;
const greetingMs = 5000;
/** Not TMPDIR: the path of a socket is short, and an unprivileged uid has to get through here. */
const folderPrefix = '/tmp/workcrate-gate-';

/**
 * Who can reach the socket. Where code of a run can, it has a gate of its own; elsewhere only relays know of it, of all
 * runs.
 */
export type GateReach = 'relays' | 'hostile';

/**
 * How many connections wait at once that have not shown a token: the oldest goes then. How many there are in all, which is
 * more than a relay makes. And after how many that showed none the socket is closed: a relay always shows one.
 */
const bounds: Readonly<Record<GateReach, { waiting: number; open: number; failures: number }>> = {
  relays: { waiting: 1024, open: Infinity, failures: Infinity },
  hostile: { waiting: 32, open: 128, failures: 64 },
};

export async function openGate(reach: GateReach): Promise<Gate> {
  const most = bounds[reach];
  const folder = mkdtempSync(`${folderPrefix}${process.pid}-`);
  const path = join(folder, 's');
  const passes = new Map<string, (socket: Socket) => void>();
  const connections = new Set<Socket>();
  /** The oldest first. */
  const waiting = new Set<Socket>();
  let failures = 0;
  const noteFailure = (): void => {
    // From then on the kernel refuses connections, which costs the server nothing. Those that are open stay.
    if (++failures === most.failures) server.close();
  };
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    connections.add(socket);
    waiting.add(socket);
    const endWaiting = (): void => {
      if (waiting.delete(socket)) noteFailure();
    };
    socket
      .on('error', () => {})
      .once('close', () => {
        connections.delete(socket);
        endWaiting();
      });
    readGreeting(socket, (token) => {
      const accept = passes.get(token);
      if (accept === undefined) return void socket.destroy();
      waiting.delete(socket);
      accept(socket);
    });
    if (waiting.size > most.waiting) waiting.values().next().value!.destroy();
  });
  server.maxConnections = most.open;
  server.on('drop', noteFailure);
  await listen(server, path);
  // Users of runs are others than the server's; who connects has to have a token.
  chmodSync(path, 0o666);
  return {
    path,
    makePass() {
      const token = newToken();
      const pass: GatePass = {
        token,
        network: null,
        [Symbol.dispose]: () => {
          pass.network = null;
          passes.delete(token);
        },
      };
      passes.set(token, (socket) => {
        if (pass.network === null) socket.destroy();
        else pass.network.accept(socket);
      });
      return pass;
    },
    makeToolsPass(tools) {
      const token = newToken();
      passes.set(token, (socket) => {
        passes.delete(token);
        tools.accept(socket);
      });
      return { token, [Symbol.dispose]: () => void passes.delete(token) };
    },
    async [Symbol.asyncDispose]() {
      for (const socket of connections) socket.destroy();
      if (server.listening) {
        server.close();
        await once(server, 'close');
      }
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const newToken = (): string => randomBytes(16).toString('hex');

async function listen(server: Server, at: string | ListenOptions): Promise<void> {
  server.listen(at);
  await once(server, 'listening');
  server.unref();
}

/** A proxy at a port of this machine, for a backend in which runs share its network. */
export interface ProxyPort extends Disposable {
  readonly url: string;
  network: RunNetwork | null;
}

export async function openProxyPort(): Promise<ProxyPort> {
  const connections = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    connections.add(socket);
    socket.once('close', () => connections.delete(socket)).on('error', () => {});
    if (opened.network === null) socket.destroy();
    else opened.network.accept(socket);
  });
  await listen(server, { host: '127.0.0.1', port: 0 });
  const opened: ProxyPort = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    network: null,
    [Symbol.dispose]() {
      for (const socket of connections) socket.destroy();
      server.close();
    },
  };
  return opened;
}

/**
 * Only relays know tokens; whoever says anything else is gone at once. What comes behind the token stays in the socket,
 * which is as if nobody had listened to it.
 */
function readGreeting(socket: Socket, welcome: (token: string) => void): void {
  const late = setTimeout(() => socket.destroy(), greetingMs).unref();
  socket.once('close', () => clearTimeout(late));
  const read = (): void => {
    const greeting = socket.read(greetingBytes) as Buffer | null;
    if (greeting === null) return;
    socket.off('readable', read);
    clearTimeout(late);
    const token = greeting.toString('latin1', 0, greetingBytes - 1);
    if (greeting.length < greetingBytes || !gateTokenForm.test(token)) socket.destroy();
    else setImmediate(welcome, token);
  };
  socket.on('readable', read);
}
