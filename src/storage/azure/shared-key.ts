import { createHmac } from 'node:crypto';

export interface Account {
  readonly account: string;
  /** In base64. */
  readonly key: string;
}

/** Of these, the ones that a request has are signed by their value alone, in this order. */
const signedByPlace = [
  'content-encoding',
  'content-language',
  'content-length',
  'content-md5',
  'content-type',
  'date',
  'if-modified-since',
  'if-match',
  'if-none-match',
  'if-unmodified-since',
  'range',
];

/** The Authorization header of a request; `headers` are all it will have, their names in lower case. */
export function sharedKeyAuthorization(
  { account, key }: Account,
  method: string,
  url: URL,
  headers: Readonly<Record<string, string>>,
): string {
  const placed = signedByPlace.map((name) => valueToSign(name, headers[name] ?? ''));
  const text = [method, ...placed, ...ownHeaders(headers), resource(account, url)].join('\n');
  return `SharedKey ${account}:${hmac(key, text)}`;
}

export const hmac = (key: string, text: string): string =>
  createHmac('sha256', Buffer.from(key, 'base64')).update(text, 'utf8').digest('base64');

const valueToSign = (name: string, value: string): string =>
  name === 'content-length' && value === '0' ? '' : value;

function ownHeaders(headers: Readonly<Record<string, string>>): string[] {
  const names = Object.keys(headers).filter((name) => name.startsWith('x-ms-'));
  return names.sort().map((name) => `${name}:${headers[name]!.trim()}`);
}

/** Where the account stands in the path already, it is there twice: the service wants it so. */
function resource(account: string, url: URL): string {
  const names = [...new Set(url.searchParams.keys())].sort();
  const query = names.map(
    (name) => `\n${name.toLowerCase()}:${url.searchParams.getAll(name).sort().join(',')}`,
  );
  return `/${account}${url.pathname}${query.join('')}`;
}
