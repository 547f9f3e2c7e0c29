/**
 * The port for a library of references, the address and the errors of a Zotero library, and the limits of one call. It
 * makes no requests: `client.ts` does.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import {
  isLoopbackHost,
  WorkcrateError,
  type Clock,
  type CslReference,
  type FoundReferences,
  type ReferenceLibrary,
} from 'workcrate/toolkit';
import type { ZoteroClient } from './client.ts';

/** A search. All conditions have to match. */
export interface LibraryQuery {
  /** In titles, creators and years. */
  readonly text?: string;
  /** Also in the text of attachments and in all fields that the library searches. */
  readonly everywhere?: boolean;
  /** One tag; `a || b` is either, `-a` is without. */
  readonly tag?: string;
  /** Key, path or name. */
  readonly collection?: string;
  /** As the library names it, such as `journalArticle`. */
  readonly itemType?: string;
  /** At most 100. */
  readonly limit: number;
  readonly start: number;
}

export interface LibraryItem {
  readonly key: string;
  /** The key by which documents cite it, if it was set. */
  readonly citationKey: string | null;
  readonly type: string;
  readonly title: string;
  /** In short, such as `Smith and Doe` or `Smith et al.`. */
  readonly creators: string;
  readonly year: number | null;
  readonly doi: string | null;
  readonly url: string | null;
  readonly tags: readonly string[];
  /** Paths such as `Thesis/Methods`. */
  readonly collections: readonly string[];
}

export interface LibraryCollection {
  readonly key: string;
  readonly name: string;
  /** With the names of its parents: `Thesis/Methods`. */
  readonly path: string;
  readonly items: number | null;
}

/** Keys of items or citation keys; or all of a collection, by key, path or name. */
export type WantedReferences = readonly string[] | { readonly collection: string };

/** One entry of a .bib file, under the key that the document cites. */
export interface BibtexEntry {
  readonly id: string;
  readonly text: string;
}

/**
 * What the tools use besides what documents do. Every call has the limits and the failures of `ReferenceLibrary`, with
 * `details.retryAfter` in seconds where it is known; if a library or collection does not exist, it fails with `not_found`.
 * Notes and attachments are left out.
 */
export interface ZoteroLibrary extends ReferenceLibrary {
  /** Such as `users/123`. */
  readonly name: string;
  search(
    query: LibraryQuery,
    signal: AbortSignal,
  ): Promise<{ readonly total: number; readonly items: readonly LibraryItem[] }>;
  collections(signal: AbortSignal): Promise<readonly LibraryCollection[]>;
  references(wanted: WantedReferences, signal: AbortSignal): Promise<FoundReferences<CslReference>>;
  bibtex(wanted: WantedReferences, signal: AbortSignal): Promise<FoundReferences<BibtexEntry>>;
}

export interface ZoteroAddressOptions {
  /** Base URL of the API; null: the web API, or a Zotero on this machine for `users/0`. */
  readonly url: string | null;
  /** `users/ID` or `groups/ID`; `users/0` is the signed-in user of the Zotero on this machine. */
  readonly library: string;
  readonly key: string | null;
}

/** Where a library is. */
export interface ZoteroAddress {
  /** Without a slash at the end. */
  readonly base: string;
  readonly library: string;
  /** Null: no key is sent. */
  readonly key: string | null;
  /** Whether this is a Zotero on this machine, which differs in some ways from the web API. */
  readonly isLocal: boolean;
}

const zoteroWebApi = 'https://api.zotero.org';
const zoteroLocalApi = 'http://127.0.0.1:23119/api';
const localUserLibrary = 'users/0';

export function toZoteroAddress({ url, library, key }: ZoteroAddressOptions): ZoteroAddress {
  if (!/^(?:users\/(?:0|[1-9]\d{0,14})|groups\/[1-9]\d{0,14})$/.test(library))
    throw invalidZoteroSettingError(
      '--zotero-library takes users/ID, groups/ID or users/0, where ID is a number',
    );
  const base = toZoteroBaseUrl(url ?? (library === localUserLibrary ? zoteroLocalApi : zoteroWebApi));
  const isLoopback = isLoopbackHost(base.hostname);
  // The Zotero on this machine needs no key, and must not learn the one for the web API.
  const sent = library === localUserLibrary ? null : key;
  if (sent !== null && !/^[\x21-\x7e]{1,200}$/.test(sent))
    throw invalidZoteroSettingError('--zotero-key is not a key of the Zotero API');
  if (sent !== null && base.protocol === 'http:' && !isLoopback)
    throw invalidZoteroSettingError('--zotero-url must begin with https:// if a key is sent');
  return {
    base: base.href.replace(/\/+$/, ''),
    library,
    key: sent,
    isLocal: library === localUserLibrary || (isLoopback && /^\/api\/?$/.test(base.pathname)),
  };
}

function toZoteroBaseUrl(url: string): URL {
  const base = URL.parse(url);
  const isPlain = base !== null && /^https?:$/.test(base.protocol) && !/[?#]/.test(base.href);
  if (!isPlain || base.username !== '' || base.password !== '')
    throw invalidZoteroSettingError(
      '--zotero-url takes an http:// or https:// URL without ?, # and password',
    );
  return base;
}

const invalidZoteroSettingError = (what: string): WorkcrateError =>
  new WorkcrateError('config_invalid', `${what}.`);

/** One call of the library with all its requests. */
export interface LibraryCall {
  /** Different for each call, so that the fair queue lets them take turns. */
  readonly name: string;
  /** Fires when the caller's signal does, or when the time of the call is over. */
  readonly signal: AbortSignal;
  /** By the clock, in milliseconds. */
  readonly endsAt: number;
  /** Counts the bytes of all answers, whose sum is limited. */
  spend(bytes: number): void;
}

/** For all answers of a call; they are not in memory at once. */
const maxLibraryCallBytes = 128 * 1024 ** 2;

let libraryCallCount = 0;

export async function runLibraryCall<T>(
  { totalMs, clock }: { readonly totalMs: number; readonly clock: Clock },
  signal: AbortSignal,
  work: (call: LibraryCall) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  const stop = new AbortController();
  const timer = setTimeout(
    () => stop.abort(libraryUnreachableError(`it took longer than ${totalMs} ms in all`)),
    totalMs,
  );
  let left = maxLibraryCallBytes;
  const spend = (bytes: number): void => {
    left -= bytes;
    if (left < 0)
      throw libraryUnreachableError(`its answers are longer than ${maxLibraryCallBytes} bytes in all`);
  };
  try {
    return await work({
      name: String(libraryCallCount++),
      signal: AbortSignal.any([signal, stop.signal]),
      endsAt: clock() + totalMs,
      spend,
    });
  } finally {
    clearTimeout(timer);
    // Also ends requests that still run because another one of the call failed.
    stop.abort();
  }
}

/** Waits, and fails with the reason of the signal if it fires. */
export async function pauseOrAbort(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch((error: unknown) => {
    throw signal.aborted ? signal.reason : error;
  });
}

/** `retryAfter` is in seconds, if the library said when to try again. */
export function libraryUnreachableError(why: string, retryAfter: number | null = null): WorkcrateError {
  const when = retryAfter === null ? 'Try again later' : `Try again in ${retryAfter} seconds`;
  return new WorkcrateError(
    'library_unreachable',
    `The Zotero library could not be read: ${why}. ${when}, or give the references as bibliographyContent.`,
    { details: retryAfter === null ? {} : { retryAfter } },
  );
}

export function libraryRefusedError(
  { isLocal, library, key }: ZoteroAddress,
  status: number,
): WorkcrateError {
  const advice = isLocal
    ? 'In Zotero, under Settings, Advanced, allow other applications on this computer to communicate with Zotero.'
    : `The operator has to set --zotero-key to a key that may read ${library}${key === null ? '; none is set' : ''}.`;
  return new WorkcrateError('library_refused', `Zotero refuses access (${status}). ${advice}`);
}

export const libraryNotFoundError = ({ library }: ZoteroAddress): WorkcrateError =>
  new WorkcrateError(
    'not_found',
    `Zotero has no library ${library}, or no such collection in it. The operator can check --zotero-library.`,
  );

export const searchRefusedError = ({ isLocal }: ZoteroAddress): WorkcrateError =>
  new WorkcrateError(
    'invalid_input',
    `Zotero refuses this search. Types of items are, for example, journalArticle, book and webpage.${
      isLocal ? ' On this computer, only the library of the signed-in user can be read: users/0.' : ''
    }`,
  );

export const tooManyReferencesError = (what: string, most: number): WorkcrateError =>
  new WorkcrateError('too_large', `${what}: at most ${most} references can be read at once. Ask for fewer.`);

type ZoteroParams = readonly (readonly [string, string])[];

/**
 * The list of all items, or those of a collection, without notes and attachments. The web API takes one `itemType`, whose
 * `-` applies to all types in it; a Zotero on this machine needs one for each type, or it would exclude nothing.
 */
export function buildItemsListing(
  { address }: ZoteroClient,
  collection: string | null,
): { readonly path: string; readonly params: ZoteroParams } {
  const path = collection === null ? 'items/top' : `collections/${collection}/items/top`;
  const types = address.isLocal ? ['-attachment', '-note'] : ['-attachment || note'];
  return { path, params: types.map((type) => ['itemType', type]) };
}
