/**
 * The proxy itself: Node's HTTP server, without a port, on connections that are handed to it. It judges each request,
 * and has it carried out (`exchange.ts`) or a tunnel opened (`tunnel.ts`). Its texts say what was wrong.
 */
import { Server, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { TLSSocket } from 'node:tls';
import type { Log } from '../../platform/observability/log.ts';
import type { CertificateAuthority } from './authority.ts';
import { carryRequest, KeptConnection } from './exchange.ts';
import { checkFraming, checkTunnelFraming, toRequestHeaders } from './headers.ts';
import { createInlet, type Inlet } from './inlet.ts';
import type { EgressLimits } from './limits.ts';
import {
  endWithRefusal,
  Refusal,
  refuseBadRequest,
  refuseMany,
  reportFailure,
  sendRefusal,
} from './refusal.ts';
import { readInnerTarget, readProxyTarget, readTunnelTarget, type Origin } from './request-target.ts';
import type { Routes } from './routes.ts';
import type { EgressRun } from './run.ts';
import { chooseSecrets, type NamedSecret } from './secrets.ts';
import { joinTunnel, openTunnel } from './tunnel.ts';

export interface ProxyOptions {
  readonly limits: EgressLimits;
  readonly routes: Routes;
  readonly secrets: readonly NamedSecret[];
  /** Null where TLS is never ended here. */
  readonly authority: CertificateAuthority | null;
  /** Certificates to trust outside, in place of those that Node knows. */
  readonly trusted: string | undefined;
  readonly log: Log;
}

/** A connection that speaks HTTP to the proxy: one of a run, or what is inside a tunnel that ends here. */
interface Client {
  readonly run: EgressRun;
  readonly stream: Duplex;
  /** Where all its requests go, and how; null where each says it. */
  readonly inside: { readonly origin: Origin; readonly kept: KeptConnection } | null;
  /** What is being answered. Most clients wait for it before they ask again; one request may wait here. */
  current: ServerResponse | 'tunnel' | null;
  hasWaiting: boolean;
  /** Ends it if no request comes. */
  timer: NodeJS.Timeout | undefined;
}

const unused = { current: null, hasWaiting: false, timer: undefined };

export class EgressProxy {
  readonly #options: ProxyOptions;
  readonly #server: Server;
  readonly #clients = new WeakMap<Duplex, Client>();
  #connections = 0;

  constructor(options: ProxyOptions) {
    this.#options = options;
    this.#server = createParser(options.limits)
      .on('request', (req, res) => void this.#answer(req, res))
      .on('checkContinue', (req, res) => void this.#answer(req, res, 'continue'))
      .on('checkExpectation', (req, res) => void this.#answer(req, res, 'something else'))
      .on('connect', (req, _stream, head) => void this.#tunnel(req, head))
      .on('clientError', (error, stream) => this.#answerNonsense(error, stream));
  }

  /** Serves a connection of a run, until either ends it. */
  accept(run: EgressRun, stream: Duplex): void {
    const { connections, allConnections } = this.#options.limits;
    run.own(stream);
    if (stream.destroyed) return;
    if (run.connections >= connections || this.#connections >= allConnections) {
      endWithRefusal(stream, record(run, refuseMany(`A run may have ${connections} connections at once.`)));
      return;
    }
    run.connections++;
    this.#connections++;
    stream.once('close', () => {
      run.connections--;
      this.#connections--;
    });
    // What is sent back may still be coming when the code has sent everything.
    stream.allowHalfOpen = true;
    void this.#serveInTurn(run, stream);
  }

  async #serveInTurn(run: EgressRun, stream: Duplex): Promise<void> {
    await waitForTurn(run);
    if (!stream.destroyed) this.#serve({ run, stream, inside: null, ...unused });
  }

  #serve(client: Client): void {
    this.#clients.set(client.stream, client);
    client.stream.once('close', () => clearTimeout(client.timer));
    this.#awaitRequest(client);
    this.#server.emit('connection', client.stream);
  }

  #awaitRequest(client: Client): void {
    client.current = null;
    client.timer = setTimeout(() => client.stream.destroy(), this.#options.limits.headerMs).unref();
  }

  /** Null where nothing is to be answered any more. */
  async #begin(req: IncomingMessage, answer: ServerResponse | 'tunnel'): Promise<Client | null> {
    const client = this.#clients.get(req.socket);
    if (client === undefined || client.stream.destroyed) return null;
    const { current } = client;
    if (current !== null) {
      if (current === 'tunnel' || answer === 'tunnel' || client.hasWaiting) {
        record(client.run, refuseBadRequest('more than one came before the first was answered'));
        client.stream.destroy();
        return null;
      }
      client.hasWaiting = true;
      await new Promise<void>((resolve) => void current.once('close', resolve));
      client.hasWaiting = false;
      // The one before was the last.
      if (!client.stream.writable) return null;
    }
    client.current = answer;
    clearTimeout(client.timer);
    await waitForTurn(client.run);
    return client.stream.destroyed ? null : client;
  }

  async #answer(
    req: IncomingMessage,
    res: ServerResponse,
    expects?: 'continue' | 'something else',
  ): Promise<void> {
    const client = await this.#begin(req, res);
    if (client === null) return;
    const { run, inside } = client;
    const { limits, secrets: all } = this.#options;
    res.once('finish', () => this.#awaitRequest(client));
    try {
      const { origin, path } = inside === null ? readProxyTarget(req) : readInnerTarget(req, inside.origin);
      const framing = checkFraming(req, limits.headerLines);
      if (expects === 'something else') throw refuseBadRequest('it expects what nobody knows', 417, origin);
      run.judge(origin);
      const secrets = chooseSecrets(all, origin, run.grant.user);
      const headers = toRequestHeaders(
        req,
        origin,
        framing,
        secrets,
        inside === null ? 'close' : 'keep-alive',
      );
      const connection = inside?.kept ?? { open: () => this.#connect(run, origin) };
      const expectsContinue = expects === 'continue';
      const pace = run.pieces;
      const names = secrets.map(({ name }) => name);
      const exchange = {
        req,
        res,
        target: origin,
        path,
        headers,
        framing,
        expectsContinue,
        pace,
        connection,
      };
      await countRequest(run, origin, names, () => carryRequest(exchange, limits));
    } catch (error) {
      this.#sendRefusal(client, res, record(run, this.#toRefusal(run, error)));
    }
  }

  async #tunnel(req: IncomingMessage, head: Buffer): Promise<void> {
    const client = await this.#begin(req, 'tunnel');
    if (client === null) return;
    const { run, stream } = client;
    const { limits, secrets, authority } = this.#options;
    try {
      if (client.inside !== null) throw refuseBadRequest('it is a tunnel inside a tunnel');
      const origin = readTunnelTarget(req);
      checkTunnelFraming(req, limits.headerLines);
      run.judge(origin);
      const hasSecret = chooseSecrets(secrets, origin, run.grant.user).length > 0;
      if (hasSecret && authority !== null) await this.#intercept(client, origin, head, authority);
      else await this.#join(client, origin, head);
    } catch (error) {
      endWithRefusal(stream, record(run, this.#toRefusal(run, error)));
    }
  }

  /** The tunnel goes through, and nobody looks into it. */
  async #join({ run, stream }: Client, origin: Origin, head: Buffer): Promise<void> {
    const { limits } = this.#options;
    const inlet = createInlet();
    const open = (): Promise<Socket> => this.#connect(run, { ...origin, scheme: 'http' }, inlet);
    const upstream = await countRequest(run, origin, [], open);
    try {
      const first = await openTunnel(stream, head, origin, limits);
      joinTunnel(stream, upstream, inlet, first, run.pieces, limits);
    } catch (error) {
      upstream.destroy();
      throw error;
    }
  }

  /** The tunnel ends here; the requests inside are judged one by one. */
  async #intercept(
    { run, stream }: Client,
    origin: Origin,
    head: Buffer,
    authority: CertificateAuthority,
  ): Promise<void> {
    stream.unshift(await openTunnel(stream, head, origin, this.#options.limits));
    const inner = new TLSSocket(stream as Socket, {
      isServer: true,
      secureContext: authority.issue(origin.host),
      ALPNProtocols: ['http/1.1'],
    });
    run.own(inner);
    const kept = new KeptConnection(() => this.#connect(run, origin));
    inner.once('close', () => {
      kept.destroy();
      stream.destroy();
    });
    this.#serve({ run, stream: inner, inside: { origin, kept }, ...unused });
  }

  /** To an address that was judged; its bytes are counted for the run. */
  async #connect(run: EgressRun, origin: Origin, inlet?: Inlet): Promise<Socket> {
    const { routes, trusted } = this.#options;
    const { user } = run.grant;
    const own = (socket: Socket): void => run.own(socket);
    const route = await routes.find({ ...origin, user, mayBePrivate: run.mayBePrivate(origin) });
    const socket =
      origin.scheme === 'http'
        ? await routes.connect(origin.host, route, own, inlet)
        : await routes.connectTls(origin.host, route, own, trusted);
    run.usage.addConnection(origin, socket);
    return socket;
  }

  /** What is no HTTP, or a connection that broke. */
  #answerNonsense(error: NodeJS.ErrnoException, stream: Duplex): void {
    const client = this.#clients.get(stream);
    if (client === undefined || !String(error.code).startsWith('HPE_')) {
      stream.destroy();
      return;
    }
    const isLong = error.code === 'HPE_HEADER_OVERFLOW';
    const refusal = record(
      client.run,
      isLong
        ? refuseBadRequest('its header is too long', 431)
        : refuseBadRequest('it is not strict HTTP/1.1'),
    );
    if (client.current !== null) stream.destroy();
    else endWithRefusal(stream, refusal);
  }

  #sendRefusal({ stream }: Client, res: ServerResponse, refusal: Refusal): void {
    // Half an answer must not look like a whole one.
    if (res.headersSent || stream.destroyed) stream.destroy();
    else sendRefusal(res, refusal);
  }

  #toRefusal(run: EgressRun, error: unknown): Refusal {
    if (error instanceof Refusal) return error;
    this.#options.log.error('egress.failed', { user: run.grant.user, run: run.grant.run, error });
    return reportFailure(502, 'The proxy of this sandbox failed. The log of the server says why.');
  }
}

/** It never listens: it only parses, and times are watched here. */
function createParser({ headerBytes }: EgressLimits): Server {
  const server = new Server({
    httpValidation: 'strict',
    requireHostHeader: false,
    maxHeaderSize: headerBytes,
    keepAliveTimeout: 0,
  });
  // Any number, within the size: the parser would drop what is too many in silence.
  server.maxHeadersCount = 0;
  // A client that has sent everything still gets its answer.
  return Object.assign(server, { httpAllowHalfOpen: true });
}

/** Nobody waits as long as there are few. */
async function waitForTurn(run: EgressRun): Promise<void> {
  const waitMs = run.beginnings();
  if (waitMs > 0) await pause(waitMs);
}

/** A request counts from its beginning, unless the host turns out to be at an address that is refused. */
async function countRequest<T>(
  run: EgressRun,
  origin: Origin,
  secrets: readonly string[],
  work: () => Promise<T>,
): Promise<T> {
  run.usage.addRequest(origin, secrets);
  try {
    return await work();
  } catch (error) {
    if (error instanceof Refusal && error.kind === 'private_address') run.usage.removeRequest(origin);
    throw error;
  }
}

function record(run: EgressRun, refusal: Refusal): Refusal {
  run.recordRefusal(refusal);
  return refusal;
}
