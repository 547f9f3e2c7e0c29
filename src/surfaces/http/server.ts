/**
 * The HTTP server: checks host and origin, answers token routes on `node:http` itself, and passes all others to the app
 * after authentication. It speaks no TLS (a proxy does), and graceful shutdown is directed by `server/`.
 */
import { IncomingMessage, Server, ServerResponse } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { getRequestListener } from '@hono/node-server';
import type { Hono } from 'hono';
import { asWorkcrateError, isOurFault, isWorkcrateError, WorkcrateError } from '../../platform/errors.ts';
import type { McpEndpoint } from '../mcp/http.ts';
import type { Log } from '../../platform/observability/log.ts';
import type { Metrics } from '../../platform/observability/metrics.ts';
import type { Tracing } from '../../platform/observability/tracing.ts';
import { programName } from '../../platform/program.ts';
import { isOpenedInBrowser } from '../../platform/html/response.ts';
import { answerError } from '../../platform/http/answer.ts';
import type { Auth } from './auth.ts';
import type { ClientAddress } from './client-address.ts';
import { admitRequest } from '../../platform/http/connection.ts';
import { answerErrorPage } from './error-page.ts';
import { checkSingleHost } from './host-origin.ts';
import type { ReservedPort } from './port.ts';
import type { GuessRateLimit } from './rate-limit.ts';
import { routeName, traceRequest } from './requests.ts';

type TokenRouteHandler = (req: IncomingMessage, res: ServerResponse, token: string) => Promise<void>;

export interface HttpServerOptions {
  readonly app: Hono;
  readonly mcp: Pick<McpEndpoint, 'fetch'>;
  readonly byToken: Readonly<Record<string, TokenRouteHandler>>;
  /** Serve only links and `/livez`, as beside stdio. */
  readonly linksOnly: boolean;
  readonly checkHostAndOrigin: (headers: IncomingMessage['headers']) => void;
  readonly auth: Pick<Auth, 'authenticate' | 'getCaller' | 'headersFor'>;
  readonly guesses: GuessRateLimit;
  /** The address of the client, see client-address.ts. */
  readonly getAddress: ClientAddress;
  readonly metrics: Metrics;
  readonly tracing: Tracing;
  readonly log: Log;
}

/** A limit for the whole request would cut off long uploads; slow headers are limited. */
const listenerLimits = {
  requestTimeout: 0,
  headersTimeout: 10_000,
  connectionsCheckingInterval: 1000,
  keepAliveTimeout: 30_000,
};

/** Files and uploads are answered on node:http itself, all other routes through the app. */
export function createHttpServer(options: HttpServerOptions): Server {
  const viaApp = getRequestListener(options.app.fetch);
  // The app compares each request with all routes. It also knows other spellings of the path.
  const viaMcp = getRequestListener(async (request, env) =>
    options.mcp.fetch(request, options.auth.getCaller(env)),
  );
  const server = new HttpServer({ ...listenerLimits, ServerResponse: HttpResponse });
  const answer = (req: IncomingMessage, res: HttpResponse): void => {
    if (!admitRequest(req.socket, res)) return void req.socket.destroy();
    if (bringsBody(req)) res.once('finish', () => lingerThenClose(req));
    server.await(
      traceRequest(
        options,
        req,
        res,
        () => respond(options, isForMcp(req) ? viaMcp : viaApp, req, res),
        (error) => refuseRequest(options, req, res, error),
      ),
    );
  };
  server.on('request', answer);
  server.on('checkContinue', answer);
  return server;
}

const closeSettleMs = 5000;

/** Its `close` also waits for the work behind its connections, which still needs the database. */
class HttpServer extends Server<typeof IncomingMessage, typeof HttpResponse> {
  /** A number and one listener, since a set of promises took a twentieth of the time of a small download. */
  #underWay = 0;
  #settled: (() => void) | null = null;

  await(work: Promise<void>): void {
    this.#underWay++;
    void work.finally(this.#end);
  }

  readonly #end = (): void => {
    this.#underWay--;
    if (this.#underWay === 0) this.#settled?.();
  };

  override close(closed?: (error?: Error) => void): this {
    return super.close((error) => this.#whenSettled(() => closed?.(error)));
  }

  #whenSettled(act: () => void): void {
    const { promise: settled, resolve } = Promise.withResolvers<void>();
    this.#settled = resolve;
    if (this.#underWay === 0) resolve();
    void Promise.race([settled, pause(closeSettleMs, null, { ref: false })]).then(act);
  }
}

async function respond(
  options: HttpServerOptions,
  viaApp: ReturnType<typeof getRequestListener>,
  req: IncomingMessage,
  res: HttpResponse,
): Promise<void> {
  checkSingleHost(req);
  options.checkHostAndOrigin(req.headers);
  const [, room, token, ...more] = (req.url ?? '').split('?', 1)[0]!.split('/');
  const answerToken = Object.hasOwn(options.byToken, room ?? '') ? options.byToken[room!] : undefined;
  if (answerToken !== undefined && token !== undefined && more.length === 0) {
    try {
      return await answerToken(req, res, token);
    } catch (error) {
      if (isWorkcrateError(error, 'link_not_found') || isWorkcrateError(error, 'upload_not_found'))
        countMiss(options.guesses, options.getAddress(req));
      throw error;
    }
  }
  if (options.linksOnly) refuseUnlessLivez(req);
  if (!(await options.auth.authenticate(req, res))) return;
  if (/^100-continue$/i.test(req.headers.expect ?? '')) res.writeContinue();
  closeUnlessComplete(req, res);
  res.sendHeadersWithBody();
  await viaApp(req, res);
}

/** Whether a request is for `/mcp`, in the usual spelling. */
const isForMcp = ({ url }: IncomingMessage): boolean => url === '/mcp' || url?.startsWith('/mcp?') === true;

/** A port on loopback is open to every user of the machine, without a key. */
function refuseUnlessLivez({ url }: IncomingMessage): void {
  if (url === '/livez') return;
  throw new WorkcrateError(
    'not_found',
    `This server belongs to the client that started it with ${programName} stdio. Over HTTP it serves links only. ` +
      `Use ${programName} serve for a server that others may call, or start this one with --stdio-http.`,
  );
}

/** Only guesses are limited: clients with valid links may have the same address. */
function countMiss(guesses: GuessRateLimit, address: string): void {
  guesses.check(address);
  guesses.miss(address);
}

/** Bodies of other routes are small: one that is incomplete by then will not come. */
const bodyMs = 60_000;

function closeUnlessComplete(req: IncomingMessage, res: ServerResponse): void {
  const timer = setTimeout(() => req.complete || req.socket.destroy(), bodyMs);
  res.once('close', () => clearTimeout(timer));
}

/** Some clients give up on a call that has no headers after a minute. */
const headersMs = 100;

/**
 * The framework sends the headers of a stream before its first bytes are there. Each write wakes the client, which was a
 * quarter of the time of a short call; so headers can wait a moment for the bytes that most answers have at once. A class,
 * since V8 keeps responses that get a function of their own until it collects all garbage.
 */
class HttpResponse extends ServerResponse {
  #headersWait = false;

  sendHeadersWithBody(): void {
    this.#headersWait = true;
  }

  override flushHeaders(): void {
    if (!this.#headersWait) return super.flushHeaders();
    const timer = setTimeout(() => super.flushHeaders(), headersMs);
    this.once('close', () => clearTimeout(timer));
  }
}

/** Answers with the error where that is still possible, and breaks the connection where it is not. */
function refuseRequest(
  { auth, metrics, log }: HttpServerOptions,
  req: IncomingMessage,
  res: ServerResponse,
  cause: unknown,
): void {
  const error = asWorkcrateError(cause);
  metrics.errors.inc({ code: error.code });
  const route = routeName(req.url ?? '');
  const level = isOurFault(error) ? 'error' : 'info';
  log[level]('http.refused', {
    method: req.method,
    route,
    code: error.code,
    ...(level === 'error' ? { error } : {}),
  });
  if (res.headersSent || res.destroyed) return void res.destroy();
  const allow = error.code === 'method_not_allowed' ? { Allow: listAllowedMethods(route) } : {};
  const headers = { ...allow, ...auth.headersFor(req, error) };
  if (isOpenedInBrowser(req)) void answerErrorPage(res, error, headers);
  else answerError(res, error, headers);
}

const listAllowedMethods = (route: string): string =>
  route === '/files/{token}' || route === '/ask/{token}'
    ? 'GET, HEAD'
    : 'PUT, GET, HEAD, POST, PATCH, DELETE, OPTIONS';

/** A request without either header has no body (RFC 9112, 6.3). */
const bringsBody = ({ headers }: IncomingMessage): boolean =>
  headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined;

const lingerMs = 2000;

/**
 * A client that is still sending after its answer would get a reset instead of the answer if the connection were cut at
 * once; so its bytes are discarded for a moment.
 */
function lingerThenClose(req: IncomingMessage): void {
  if (req.complete || req.destroyed) return;
  req.on('error', () => {});
  req.resume();
  const timer = setTimeout(() => req.complete || req.socket.destroy(), lingerMs);
  req.once('close', () => clearTimeout(timer));
}

/** Listens on a port that was reserved, and returns the base URL with the actual port. */
export async function listenOn(server: Server, port: ReservedPort, log: Log): Promise<string> {
  // Such as a connection for which no descriptor is left. Without this listener it would end the process.
  server.on('error', (error) => log.error('http.server_error', { error }));
  return port.handOver(server);
}
