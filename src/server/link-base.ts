/**
 * The start of every link that is handed out, from the settings and the address that the server listens on. Whether a
 * request may use that name is checked by `surfaces/http/host-origin.ts`.
 */
import type { ServerConfig as Config } from './settings.ts';
import { isWildcard } from '../surfaces/http/host-origin.ts';

/** What links begin with, for a server that listens at `url`: a container's published port is not the one inside. */
export function getLinkBase(
  { publicUrl, linkHost, linkPort }: Pick<Config, 'publicUrl' | 'linkHost' | 'linkPort'>,
  url: string,
): string {
  if (publicUrl !== null) return publicUrl;
  const listening = new URL(url);
  const host = linkHost ?? listening.hostname;
  // Nobody can connect to a wildcard address.
  const name = isWildcard(host) ? 'localhost' : host;
  return new URL(`http://${name}:${linkPort ?? (listening.port || '80')}`).origin;
}
