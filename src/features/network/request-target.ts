/**
 * Where a request wants to go, read from its first line and its `Host`, which have to agree. Only one spelling of each
 * is read; a form that another program could understand in another way is refused. It judges no rules.
 */
import type { IncomingMessage } from 'node:http';
import { endsInNumber } from '../../platform/net/addresses.ts';
import { parseAuthority, type HostAndPort } from '../../platform/net/host-names.ts';
import { refuseAddress, refuseBadRequest } from './refusal.ts';

export interface Origin extends HostAndPort {
  readonly scheme: 'http' | 'https';
}

export interface RequestTarget {
  readonly origin: Origin;
  /** Of the resource, with its query. */
  readonly path: string;
}

/** What TRACE answers holds the headers that came, secrets included. */
const proxyMethods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
/** What is not here is percent-encoded in a URL. */
const pathForm = /^[\x21\x22\x24-\x7e]*$/;

/** Of a request to a proxy: `GET http://example.org/ HTTP/1.1`. */
export function readProxyTarget(req: IncomingMessage): RequestTarget {
  checkFirstLine(req);
  const url = req.url ?? '';
  const [, scheme, authority, rest = '/'] = /^([a-z][a-z0-9+.-]*):\/\/([^/?#]*)(.*)$/i.exec(url) ?? [];
  if (scheme === undefined)
    throw refuseBadRequest('this is a proxy, and wants a whole URL such as http://example.org/');
  if (scheme.toLowerCase() !== 'http')
    throw refuseBadRequest('only http:// comes like this; for https:// use a tunnel (CONNECT)');
  const { host, port } = checkAuthority(authority!);
  return finishTarget(req, { scheme: 'http', host, port: port ?? 80 }, rest);
}

/** Of a request inside a tunnel, whose end is known: `GET / HTTP/1.1`. */
export function readInnerTarget(req: IncomingMessage, origin: Origin): RequestTarget {
  checkFirstLine(req);
  if (req.url?.startsWith('/') !== true) throw refuseBadRequest('inside a tunnel a path is wanted, no URL');
  if (req.headers.host === undefined) throw refuseBadRequest('it has no Host header');
  return finishTarget(req, origin, req.url);
}

/** Of `CONNECT example.org:443`. */
export function readTunnelTarget(req: IncomingMessage): Origin {
  checkHttpVersion(req);
  const { host, port } = checkAuthority(req.url ?? '');
  if (port === null) throw refuseBadRequest('CONNECT wants a host and a port, such as example.org:443');
  const origin: Origin = { scheme: 'https', host, port };
  checkHost(req, origin);
  return origin;
}

function checkFirstLine(req: IncomingMessage): void {
  checkHttpVersion(req);
  if (!proxyMethods.has(req.method ?? ''))
    throw refuseBadRequest(`its method is none of ${[...proxyMethods].join(', ')}`, 405);
}

function checkHttpVersion({ httpVersion }: IncomingMessage): void {
  if (httpVersion !== '1.1' && httpVersion !== '1.0')
    throw refuseBadRequest('it is not HTTP/1.1 or HTTP/1.0', 505);
}

function finishTarget(req: IncomingMessage, origin: Origin, rest: string): RequestTarget {
  const path = rest.startsWith('/') ? rest : `/${rest}`;
  if (!pathForm.test(path)) throw refuseBadRequest('its URL has characters that have to be percent-encoded');
  checkHost(req, origin);
  return { origin, path };
}

/** Where it is an address in some notation, the words are others: the code has to use a name. */
function checkAuthority(text: string): { host: string; port: number | null } {
  const found = parseAuthority(text);
  if (found !== null) return found;
  const host = text.replace(/:\d*$/, '');
  if (/^\[[^\]]*\]$|^[\w.]+$/.test(host) && (host.startsWith('[') || endsInNumber(host)))
    throw refuseAddress({ host, port: null });
  throw refuseBadRequest('its host is not a plain host name with an optional port', 400, {
    host,
    port: null,
  });
}

/** One `Host`, for the same host; it may leave out the port. HTTP/1.0 has none. */
function checkHost(req: IncomingMessage, origin: HostAndPort): void {
  const hosts = listHeaderValues(req.rawHeaders, 'host');
  if (hosts.length === 0 && req.httpVersion === '1.0') return;
  const host = hosts.length === 1 ? parseAuthority(hosts[0]!) : null;
  if (host === null)
    throw refuseBadRequest('it has to have one Host header, with a plain host name', 400, origin);
  if (host.host !== origin.host || (host.port ?? origin.port) !== origin.port)
    throw refuseBadRequest('its Host header names another host or port than its first line', 400, origin);
}

/** All values of a header, as they came: Node joins, or drops, what comes twice. */
export function listHeaderValues(rawHeaders: readonly string[], name: string): string[] {
  return rawHeaders.filter((_, at) => at % 2 === 1 && rawHeaders[at - 1]!.toLowerCase() === name);
}
