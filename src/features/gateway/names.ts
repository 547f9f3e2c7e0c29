/**
 * The names of what is behind the gateway: tools and prompts get the prefix of their server, URIs its name. Every name
 * that comes out fits what all clients take, whatever a server calls its tools.
 */
import { createHash } from 'node:crypto';

/** Some clients refuse any other name. */
const maxToolNameLength = 64;
/** Long enough that two names of one server do not meet by chance. */
const hashLength = 8;

/** Of a server: with room for `_` and the hash of a tool's name behind it. */
export const serverNamePattern = /^[a-zA-Z0-9][a-zA-Z0-9_-]{0,39}$/;

/** The name under which a tool or prompt is offered. What does not fit is replaced, and told apart by a hash. */
export function toOfferedName(server: string, name: string): string {
  const whole = `${server}_${name}`;
  if (/^[a-zA-Z0-9_-]+$/.test(name) && whole.length <= maxToolNameLength) return whole;
  const mark = createHash('sha256').update(name).digest('hex').slice(0, hashLength);
  const plain = whole.replaceAll(/[^a-zA-Z0-9_-]/g, '_');
  return `${plain.slice(0, maxToolNameLength - hashLength - 1)}_${mark}`;
}

/**
 * Whose tool a name is: of all prefixes that it begins with, the longest counts. So a server cannot take a name that
 * belongs to another, whatever it calls its tools, and no server has to be asked.
 */
export function findByPrefix<Entry extends { readonly name: string }>(
  entries: Iterable<Entry>,
  name: string,
): Entry | null {
  let found: Entry | null = null;
  for (const entry of entries)
    if (name.startsWith(`${entry.name}_`) && entry.name.length > (found?.name.length ?? 0)) found = entry;
  return found;
}

const scheme = 'gateway://';

/** The URI, or the URI template, of a resource of a server, as it is told here. */
export const toOfferedUri = (server: string, uri: string): string => `${scheme}${server}/${uri}`;

/** The server and the URI there; null for a URI that is not of the gateway. */
export function readOfferedUri(uri: string): { readonly server: string; readonly uri: string } | null {
  if (!uri.startsWith(scheme)) return null;
  const end = uri.indexOf('/', scheme.length);
  return end === -1 ? null : { server: uri.slice(scheme.length, end), uri: uri.slice(end + 1) };
}
