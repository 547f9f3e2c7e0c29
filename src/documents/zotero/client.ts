import { z } from 'zod';
import type { Clock } from '../../clock.ts';
import { BoundedMap } from '../../concurrency/bounded-map.ts';
import { createFairQueue, toFairLimits } from '../../concurrency/fair-queue.ts';
import { isWorkcrateError, WorkcrateError } from '../../errors.ts';
import {
  fetchBounded,
  FetchError,
  type FetchAnswer,
  type FetchHeaders,
  type FetchPolicy,
} from '../../net/bounded-fetch.ts';
import type { Log } from '../../observability/log.ts';
import {
  libraryNotFoundError,
  searchRefusedError,
  pauseOrAbort,
  libraryRefusedError,
  libraryUnreachableError,
  type ZoteroAddress,
  type LibraryRequest,
} from './library.ts';

/** As the documentation of the API asks. */
const maxZoteroRequestsAtOnce = 4;
const maxZoteroAttempts = 4;
/** Doubles with each try. */
const firstBackoffMs = 250;

/** A request for a list. */
export interface ZoteroListing {
  /** Within the library, such as `items/top`. */
  readonly path: string;
  readonly params: readonly (readonly [string, string])[];
  /** Whether the answer is worth remembering. */
  readonly remember: boolean;
  /** With this version the answer is null where nothing has changed since. */
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
  list(listing: ZoteroListing, errand: LibraryRequest): Promise<ZoteroPage | null>;
}

export interface ZoteroClientOptions {
  readonly address: ZoteroAddress;
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly log: Log;
}

/** Asks the API, at most four times at once, with the patience that it asks for. Only ever reads. */
export function createZoteroClient({ address, timeoutMs, clock, log }: ZoteroClientOptions): ZoteroClient {
  const queue = createFairQueue({
    ...toFairLimits(maxZoteroRequestsAtOnce, false),
    refusals: { busy: zoteroBusyError, cancelled: zoteroCancelledError, closed: zoteroCancelledError },
  });
  const patience = createZoteroBackoff(clock, log);
  const memory = createZoteroCache();

  async function sendInTurn(sending: ZoteroFetch, errand: LibraryRequest): Promise<ZoteroOutcome> {
    const leave = await queue.enter({ user: errand.name, signal: errand.signal }).catch((error: unknown) => {
      throw errand.signal.aborted ? errand.signal.reason : error;
    });
    try {
      await patience.wait(errand);
      return await fetchZoteroOnce(sending, errand);
    } finally {
      leave();
    }
  }

  async function send(
    sending: ZoteroFetch,
    errand: LibraryRequest,
  ): Promise<Exclude<ZoteroOutcome, { kind: 'failed' }>> {
    for (let attempt = 1; ; attempt++) {
      const outcome = await sendInTurn(sending, errand);
      const isTold = outcome.headers !== null && patience.heed(outcome.headers);
      if (outcome.kind !== 'failed') return outcome;
      log.info('zotero.failed', { why: outcome.why, attempt });
      // Zotero on this machine does not answer because it does not run.
      if (attempt >= maxZoteroAttempts || (address.isLocal && outcome.headers === null))
        throw zoteroGaveUpError(address, outcome.why);
      if (!isTold)
        await pauseOrAbort(firstBackoffMs * 2 ** (attempt - 1) * (0.5 + Math.random() / 2), errand.signal);
    }
  }

  return {
    address,
    async list({ path, params, remember, since }, errand) {
      const url = new URL(`${address.base}/${address.library}/${path}`);
      url.search = new URLSearchParams(params.map(([name, value]) => [name, value])).toString();
      const known = remember ? memory.get(url.href) : null;
      const knownVersion = toSentVersion(address, known?.version ?? since ?? null);
      try {
        const outcome = await send({ address, url, knownVersion, timeoutMs }, errand);
        if (outcome.kind === 'unchanged') {
          if (knownVersion === null)
            throw libraryUnreachableError('it answered "not changed" to a request without a version');
          return known && { ...known, objects: parseZoteroList(known.text) };
        }
        const { text, headers } = outcome;
        const version = parseHeaderNumber(headers.get('last-modified-version'));
        const total = parseHeaderNumber(headers.get('total-results'));
        const objects = parseZoteroList(text);
        if (remember && version !== null) memory.set(url.href, { text, version, total });
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
 * Never to a Zotero on this machine: some tell the version of the last synchronisation, and would have us take what was
 * changed since for unchanged. Nor 0, which is the version of what was never synchronised.
 */
const toSentVersion = ({ isLocal }: ZoteroAddress, version: number | null): number | null =>
  isLocal || version === 0 ? null : version;

const zoteroListSchema = z.array(z.unknown());

function parseZoteroList(text: string): unknown[] {
  try {
    return zoteroListSchema.parse(JSON.parse(text));
  } catch {
    // No JSON, or no list.
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

/** A hundred items with their abstracts are within this. */
const maxZoteroAnswerBytes = 8 * 1024 ** 2;

export interface ZoteroFetch {
  readonly address: ZoteroAddress;
  readonly url: URL;
  /** Of the library, as we know it; the answer is 304 where it has not changed since. */
  readonly knownVersion: number | null;
  readonly timeoutMs: number;
}

/** What came of one try. */
export type ZoteroOutcome =
  | { readonly kind: 'answer'; readonly text: string; readonly headers: FetchHeaders }
  | { readonly kind: 'unchanged'; readonly headers: FetchHeaders }
  /** Another try may help; without headers nothing was answered. */
  | { readonly kind: 'failed'; readonly why: string; readonly headers: FetchHeaders | null };

async function fetchZoteroOnce(sending: ZoteroFetch, errand: LibraryRequest): Promise<ZoteroOutcome> {
  const { address, url, timeoutMs } = sending;
  // The operator has named the address, which may be that of this machine.
  const policy: FetchPolicy = { timeoutMs, maxBytes: maxZoteroAnswerBytes, privateAddresses: 'allowed' };
  const request = { headers: buildZoteroHeaders(sending), signal: errand.signal };
  try {
    return await fetchBounded(url, request, policy, (answer) =>
      answer.status === 200 ? readZoteroAnswer(answer, errand) : toStatusOutcome(address, answer),
    );
  } catch (error) {
    errand.signal.throwIfAborted();
    if (!(error instanceof FetchError)) throw error;
    if (error.kind === 'too_long') throw libraryUnreachableError(error.message);
    return { kind: 'failed', why: error.message, headers: null };
  }
}

/** The key is in a header alone, for the host that the operator named. */
function buildZoteroHeaders({ address, knownVersion }: ZoteroFetch): Record<string, string> {
  const headers: Record<string, string> = { 'Zotero-API-Version': '3', Accept: 'application/json' };
  if (address.key !== null) headers['Zotero-API-Key'] = address.key;
  if (knownVersion !== null) headers['If-Modified-Since-Version'] = String(knownVersion);
  return headers;
}

async function readZoteroAnswer(answer: FetchAnswer, errand: LibraryRequest): Promise<ZoteroOutcome> {
  const { headers } = answer;
  if (!/^application\/json\b/i.test(headers.get('content-type') ?? ''))
    throw libraryUnreachableError(
      'the server at --zotero-url is not a Zotero API, because its answer is not JSON',
    );
  const text = await answer.text();
  errand.spend(Buffer.byteLength(text));
  return { kind: 'answer', text, headers };
}

/** What the answer says is not passed on: it may repeat the key. */
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

/** No header can have us stay away for longer. */
const maxBackoffMs = 3_600_000;

/** How long the library wants to be left alone, by all errands alike. */
export interface ZoteroBackoff {
  /** Takes `Backoff`, which any answer may have, and `Retry-After`. True where the latter says when to come back. */
  heed(headers: FetchHeaders): boolean;
  /** Waits until requests are welcome; `library_unreachable` where that is later than the errand may take. */
  wait(errand: LibraryRequest): Promise<void>;
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

/** Milliseconds, from seconds or from a date; null where nothing was said that makes sense. */
function parseRetryDelay(header: string | null, clock: Clock): number | null {
  if (header === null) return null;
  const ms = /^\d{1,9}$/.test(header) ? Number(header) * 1000 : Date.parse(header) - clock();
  return Number.isFinite(ms) ? Math.min(maxBackoffMs, Math.max(0, ms)) : null;
}

/** An answer that was given for a URL, and the version of the library that it shows. */
export interface CachedAnswer {
  readonly text: string;
  readonly version: number;
  readonly total: number | null;
}

export interface ZoteroCache {
  get(url: string): CachedAnswer | null;
  set(url: string, answer: CachedAnswer): void;
}

/** Answers by URL, those that were asked for last. */
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

/** At most: text of Latin letters takes half. */
const estimateCachedBytes = (url: string, text: string): number => 2 * (url.length + text.length);
