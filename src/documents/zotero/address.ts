import { WorkcrateError } from '../../errors.ts';
import { isLoopbackHost } from '../../net/addresses.ts';

export interface AddressOptions {
  /** Base of the API; null: the web API, or the one of a Zotero on this machine for `users/0`. */
  readonly url: string | null;
  /** `users/ID` or `groups/ID`; `users/0` is whoever is signed in to the Zotero on this machine. */
  readonly library: string;
  readonly key: string | null;
}

/** Where a library is. */
export interface Address {
  /** Without a slash at the end. */
  readonly base: string;
  readonly library: string;
  /** Null where none is to be sent. */
  readonly key: string | null;
  /** Whether it is a Zotero on this machine that answers, which differs in some ways from the web API. */
  readonly isLocal: boolean;
}

const webApi = 'https://api.zotero.org';
const localApi = 'http://127.0.0.1:23119/api';
const own = 'users/0';

export function addressOf({ url, library, key }: AddressOptions): Address {
  if (!/^(?:users\/(?:0|[1-9]\d{0,14})|groups\/[1-9]\d{0,14})$/.test(library))
    throw wrong('--zotero-library takes users/ID, groups/ID or users/0, where ID is a number');
  const base = baseOf(url ?? (library === own ? localApi : webApi));
  const isLoopback = isLoopbackHost(base.hostname);
  // The Zotero on this machine asks for no key to read, and is not to learn the one of the web API.
  const sent = library === own ? null : key;
  if (sent !== null && !/^[\x21-\x7e]{1,200}$/.test(sent))
    throw wrong('--zotero-key is no key of the Zotero API');
  if (sent !== null && base.protocol === 'http:' && !isLoopback)
    throw wrong('--zotero-url has to begin with https:// where a key goes along');
  return {
    base: base.href.replace(/\/+$/, ''),
    library,
    key: sent,
    isLocal: library === own || (isLoopback && /^\/api\/?$/.test(base.pathname)),
  };
}

function baseOf(url: string): URL {
  const base = URL.parse(url);
  const isPlain = base !== null && /^https?:$/.test(base.protocol) && !/[?#]/.test(base.href);
  if (!isPlain || base.username !== '' || base.password !== '')
    throw wrong('--zotero-url takes an http:// or https:// URL without ?, # and password');
  return base;
}

const wrong = (what: string): WorkcrateError => new WorkcrateError('config_invalid', `${what}.`);
