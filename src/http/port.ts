/**
 * Whether a port is free, and who uses it if not. It does not listen (`listenOn` in `server.ts` does).
 */
import { createServer } from 'node:net';
import { getErrno, WorkcrateError } from '../errors.ts';
import { fetchBounded, FetchError, type FetchPolicy } from '../net/bounded-fetch.ts';
import { bracketIpv6 } from './host-origin.ts';

/** The error that keeps a server from listening there, or null. */
export async function tryToListen(host: string, port: number): Promise<Error | null> {
  const { promise, resolve } = Promise.withResolvers<Error | null>();
  const probe = createServer();
  probe.once('error', resolve);
  probe.listen({ host, port }, () => probe.close(() => resolve(null)));
  return promise;
}

/** Rejects where a port is in use, before anything is opened or created for a server that could not listen. */
export async function demandFreePort(host: string, port: number): Promise<void> {
  const failure = port === 0 ? null : await tryToListen(host, port);
  if (failure !== null) throw await toListenError(failure, host, port);
}

/** Why a server cannot listen, and what to do. */
export async function toListenError(error: unknown, host: string, port: number): Promise<WorkcrateError> {
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
