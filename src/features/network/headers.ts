/**
 * Which headers go on, in both directions: those that are for the next hop alone are removed, the framing of a body is
 * said once and clearly, secrets are put in. It reads no body.
 */
import type { IncomingMessage } from 'node:http';
import { listHeaderValues, type Origin } from './request-target.ts';
import { refuseBadRequest } from './refusal.ts';
import type { NamedSecret } from './secrets.ts';

/** How the body of a request is delimited: by its length, in chunks, or there is none. */
export type BodyFraming = { readonly length: string } | 'chunked' | null;

/** For one hop, whether or not `Connection` names them. `Expect` was answered here. */
const hopHeaders = new Set(
  'connection expect http2-settings keep-alive te trailer transfer-encoding upgrade'.split(' '),
);
const framingHeaders = new Set(['host', 'content-length', 'transfer-encoding']);

/** Judges what decides where the request ends. The parser is strict already; this does not rely on it. */
export function checkFraming(req: IncomingMessage, maxLines: number): BodyFraming {
  const { rawHeaders } = req;
  if (rawHeaders.length > maxLines * 2) throw refuseBadRequest(`it has more than ${maxLines} headers`, 431);
  const lengths = listHeaderValues(rawHeaders, 'content-length');
  const codings = listHeaderValues(rawHeaders, 'transfer-encoding');
  if (lengths.length + codings.length > 1)
    throw refuseBadRequest('it has more than one Content-Length or Transfer-Encoding');
  if (codings.length === 1 && (codings[0]!.toLowerCase() !== 'chunked' || req.httpVersion !== '1.1'))
    throw refuseBadRequest('the only transfer coding is "chunked", in HTTP/1.1');
  if (lengths.length === 1 && !/^\d{1,15}$/.test(lengths[0]!))
    throw refuseBadRequest('its Content-Length is not a plain number');
  if (listConnectionOptions(rawHeaders).some((name) => framingHeaders.has(name)))
    throw refuseBadRequest('its Connection header names a header that the request needs');
  checkUpgrade(rawHeaders);
  if (codings.length === 1) return 'chunked';
  return lengths.length === 1 ? { length: lengths[0]! } : null;
}

/** An offer of HTTP/2 may be passed over; whoever asks for a WebSocket cannot go on without. */
function checkUpgrade(rawHeaders: readonly string[]): void {
  const wanted = listHeaderValues(rawHeaders, 'upgrade').join(',').toLowerCase();
  if (wanted !== '' && wanted !== 'h2c')
    throw refuseBadRequest('it wants to change the protocol, as ws:// does; wss:// works', 501);
}

/** A tunnel has no body, and what follows is not to be taken for one. */
export function checkTunnelFraming(req: IncomingMessage, maxLines: number): void {
  const framing = checkFraming(req, maxLines);
  if (framing === null || (framing !== 'chunked' && framing.length === '0')) return;
  throw refuseBadRequest('CONNECT has no body');
}

const listConnectionOptions = (rawHeaders: readonly string[]): string[] =>
  ['connection', 'proxy-connection'].flatMap((name) =>
    listHeaderValues(rawHeaders, name).flatMap((value) =>
      value.split(',').map((option) => option.trim().toLowerCase()),
    ),
  );

/** The header of the request that goes out, as names and values in turns. Secrets replace what the code sent. */
export function toRequestHeaders(
  { rawHeaders, method }: IncomingMessage,
  origin: Origin,
  framing: BodyFraming,
  secrets: readonly NamedSecret[],
  connection: 'close' | 'keep-alive',
): string[] {
  const replaced = secrets.map(({ header }) => header.toLowerCase());
  const kept = dropHopHeaders(rawHeaders, ['host', 'content-length', ...replaced]);
  return [
    'Host',
    formatHost(origin),
    ...kept,
    ...secrets.flatMap(({ header, value }) => [header, value]),
    ...toFramingHeaders(framing, method!),
    'Connection',
    connection,
  ];
}

const schemePorts = { http: 80, https: 443 } as const;

const formatHost = ({ scheme, host, port }: Origin): string =>
  port === schemePorts[scheme] ? host : `${host}:${port}`;

/** What has no body, but could have one, says so. */
function toFramingHeaders(framing: BodyFraming, method: string): string[] {
  if (framing === 'chunked') return ['Transfer-Encoding', 'chunked'];
  if (framing !== null) return ['Content-Length', framing.length];
  return ['POST', 'PUT', 'PATCH'].includes(method) ? ['Content-Length', '0'] : [];
}

/** The header of the answer that goes in. Its framing is said anew by the server that sends it. */
export const toResponseHeaders = ({ rawHeaders }: IncomingMessage): string[] =>
  dropHopHeaders(rawHeaders, []);

function dropHopHeaders(rawHeaders: readonly string[], others: readonly string[]): string[] {
  const dropped = new Set([...hopHeaders, ...others, ...listConnectionOptions(rawHeaders)]);
  const kept: string[] = [];
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!.toLowerCase();
    if (!dropped.has(name) && !name.startsWith('proxy-')) kept.push(rawHeaders[at]!, rawHeaders[at + 1]!);
  }
  return kept;
}
