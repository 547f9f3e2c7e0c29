// outbound: it carries what code in a sandbox asks for, in both directions, to addresses that were judged
/**
 * Finds out where a host is, once, judges every address that was found, and connects to those and no others: a name
 * that answers differently the next time changes nothing. It is the only file of this room that opens connections.
 */
import { lookup } from 'node:dns/promises';
import { connect, isIP, type LookupFunction, type Socket, type TcpNetConnectOpts } from 'node:net';
import { networkInterfaces } from 'node:os';
import { connect as connectTls } from 'node:tls';
import { createFairQueue } from '../../platform/concurrency/fair-queue.ts';
import { isPrivateAddress, toAddressLiteral } from '../../platform/net/addresses.ts';
import type { HostAddresses } from '../../platform/net/host-addresses.ts';
import { formatHostAndPort, type HostAndPort } from '../../platform/net/host-names.ts';
import { createTimeoutError } from '../../platform/net/deadline.ts';
import type { Inlet } from './inlet.ts';
import { refuseMany, refusePrivate, reportFailure, type Refusal } from './refusal.ts';

/** Where a name leads: one or more addresses, all of them judged. */
export interface HostRoute {
  readonly addresses: readonly string[];
  readonly port: number;
}

export interface RouteOptions {
  /** Names that lead to an address that the operator chose. */
  readonly addresses: HostAddresses;
  readonly connectMs: number;
  /** Stand-ins for the system's own, for tests: nothing there may speak to the outside. */
  readonly lookUp?: ((host: string) => Promise<readonly string[]>) | undefined;
  readonly connect?: ((options: TcpNetConnectOpts) => Socket) | undefined;
}

export interface RouteRequest extends HostAndPort {
  readonly user: string;
  /** The operator has named this host and port, and it may be at a private address. */
  readonly mayBePrivate: boolean;
}

export interface Routes {
  find(request: RouteRequest): Promise<HostRoute>;
  /** `own` is called with the socket at once, so that it can be ended before it is connected. */
  connect(host: string, route: HostRoute, own: (socket: Socket) => void, inlet?: Inlet): Promise<Socket>;
  /** A verified connection by TLS. */
  connectTls(
    host: string,
    route: HostRoute,
    own: (socket: Socket) => void,
    trusted?: string,
  ): Promise<Socket>;
}

const maxRouteAddresses = 8;
/** A look-up takes a thread of the few that the whole server has. */
const maxLookUps = 2;
const maxWaitingLookUps = 100;

export function createEgressRoutes(options: RouteOptions): Routes {
  const { addresses, connectMs } = options;
  const lookUp = boundLookUps(options.lookUp ?? lookUpBySystem);
  const openSocket = options.connect ?? connect;

  const connectTcp: Routes['connect'] = async (host, route, own, inlet) => {
    const socket = openSocket({ ...toConnectOptions(host, route), ...(inlet && { onread: inlet.onread }) });
    own(socket);
    await waitFor(socket, 'connect', connectMs, host);
    return socket;
  };
  return {
    async find(request) {
      const { host, port, user, mayBePrivate } = request;
      const mapped = addresses.get(formatHostAndPort(request)) ?? addresses.get(host);
      if (mapped !== undefined) return { addresses: [mapped.address], port: mapped.port };
      const literal = toAddressLiteral(host)?.replace(/^\[(.*)\]$/, '$1');
      const found =
        literal === undefined ? await withTimeLimit(lookUp(host, user), connectMs, host) : [literal];
      if (found.length === 0) throw reportFailure(502, `${host} was not found: there is no such host.`);
      if (!mayBePrivate && found.some(isRefusedAddress)) throw refusePrivate(request);
      return { addresses: found.slice(0, maxRouteAddresses), port };
    },
    connect: connectTcp,
    async connectTls(host, route, own, trusted) {
      const socket = connectTls({
        socket: await connectTcp(host, route, own),
        servername: host,
        ALPNProtocols: ['http/1.1'],
        ...(trusted === undefined ? {} : { ca: trusted }),
      });
      own(socket);
      await waitFor(socket, 'secureConnect', connectMs, host);
      return socket;
    },
  };
}

/** This machine may have public addresses, behind which are services that are not for the public. */
const isRefusedAddress = (address: string): boolean => isPrivateAddress(address) || isOwnAddress(address);

const isOwnAddress = (address: string): boolean =>
  Object.values(networkInterfaces()).some((list) => list?.some((one) => one.address === address));

function toConnectOptions(host: string, { addresses, port }: HostRoute): TcpNetConnectOpts {
  const common = { port, noDelay: true, allowHalfOpen: true };
  if (addresses.length === 1) return { ...common, host: addresses[0]! };
  const found = addresses.map((address) => ({ address, family: isIP(address) }));
  const giveFound: LookupFunction = (_, { all }, callback) =>
    all === true ? callback(null, found) : callback(null, found[0]!.address, found[0]!.family);
  return { ...common, host, lookup: giveFound, autoSelectFamily: true };
}

/** Waits for the event, or throws what the caller is to be told. The socket is of no use then. */
async function waitFor(
  socket: Socket,
  event: 'connect' | 'secureConnect',
  ms: number,
  host: string,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const fail = (error?: unknown): void => reject(describeFailure(error, host));
  const timer = setTimeout(() => fail(createTimeoutError('no answer')), ms).unref();
  socket.once(event, resolve).once('error', fail).once('close', fail);
  try {
    await promise;
  } catch (error) {
    socket.destroy();
    throw error;
  } finally {
    clearTimeout(timer);
    socket.off('error', fail).off('close', fail);
    // Whoever uses it next sees its end by 'close'.
    socket.on('error', () => {});
  }
}

/** Of an error of the system its code alone is told. */
function describeFailure(error: unknown, host: string): Refusal {
  const { code } = (error ?? {}) as { code?: unknown };
  if (code === 'ETIMEDOUT') return reportFailure(504, `${host} did not answer in time.`);
  const shown = typeof code === 'string' && /^[A-Z0-9_]{1,60}$/.test(code) ? code : 'broken off';
  return reportFailure(502, `No connection to ${host} (${shown}).`);
}

/** A look-up of the system cannot be stopped; it goes on without anybody who waits for it. */
async function withTimeLimit<T>(work: Promise<T>, ms: number, host: string): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const late = (): void => reject(reportFailure(504, `${host} was not found in time.`));
  const timer = setTimeout(late, ms).unref();
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}

type BoundLookUp = (host: string, user: string) => Promise<readonly string[]>;

function boundLookUps(lookUp: (host: string) => Promise<readonly string[]>): BoundLookUp {
  const busy = (): Refusal => refuseMany('Too many hosts are being looked up. Try again, a few at a time.');
  const queue = createFairQueue({
    most: maxLookUps,
    mostOfUser: maxLookUps,
    mostWaitingOfUser: maxWaitingLookUps,
    refusals: { busy, cancelled: busy, closed: busy },
  });
  const { signal } = new AbortController();
  return (host, user) => queue.run({ user, signal }, () => lookUp(host));
}

/** Empty where there is no such host. */
async function lookUpBySystem(host: string): Promise<string[]> {
  try {
    return (await lookup(host, { all: true })).map(({ address }) => address);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).syscall === 'getaddrinfo') return [];
    throw error;
  }
}
