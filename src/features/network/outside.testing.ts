import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import {
  connect,
  createServer as createTcpServer,
  type AddressInfo,
  type Socket,
  type TcpNetConnectOpts,
} from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { createLog } from '../../platform/observability/log.ts';
import { parseHostRules } from '../../platform/net/host-rules.ts';
import { openAuthority, type CertificateAuthority } from './authority.ts';
import {
  createEgress,
  type Egress,
  type EgressGrant,
  type EgressOptions,
  type EgressNetwork,
} from './egress.ts';

/**
 * What stands for the outside in tests: servers on loopback behind names and addresses of the public, and a record of
 * every address that the proxy connects to. Nothing here speaks to another machine.
 */
export interface Outside extends AsyncDisposable {
  /** The requests that came to any of the servers, as `method host url`. */
  readonly requests: string[];
  /** `address:port`, in the order of connecting. */
  readonly contacts: string[];
  readonly authority: CertificateAuthority;
  readonly folder: string;
  /** What names lead to. A name that is not here does not exist. May be changed while it runs. */
  readonly names: Map<string, string[] | (() => string[])>;
  readonly lookUps: string[];
  /** The port on loopback of a server that nobody may reach. */
  readonly earPort: number;
  /** Contacts with that server, and connections to addresses that are not the public ones of this file. */
  listForbidden(): string[];
  /** Connections to the servers that are open. */
  countOpen(): number;
  /** Answers the requests; it may be exchanged. */
  answer: RequestListener;
  readonly options: EgressOptions;
  /** All that was logged. */
  readonly logged: string[];
}

/** Of no test network: those are refused. Nobody connects to them, since the connections are led to loopback. */
export const publicAddress = '93.184.216.34';
const otherPublicAddress = '93.184.216.35';

const hosts = ['allowed.example', 'api.allowed.example', 'secret.example', 'other.example'];

export async function startOutside(): Promise<Outside> {
  const folder = mkdtempSync(join(tmpdir(), 'workcrate-egress-'));
  const authority = openAuthority(join(folder, 'outside'), hosts);
  const [requests, contacts, heard, lookUps, logged]: string[][] = [[], [], [], [], []];
  const outside = { answer: (_: IncomingMessage, res) => void res.end('hello from outside\n') } as Outside;
  const listener: RequestListener = (req, res) => {
    requests!.push(`${req.method} ${req.headers.host} ${req.url}`);
    outside.answer(req, res);
  };
  const plain = await listen(createServer({ requestTimeout: 0 }, listener));
  const tls = await listen(
    createTlsServer(
      { SNICallback: (name, done) => done(null, authority.issue(name)), requestTimeout: 0 },
      listener,
    ),
  );
  const open = new Set<Socket>();
  for (const server of [plain, tls])
    server.on('connection', (socket) => open.add(socket.once('close', () => open.delete(socket))));
  const ear = createTcpServer((socket) => {
    heard!.push('the server on loopback that nobody may reach');
    socket
      .on('error', () => {})
      .resume()
      .end('HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nTHROUGH');
  });
  await once(ear.listen(0, '127.0.0.1'), 'listening');
  const names = new Map<string, string[] | (() => string[])>(hosts.map((name) => [name, [publicAddress]]));

  const connectInside = (options: TcpNetConnectOpts): Socket => {
    const { host, port } = options;
    contacts!.push(`${host}:${port}`);
    if (host !== publicAddress && host !== otherPublicAddress) {
      heard!.push(`${host}:${port}`);
      return connect({ ...options, host: '127.0.0.1', port: getPort(ear) });
    }
    const server = port === 443 || port === 8443 ? tls : plain;
    return connect({ ...options, host: '127.0.0.1', port: getPort(server) });
  };
  const options: EgressOptions = {
    log: createLog('debug', (line) => logged!.push(line)),
    interceptTls: { folder: join(folder, 'proxy'), trusted: authority.certificate },
    lookUp: async (host) => {
      lookUps!.push(host);
      const found = names.get(host) ?? [];
      return typeof found === 'function' ? found() : found;
    },
    connect: connectInside,
  };
  return Object.assign(outside, {
    requests,
    contacts,
    authority,
    folder,
    names,
    lookUps,
    logged,
    options,
    earPort: getPort(ear),
    countOpen: () => open.size,
    listForbidden: () => heard,
    async [Symbol.asyncDispose]() {
      for (const server of [plain, tls]) server.closeAllConnections();
      await Promise.all([plain, tls, ear].map((server) => once(server.close(), 'close')));
      rmSync(folder, { recursive: true, force: true });
    },
  });
}

async function listen(server: Server): Promise<Server> {
  server.on('clientError', (_, socket) => socket.destroy());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return server;
}

export const getPort = (server: { address(): unknown }): number => (server.address() as AddressInfo).port;

/** A run with its way out, and a port of loopback at which its proxy listens, as it does inside a sandbox. */
export interface Way extends AsyncDisposable {
  readonly egress: Egress;
  readonly network: EgressNetwork;
  readonly port: number;
  connect(): Promise<Socket>;
  /** Sends bytes, and gives all that is answered until the proxy ends the connection or the pause is over. */
  say(bytes: string | Buffer, waitMs?: number): Promise<string>;
}

export async function openWay(
  outside: Outside,
  rules = 'allowed.example,*.allowed.example,secret.example',
  options: Partial<EgressOptions> = {},
  grant: Partial<EgressGrant> = {},
): Promise<Way> {
  const egress = createEgress({ ...outside.options, ...options });
  const network = egress.open({ user: 'alice', run: 'exec_1', rules: parseHostRules(rules), ...grant });
  const server = createTcpServer({ allowHalfOpen: true, pauseOnConnect: false }, (socket) =>
    network.accept(socket),
  );
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const open = async (): Promise<Socket> => {
    const socket = connect({ host: '127.0.0.1', port: getPort(server), allowHalfOpen: true });
    socket.on('error', () => {});
    await once(socket, 'connect');
    return socket;
  };
  return {
    egress,
    network,
    port: getPort(server),
    connect: open,
    async say(bytes, waitMs) {
      const socket = await open();
      socket.write(bytes);
      return readAll(socket, waitMs);
    },
    async [Symbol.asyncDispose]() {
      await egress[Symbol.asyncDispose]();
      await once(server.close(), 'close');
    },
  };
}

/** Until the other side ends it, or nothing came for so long; then it is ended here. */
export async function readAll(stream: Duplex, waitMs = 20_000): Promise<string> {
  let text = '';
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, waitMs);
  stream
    .on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
      timer.refresh();
    })
    .once('end', resolve)
    .once('close', resolve);
  await promise;
  clearTimeout(timer);
  stream.destroy();
  return text;
}
