/**
 * The allow-list of host names and origins, checked on every request against DNS rebinding and cross-site requests. It
 * sends no CORS headers: pages of other origins are refused.
 */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { networkInterfaces } from 'node:os';
import { WorkcrateError } from '../../platform/errors.ts';

const loopbackNames = ['localhost', '127.0.0.1', '[::1]'];

/**
 * Refuses requests that a web page made without the user's knowledge: a foreign Host is a sign of DNS rebinding, a
 * foreign Origin of a cross-site request. Both are checked on every route.
 */
export function createHostOriginCheck(
  publicUrl: string | null,
  host: string,
  linkHost: string | null = null,
) {
  const names = new Set([...loopbackNames, ...listBoundAddresses(host).map(bracketIpv6)]);
  if (publicUrl !== null) names.add(new URL(publicUrl).hostname);
  if (linkHost !== null) names.add(linkHost);
  let trustedHost: string | null = null;
  return (headers: IncomingHttpHeaders): void => {
    // Nearly every request has the same host, and parsing a URL is most of the work here.
    if (headers.host !== trustedHost || trustedHost === null) trustedHost = checkHost(headers.host);
    // An image or script that a foreign page asks for carries no Origin, only this.
    if (headers['sec-fetch-site'] === 'cross-site' && headers['sec-fetch-mode'] !== 'navigate')
      throw foreignOriginError();
    if (headers.origin === undefined) return;
    const from = parseHostname(headers.origin);
    if (from === null || !names.has(from)) throw foreignOriginError();
  };

  function checkHost(host: string | undefined): string {
    const named = parseHostname(`http://${host ?? ''}`);
    if (named === null || !names.has(named))
      throw new WorkcrateError(
        'host_refused',
        'This server does not answer requests for that host name. Set WORKCRATE_PUBLIC_URL or WORKCRATE_LINK_HOST if it should.',
      );
    return host ?? '';
  }
}

/** A proxy may have checked the other one (RFC 9112, 3.2). By hand, since Node keeps only the first. */
export function checkSingleHost({ rawHeaders }: Pick<IncomingMessage, 'rawHeaders'>): void {
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2)
    if (rawHeaders[at]!.length === 4 && rawHeaders[at]!.toLowerCase() === 'host') count++;
  if (count > 1) throw new WorkcrateError('invalid_input', 'Send one Host header, not several.');
}

/** The addresses at which a server listens: all of this machine for a wildcard. */
function listBoundAddresses(host: string): string[] {
  if (!isWildcard(host)) return [host];
  const all = Object.values(networkInterfaces()).flatMap((addresses = []) => addresses);
  return [
    host,
    ...all.map(({ address }) => URL.parse(`http://${bracketIpv6(address)}`)?.hostname ?? address),
  ];
}

/** Whether an address means all addresses of the machine. */
export const isWildcard = (host: string): boolean => ['0.0.0.0', '::', '[::]'].includes(host);

function foreignOriginError(): WorkcrateError {
  return new WorkcrateError('origin_refused', 'Pages of other origins may not use this server.');
}

export const bracketIpv6 = (host: string): string => (/^[^[].*:/.test(host) ? `[${host}]` : host);

function parseHostname(url: string): string | null {
  return URL.parse(url)?.hostname ?? null;
}
