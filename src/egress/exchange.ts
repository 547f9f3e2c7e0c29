// outbound: it carries what code in a sandbox asks for, in both directions, to addresses that were judged
/**
 * Carries one HTTP request out and its answer back, over a connection of its own: nothing that is left of one can be
 * read as a part of the next. Both bodies are streamed, with backpressure. It has judged nothing.
 */
import { request, type ClientRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { HostAndPort } from '../net/host-names.ts';
import { toResponseHeaders, type BodyFraming } from './headers.ts';
import { watchProgress, type EgressLimits } from './limits.ts';
import { pieceUnits, pump, type Pace } from './pace.ts';
import { refuseSlow, reportFailure, type Refusal } from './refusal.ts';

export interface Exchange {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly target: HostAndPort;
  readonly path: string;
  /** Names and values in turns. */
  readonly headers: readonly string[];
  readonly framing: BodyFraming;
  /** Of small pieces. */
  readonly pace: Pace;
  /** Connected, and for this exchange alone. */
  readonly socket: Socket;
}

/** Of an answer. The default of clients is 16 KB, and some services send more. */
const maxAnswerHeaderBytes = 64 * 1024;

/** Settles when the answer has been sent, and throws if it could not be, or only in part. */
export async function carryRequest(exchange: Exchange, limits: EgressLimits): Promise<void> {
  const { req, res, socket } = exchange;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const fail = (refusal: Refusal): void => {
    socket.destroy();
    reject(refusal);
  };
  using _idle = watchProgress(
    () => socket.bytesRead + socket.bytesWritten,
    { ms: limits.idleMs },
    () => fail(reportFailure(504, `${exchange.target.host} did not answer in time.`)),
  );
  using _body = watchBody(exchange, limits, fail);
  const outgoing = startRequest(exchange);
  outgoing
    .once('response', (incoming) => sendAnswer(exchange, incoming, fail))
    // Nobody has asked for another protocol.
    .once('upgrade', () =>
      fail(reportFailure(502, `${exchange.target.host} answered with another protocol.`)),
    )
    .on('error', () => fail(reportFailure(502, `${exchange.target.host} gave no answer that is HTTP.`)));
  res.once('finish', resolve).once('close', resolve);
  sendBody(exchange, outgoing);
  try {
    await promise;
  } finally {
    outgoing.destroy();
    socket.destroy();
    // What comes of the body now is for nobody.
    req.removeAllListeners('data').resume();
  }
}

function startRequest({ req, path, headers, socket }: Exchange): ClientRequest {
  const outgoing = request({
    createConnection: () => socket,
    method: req.method!,
    path,
    headers,
    setHost: false,
    httpValidation: 'strict',
    maxHeaderSize: maxAnswerHeaderBytes,
  });
  // Without this, headers beyond the 1,000th are dropped in silence.
  outgoing.maxHeadersCount = 0;
  return outgoing;
}

function sendBody({ req, framing, pace }: Exchange, outgoing: ClientRequest): void {
  if (framing === null) outgoing.end();
  else pump(req, outgoing, pace, pieceUnits.parsed);
}

/** Until the whole body has come. */
function watchBody(
  { req, framing, socket, target }: Exchange,
  limits: EgressLimits,
  fail: (refusal: Refusal) => void,
): Disposable {
  if (framing === null) return { [Symbol.dispose]() {} };
  const watch = watchProgress(
    () => socket.bytesWritten,
    { ms: limits.bodyMs, least: limits.bodyBytes },
    () => fail(refuseSlow('The body of the request came too slowly.', target)),
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
