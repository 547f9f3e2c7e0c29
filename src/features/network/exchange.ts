// outbound: it carries what code in a sandbox asks for, in both directions, to addresses that were judged
/**
 * Carries one HTTP request out and its answer back. Both bodies are streamed, with backpressure. It has judged nothing.
 * Requests in plain HTTP have a connection each, so that nothing that is left of one can be read as a part of the next;
 * those inside a tunnel that ends here all go to one host, and may use its connection again.
 */
import { Agent, request, type ClientRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { callbackify } from 'node:util';
import type { HostAndPort } from '../../platform/net/host-names.ts';
import { toResponseHeaders, type BodyFraming } from './headers.ts';
import { watchProgress, type EgressLimits } from './limits.ts';
import { pieceUnits, pump, type TrafficPace } from './pace.ts';
import { Refusal, refuseSlow, reportFailure } from './refusal.ts';

export interface Exchange {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly target: HostAndPort;
  readonly path: string;
  /** Names and values in turns. */
  readonly headers: readonly string[];
  readonly framing: BodyFraming;
  /** Whether the client waits for a word before it sends the body. */
  readonly expectsContinue: boolean;
  /** Of small pieces. */
  readonly pace: TrafficPace;
  readonly connection: EgressConnection;
}

/** A way to the host: one for this exchange alone, or one that may be used again. */
export type EgressConnection = KeptConnection | { readonly open: () => Promise<Socket> };

/** Of an answer. The default of clients is 16 KB, and some services send more. */
const maxAnswerHeaderBytes = 64 * 1024;
/** Servers end a connection that is not used after 5 s, or later. */
const keptMs = 4000;

/** Keeps the connection to a host for the next request, for a while. */
export class KeptConnection extends Agent {
  readonly #open: () => Promise<Socket>;

  constructor(open: () => Promise<Socket>) {
    super({ keepAlive: true, maxSockets: 1, timeout: keptMs });
    this.#open = open;
  }

  override createConnection(_options: unknown, done: Opened): undefined {
    callbackify(this.#open)(done);
  }
}

type Opened = (error: Error | null, socket: Duplex) => void;

/** Settles when the answer has been sent, and throws if it could not be, or only in part. */
export async function carryRequest(exchange: Exchange, limits: EgressLimits): Promise<void> {
  const outcome = await tryExchange(exchange, limits);
  // The host had ended the kept connection when the request came. A body has been sent, and cannot be sent again.
  if (outcome === 'stale') await tryExchange(exchange, limits);
}

async function tryExchange(exchange: Exchange, limits: EgressLimits): Promise<'done' | 'stale'> {
  const { req, res, target, framing } = exchange;
  const { promise, resolve, reject } = Promise.withResolvers<'done' | 'stale'>();
  const outgoing = startRequest(exchange);
  const fail = (refusal: Refusal): void => {
    outgoing.destroy();
    reject(refusal);
  };
  const count = (): number => (outgoing.socket?.bytesRead ?? 0) + (outgoing.socket?.bytesWritten ?? 0);
  using _idle = watchProgress(count, { ms: limits.idleMs }, () =>
    fail(reportFailure(504, `${target.host} did not answer in time.`)),
  );
  using _body = watchBody(exchange, count, limits, fail);
  outgoing
    .once('response', (incoming) => sendAnswer(exchange, incoming, fail))
    // Nobody has asked for another protocol.
    .once('upgrade', () => fail(reportFailure(502, `${target.host} answered with another protocol.`)))
    .on('error', (error) => {
      if (error instanceof Refusal) reject(error);
      else if (outgoing.reusedSocket && framing === null && !res.headersSent) resolve('stale');
      else fail(reportFailure(502, `${target.host} gave no answer that is HTTP.`));
    });
  const resolveDone = (): void => resolve('done');
  res.once('finish', resolveDone).once('close', resolveDone);
  sendEgressBody(exchange, outgoing);
  try {
    return await promise;
  } finally {
    res.off('finish', resolveDone).off('close', resolveDone);
    // A connection that is kept belongs to its agent by now.
    outgoing.destroy();
    // What comes of the body now is for nobody.
    req.removeAllListeners('data').resume();
  }
}

function startRequest({ req, res, path, headers, connection, expectsContinue }: Exchange): ClientRequest {
  const outgoing = request({
    ...(connection instanceof KeptConnection
      ? { agent: connection }
      : { createConnection: (_, done): undefined => callbackify(connection.open)(done) as undefined }),
    method: req.method!,
    path,
    headers,
    setHost: false,
    httpValidation: 'strict',
    maxHeaderSize: maxAnswerHeaderBytes,
  });
  if (expectsContinue) outgoing.once('socket', () => res.writeContinue());
  // Without this, headers beyond the 1,000th are dropped in silence.
  outgoing.maxHeadersCount = 0;
  return outgoing;
}

function sendEgressBody({ req, framing, pace }: Exchange, outgoing: ClientRequest): void {
  if (framing === null) outgoing.end();
  else pump(req, outgoing, pace, pieceUnits.parsed);
}

/** Until the whole body has come. */
function watchBody(
  { req, framing, target }: Exchange,
  count: () => number,
  limits: EgressLimits,
  fail: (refusal: Refusal) => void,
): Disposable {
  if (framing === null) return { [Symbol.dispose]() {} };
  const watch = watchProgress(count, { ms: limits.bodyMs, least: limits.bodyBytes }, () =>
    fail(refuseSlow('The body of the request came too slowly.', target)),
  );
  req.once('end', () => watch[Symbol.dispose]());
  return watch;
}

function sendAnswer(
  { req, res, pace, target: { host } }: Exchange,
  incoming: IncomingMessage,
  fail: (refusal: Refusal) => void,
): void {
  const broken = (): void => fail(reportFailure(502, `${host} broke off its answer.`));
  incoming.on('error', broken);
  if (res.destroyed || req.socket.destroyed) return;
  res.sendDate = false;
  try {
    res.writeHead(incoming.statusCode!, toResponseHeaders(incoming));
  } catch (error) {
    // A header, or a status, that Node would not send.
    if (!(error instanceof TypeError || error instanceof RangeError)) throw error;
    fail(reportFailure(502, `${host} gave an answer that is not HTTP.`));
    return;
  }
  pump(incoming, res, pace, pieceUnits.parsed);
}
