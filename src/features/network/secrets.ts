/**
 * Named secrets: headers that the proxy adds for one origin each, so that code can use a service without ever holding
 * its key. It decides which ones a request gets; `secret-file.ts` reads them. Values go into the outgoing header and
 * nowhere else: not into texts, logs, records or errors.
 */
import { validateHeaderName, validateHeaderValue } from 'node:http';
import { WorkcrateError } from '../../platform/errors.ts';
import { isPort, toHostNameOfPerson } from '../../platform/net/host-names.ts';
import type { Origin } from './request-target.ts';

/** As an operator gives it. */
export interface SecretOptions {
  readonly name: string;
  /** Plain HTTP has to be asked for, since the value is then readable on its way. */
  readonly scheme?: 'http' | 'https' | undefined;
  readonly host: string;
  /** That of the scheme if nothing is said. */
  readonly port?: number | undefined;
  readonly header: string;
  readonly value: string;
  /** Whose code may use it; everybody's if nothing is said. */
  readonly users?: readonly string[] | undefined;
}

export interface NamedSecret {
  readonly name: string;
  readonly origin: Origin;
  readonly header: string;
  readonly value: string;
  readonly users: ReadonlySet<string> | null;
}

const secretNameForm = /^[\w.-]{1,64}$/;
const maxValueLength = 8192;
/** These decide where a request goes and where it ends. */
const reservedHeaders =
  /^(?:host|content-length|transfer-encoding|connection|keep-alive|te|trailer|upgrade|expect|proxy-.*)$/i;

/** Checks them all, and that no request could get two values for one header. */
export function checkSecrets(options: readonly SecretOptions[]): readonly NamedSecret[] {
  const secrets = options.map(checkSecret);
  for (const [at, secret] of secrets.entries()) {
    const earlier = secrets.slice(0, at);
    if (earlier.some(({ name }) => name === secret.name)) fail(secret.name, 'there are two with this name');
    const other = earlier.find((one) => overlaps(one, secret));
    if (other !== undefined)
      fail(secret.name, `it is for the same host, header and users as ${other.name}; give each its users`);
  }
  return secrets;
}

function checkSecret(options: SecretOptions): NamedSecret {
  const { name, scheme = 'https', header, value, users } = options;
  if (!secretNameForm.test(name))
    throw new WorkcrateError(
      'config_invalid',
      'The name of a network secret has up to 64 letters, digits, dots, dashes and underscores.',
    );
  const host = toHostNameOfPerson(options.host) ?? fail(name, 'its host is not a host name');
  const port = options.port ?? (scheme === 'https' ? 443 : 80);
  if (!isPort(port)) fail(name, 'its port is not a number from 1 to 65535');
  if (!isHeaderName(header)) fail(name, 'its header is not a header that may be set');
  if (!isHeaderValue(value))
    fail(name, 'its value is empty, too long, or has characters that a header cannot have');
  return { name, origin: { scheme, host, port }, header, value, users: users ? new Set(users) : null };
}

function isHeaderName(header: string): boolean {
  return !reservedHeaders.test(header) && passes(() => validateHeaderName(header));
}

/** Printable ASCII: what is outside of it arrives differently at different servers. */
function isHeaderValue(value: string): boolean {
  const isPlain = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(value) && value.length <= maxValueLength;
  return isPlain && passes(() => validateHeaderValue('x', value));
}

function passes(check: () => void): boolean {
  try {
    check();
    return true;
  } catch (error) {
    if (error instanceof TypeError) return false;
    throw error;
  }
}

function overlaps(a: NamedSecret, b: NamedSecret): boolean {
  if (!isSameOrigin(a.origin, b.origin) || a.header.toLowerCase() !== b.header.toLowerCase()) return false;
  return a.users === null || b.users === null || !a.users.isDisjointFrom(b.users);
}

const isSameOrigin = (a: Origin, b: Origin): boolean =>
  a.scheme === b.scheme && a.host === b.host && a.port === b.port;

/** Those that a request of this user gets. */
export const chooseSecrets = (
  secrets: readonly NamedSecret[],
  origin: Origin,
  user: string,
): readonly NamedSecret[] =>
  secrets.filter(
    (secret) => isSameOrigin(secret.origin, origin) && (secret.users === null || secret.users.has(user)),
  );

function fail(name: string, what: string): never {
  throw new WorkcrateError('config_invalid', `The network secret ${name}: ${what}.`);
}
