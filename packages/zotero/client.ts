import { z } from 'zod';
import {
  type Clock,
  BoundedMap,
  createFairQueue,
  toFairLimits,
  isWorkcrateError,
  WorkcrateError,
  fetchBounded,
  FetchError,
  type FetchAnswer,
  type FetchHeaders,
  type FetchPolicy,
  type Log,
} from 'workcrate/toolkit';
import {
  libraryNotFoundError,
  searchRefusedError,
  pauseOrAbort,
  libraryRefusedError,
  libraryUnreachableError,
  type ZoteroAddress,
  type LibraryCall,
} from './library.ts';

/** As the documentation of the API recommends. */
const maxZoteroRequestsAtOnce = 4;
const maxZoteroAttempts = 4;
/** Doubles with each attempt. */
const firstBackoffMs = 250;

/** A request for a list. */
export interface ZoteroListing {
  /** Within the library, such as `items/top`. */
  readonly path: string;
  readonly params: readonly (readonly [string, string])[];
  /** Whether to cache the answer. */
  readonly remember: boolean;
  /** If nothing has changed since this version, the answer is null. */
  readonly since?: number;
}

export interface ZoteroPage {
  readonly objects: readonly unknown[];
  /** Of the whole list. */
  readonly total: number | null;
  /** Of the library, as this page shows it. */
  readonly version: number | null;
}

export interface ZoteroClient {
  readonly address: ZoteroAddress;
  list(listing: ZoteroListing, call: LibraryCall): Promise<ZoteroPage | null>;
}

export interface ZoteroClientOptions {
  readonly address: ZoteroAddress;
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly log: Log;
}

/** Sends requests to the API, at most four at once, with retries and the backoff that it asks for. It only reads. */
export function createZoteroClient({ address, timeoutMs, clock, log }: ZoteroClientOptions): ZoteroClient {
  const queue = createFairQueue({
    ...toFairLimits(maxZoteroRequestsAtOnce, false),
    refusals: { busy: zoteroBusyError, cancelled: zoteroCancelledError, closed: zoteroCancelledError },
  });
  const backoff = createZoteroBackoff(clock, log);
  const cache = createZoteroCache();

  async function sendInTurn(request: ZoteroFetch, call: LibraryCall): Promise<ZoteroOutcome> {
    const leave = await queue.enter({ user: call.name, signal: call.signal }).catch((error: unknown) => {
      throw call.signal.aborted ? call.signal.reason : error;
    });
    try {
      await backoff.wait(call);
      return await fetchZoteroOnce(request, call);
    } finally {
      leave();
    }
  }

  async function send(
    request: ZoteroFetch,
    call: LibraryCall,
  ): Promise<Exclude<ZoteroOutcome, { kind: 'failed' }>> {
    for (let attempt = 1; ; attempt++) {
      const outcome = await sendInTurn(request, call);
      const hasRetryAfter = outcome.headers !== null && backoff.heed(outcome.headers);
      if (outcome.kind !== 'failed') return outcome;
      log.info('zotero.failed', { why: outcome.why, attempt });
      // A Zotero on this machine that does not answer is not running: retries do not help.
      if (attempt >= maxZoteroAttempts || (address.isLocal && outcome.headers === null))
        throw zoteroGaveUpError(address, outcome.why);
      if (!hasRetryAfter)
        await pauseOrAbort(firstBackoffMs * 2 ** (attempt - 1) * (0.5 + Math.random() / 2), call.signal);
    }
  }

  return {
    address,
    async list({ path, params, remember, since }, call) {
      const url = new URL(`${address.base}/${address.library}/${path}`);
      url.search = new URLSearchParams(params.map(([name, value]) => [name, value])).toString();
      const known = remember ? cache.get(url.href) : null;
      const knownVersion = toSentVersion(address, known?.version ?? since ?? null);
      try {
        const outcome = await send({ address, url, knownVersion, timeoutMs }, call);
        if (outcome.kind === 'unchanged') {
          if (knownVersion === null)
            throw libraryUnreachableError('it answered "not changed" to a request without a version');
          return known && { ...known, objects: parseZoteroList(known.text) };
        }
        const { text, headers } = outcome;
        const version = parseHeaderNumber(headers.get('last-modified-version'));
        const total = parseHeaderNumber(headers.get('total-results'));
        const objects = parseZoteroList(text);
        if (remember && version !== null) cache.set(url.href, { text, version, total });
        return { objects, total, version };
      } catch (error) {
        if (isWorkcrateError(error, 'library_refused'))
          log.warn('zotero.refused', { library: address.library });
        throw error;
      }
    },
  };
}

/**
 * Never sent to a Zotero on this machine: some return the version of the last synchronization, so that later changes
 * would be missed. Nor is 0 sent, which is the version of a library that was never synchronized.
 */
const toSentVersion = ({ isLocal }: ZoteroAddress, version: number | null): number | null =>
  isLocal || version === 0 ? null : version;

const zoteroListSchema = z.array(z.unknown());

function parseZoteroList(text: string): unknown[] {
  try {
    return zoteroListSchema.parse(JSON.parse(text));
  } catch {
    // Not JSON, or not a list.
    throw libraryUnreachableError('its answer is not one of the Zotero API');
  }
}

function parseHeaderNumber(header: string | null): number | null {
  return header !== null && /^\d{1,15}$/.test(header) ? Number(header) : null;
}

function zoteroGaveUpError({ isLocal }: ZoteroAddress, why: string): WorkcrateError {
  return libraryUnreachableError(isLocal ? `${why}; check that Zotero is running on this machine` : why);
}

const zoteroBusyError = (): WorkcrateError =>
  new WorkcrateError(
    'documents_busy',
    'Too many requests to the Zotero library are waiting. Try again later.',
  );

const zoteroCancelledError = (): WorkcrateError =>
  new WorkcrateError('cancelled', 'The request was cancelled.');

/** Enough for a hundred items with abstracts. */
const maxZoteroAnswerBytes = 8 * 1024 ** 2;

export interface ZoteroFetch {
  readonly address: ZoteroAddress;
  readonly url: URL;
  /** The version of the library that we know; if it has not changed since, the answer is 304. */
  readonly knownVersion: number | null;
  readonly timeoutMs: number;
}

/** The result of one attempt. */
export type ZoteroOutcome =
  | { readonly kind: 'answer'; readonly text: string; readonly headers: FetchHeaders }
  | { readonly kind: 'unchanged'; readonly headers: FetchHeaders }
  /** Another attempt may help; without headers there was no answer. */
  | { readonly kind: 'failed'; readonly why: string; readonly headers: FetchHeaders | null };

async function fetchZoteroOnce(request: ZoteroFetch, call: LibraryCall): Promise<ZoteroOutcome> {
  const { address, url, timeoutMs } = request;
  // The operator chose the address, which may be on this machine.
  const policy: FetchPolicy = { timeoutMs, maxBytes: maxZoteroAnswerBytes, privateAddresses: 'allowed' };
  const init = { headers: buildZoteroHeaders(request), signal: call.signal };
  try {
    return await fetchBounded(url, init, policy, (answer) =>
      answer.status === 200 ? readZoteroAnswer(answer, call) : toStatusOutcome(address, answer),
    );
  } catch (error) {
    call.signal.throwIfAborted();
    if (!(error instanceof FetchError)) throw error;
    if (error.kind === 'too_long') throw libraryUnreachableError(error.message);
    return { kind: 'failed', why: error.message, headers: null };
  }
}

/** The key is only in a header, and only for the host that the operator chose. */
function buildZoteroHeaders({ address, knownVersion }: ZoteroFetch): Record<string, string> {
  const headers: Record<string, string> = { 'Zotero-API-Version': '3', Accept: 'application/json' };
  if (address.key !== null) headers['Zotero-API-Key'] = address.key;
  if (knownVersion !== null) headers['If-Modified-Since-Version'] = String(knownVersion);
  return headers;
}

async function readZoteroAnswer(answer: FetchAnswer, call: LibraryCall): Promise<ZoteroOutcome> {
  const { headers } = answer;
  if (!/^application\/json\b/i.test(headers.get('content-type') ?? ''))
    throw libraryUnreachableError(
      'the server at --zotero-url is not a Zotero API, because its answer is not JSON',
    );
  const text = await answer.text();
  call.spend(Buffer.byteLength(text));
  return { kind: 'answer', text, headers };
}

/** The body is not passed on, because it could repeat the key. */
function toStatusOutcome(address: ZoteroAddress, { status, headers }: FetchAnswer): ZoteroOutcome {
  if (status === 304) return { kind: 'unchanged', headers };
  if (status === 401 || status === 403) throw libraryRefusedError(address, status);
  if (status === 404) throw libraryNotFoundError(address);
  if (status === 400) throw searchRefusedError(address);
  if (status === 408 || status === 429 || status >= 500)
    return { kind: 'failed', why: `it answered ${status}`, headers };
  const elsewhere = status >= 300 && status < 400 ? ', a redirect; set --zotero-url to its target' : '';
  throw libraryUnreachableError(`it answered ${status}${elsewhere}`);
}

/** No header can make us wait longer. */
const maxBackoffMs = 3_600_000;

/** How long the library asks clients to wait. It applies to all calls. */
export interface ZoteroBackoff {
  /** Reads `Backoff`, which any answer may have, and `Retry-After`. True if there was a `Retry-After`. */
  heed(headers: FetchHeaders): boolean;
  /** Waits until requests are allowed; `library_unreachable` if that is later than the call may take. */
  wait(call: LibraryCall): Promise<void>;
}

function createZoteroBackoff(clock: Clock, log: Log): ZoteroBackoff {
  let until = 0;

  function stayAway(ms: number): void {
    if (clock() + ms <= until) return;
    until = clock() + ms;
    log.info('zotero.paused', { seconds: Math.ceil(ms / 1000) });
  }

  return {
    heed(headers) {
      const backoff = parseRetryDelay(headers.get('backoff'), clock);
      const retryAfter = parseRetryDelay(headers.get('retry-after'), clock);
      stayAway(Math.max(backoff ?? 0, retryAfter ?? 0));
      return retryAfter !== null;
    },
    async wait({ signal, endsAt }) {
      for (let ms = until - clock(); ms > 0; ms = until - clock()) {
        if (until > endsAt) throw libraryUnreachableError('it asks clients to wait', Math.ceil(ms / 1000));
        await pauseOrAbort(ms, signal);
      }
    },
  };
}

/** In milliseconds, from seconds or a date; null if the header is missing or invalid. */
function parseRetryDelay(header: string | null, clock: Clock): number | null {
  if (header === null) return null;
  const ms = /^\d{1,9}$/.test(header) ? Number(header) * 1000 : Date.parse(header) - clock();
  return Number.isFinite(ms) ? Math.min(maxBackoffMs, Math.max(0, ms)) : null;
}

/** An answer for a URL, and the version of the library that it shows. */
export interface CachedAnswer {
  readonly text: string;
  readonly version: number;
  readonly total: number | null;
}

export interface ZoteroCache {
  get(url: string): CachedAnswer | null;
  set(url: string, answer: CachedAnswer): void;
}

/** Answers by URL: those that were used last. */
export function createZoteroCache({ mostEntries = 200, mostBytes = 16 * 1024 ** 2 } = {}): ZoteroCache {
  const entries = new BoundedMap<string, CachedAnswer>({
    mostEntries,
    mostWeight: mostBytes,
    heaviest: mostBytes / 4,
    weigh: ({ text }, url) => estimateCachedBytes(url, text),
  });
  return {
    get: (url) => entries.use(url) ?? null,
    set: (url, answer) => entries.set(url, answer),
  };
}

/** An upper limit: Latin text takes half. */
const estimateCachedBytes = (url: string, text: string): number => 2 * (url.length + text.length);
