/**
 * Whether a port is free, and who uses it if not. Also takes one before there is a server for it: what answers requests
 * is in `server.ts`.
 */
import type { Server as HttpServer } from 'node:http';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { getErrno, WorkcrateError } from '../../platform/errors.ts';
import { fetchBounded, FetchError, type FetchPolicy } from '../../platform/net/bounded-fetch.ts';
import { bracketIpv6 } from './host-origin.ts';

/** The error that keeps a server from listening there, or null. */
export async function tryToListen(host: string, port: number): Promise<Error | null> {
  const { promise, resolve } = Promise.withResolvers<Error | null>();
  const probe = createServer();
  probe.once('error', resolve);
  probe.listen({ host, port }, () => probe.close(() => resolve(null)));
  return promise;
}

/** A port that nobody else can take any more. */
export interface ReservedPort extends AsyncDisposable {
  /** Has a server listen there, which also gets the connections that were made meanwhile. Gives its URL. */
  handOver(server: HttpServer): Promise<string>;
}

const backlog = 1024;
/** More than clients open to a server that has not answered one of them yet. */
const maxWaitingConnections = 100;

/**
 * Takes a port, or any free one for 0, so that nothing is opened for a server that could not listen. Connections wait
 * until there is a server.
 */
export async function reservePort(host: string, port: number): Promise<ReservedPort> {
  try {
    return await holdPort(host, port);
  } catch (error) {
    throw await toListenError(error, host, port);
  }
}

/** The same, but takes any free port where this one is in use. */
export async function reservePortOrAny(host: string, port: number): Promise<ReservedPort> {
  try {
    return await holdPort(host, port);
  } catch {
    return reservePort(host, 0);
  }
}

async function holdPort(host: string, port: number): Promise<ReservedPort> {
  const waiting = new Set<Socket>();
  const holder = createServer({ pauseOnConnect: true }, (socket) => {
    waiting.add(socket.on('error', () => socket.destroy()).once('close', () => waiting.delete(socket)));
  });
  holder.maxConnections = maxWaitingConnections;
  const { promise: listening, resolve, reject } = Promise.withResolvers<void>();
  holder.once('error', reject).listen({ host, port, backlog }, resolve);
  await listening;
  let isHandedOver = false;
  return {
    async handOver(server) {
      isHandedOver = true;
      const { promise: taken, resolve: take } = Promise.withResolvers<void>();
      server.listen(holder, backlog, take);
      await taken;
      for (const socket of waiting) {
        server.emit('connection', socket);
        socket.resume();
      }
      return `http://${bracketIpv6(host)}:${(server.address() as AddressInfo).port}`;
    },
    async [Symbol.asyncDispose]() {
      if (isHandedOver) return;
      for (const socket of waiting) socket.destroy();
      const { promise: closed, resolve: end } = Promise.withResolvers<void>();
      holder.close(() => end());
      await closed;
    },
  };
}

/** Why a server cannot listen, and what to do. */
async function toListenError(error: unknown, host: string, port: number): Promise<WorkcrateError> {
  if (getErrno(error) === 'EADDRINUSE')
    return portInUseError(host, port, await isWorkcrate(host, port), error);
  const reason = error instanceof Error ? error.message : String(error);
  return new WorkcrateError(
    'port_in_use',
    `Cannot listen on ${host}:${port}: ${reason}. Choose another --host or --port.`,
    { cause: error },
  );
}

function portInUseError(host: string, port: number, byWorkcrate: boolean, cause: unknown): WorkcrateError {
  const remedy = byWorkcrate
    ? 'another workcrate. Stop that one, or start this one with another folder and port: --data DIR --port 0.'
    : 'another program. Stop that one, choose another with --port, or let --port 0 find a free one.';
  return new WorkcrateError('port_in_use', `Port ${port} on ${host} is in use by ${remedy}`, { cause });
}

const probePolicy: FetchPolicy = { timeoutMs: 2000, maxBytes: 64 * 1024, privateAddresses: 'allowed' };

/** Whether the server that answers there is a Workcrate. */
export async function isWorkcrate(host: string, port: number): Promise<boolean> {
  const url = `http://${bracketIpv6(host)}:${port}/`;
  try {
    return await fetchBounded(url, {}, probePolicy, async ({ status, headers, text }) => {
      if (status === 401 && headers.get('WWW-Authenticate')?.startsWith('Bearer')) return true;
      return (await text()).startsWith('Workcrate.');
    });
  } catch (error) {
    if (error instanceof FetchError) return false;
    throw error;
  }
}
