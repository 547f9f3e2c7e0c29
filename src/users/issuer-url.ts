import { WorkcrateError } from '../errors.ts';
import { isLoopbackHost } from '../net/addresses.ts';

export const withoutSlash = (url: string): string => url.replace(/\/$/, '');

/** Keys and tokens must not be changed on the way; on this machine nobody is on the way. */
export function isSafe(url: string): boolean {
  const { protocol, hostname } = URL.parse(url) ?? {};
  return protocol === 'https:' || (protocol === 'http:' && isLoopbackHost(hostname ?? ''));
}

export function demandIssuer(url: string | null): string {
  if (url === null) throw new WorkcrateError('config_invalid', '--auth oauth needs --oauth-issuer.');
  if (isSafe(url)) return url;
  throw new WorkcrateError(
    'config_invalid',
    '--oauth-issuer must be an https:// URL; http:// is allowed only for this machine.',
  );
}
