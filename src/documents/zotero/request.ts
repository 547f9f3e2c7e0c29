import {
  FetchError,
  fetchBounded,
  type FetchAnswer,
  type FetchHeaders,
  type FetchPolicy,
} from '../../net/bounded-fetch.ts';
import type { Address } from './address.ts';
import type { Errand } from './errand.ts';
import { noLibrary, notTaken, refused, unreachable } from './failures.ts';

/** A hundred items with their abstracts are within this. */
const mostBytes = 8 * 1024 ** 2;

export interface Sending {
  readonly address: Address;
  readonly url: URL;
  /** Of the library, as we know it; the answer is 304 where it has not changed since. */
  readonly knownVersion: number | null;
  readonly timeoutMs: number;
}

/** What came of one try. */
export type Outcome =
  | { readonly kind: 'answer'; readonly text: string; readonly headers: FetchHeaders }
  | { readonly kind: 'unchanged'; readonly headers: FetchHeaders }
  /** Another try may help; without headers nothing was answered. */
  | { readonly kind: 'failed'; readonly why: string; readonly headers: FetchHeaders | null };

export async function tryOnce(sending: Sending, errand: Errand): Promise<Outcome> {
  const { address, url, timeoutMs } = sending;
  // The operator has named the address, which may be that of this machine.
  const policy: FetchPolicy = { timeoutMs, maxBytes: mostBytes, privateAddresses: 'allowed' };
  const request = { headers: headersFor(sending), signal: errand.signal };
  try {
    return await fetchBounded(url, request, policy, (answer) =>
      answer.status === 200 ? readAnswer(answer, errand) : judgeStatus(address, answer),
    );
  } catch (error) {
    errand.signal.throwIfAborted();
    if (!(error instanceof FetchError)) throw error;
    if (error.kind === 'too_long') throw unreachable(error.message);
    return { kind: 'failed', why: error.message, headers: null };
  }
}

/** The key is in a header alone, for the host that the operator named. */
function headersFor({ address, knownVersion }: Sending): Record<string, string> {
  const headers: Record<string, string> = { 'Zotero-API-Version': '3', Accept: 'application/json' };
  if (address.key !== null) headers['Zotero-API-Key'] = address.key;
  if (knownVersion !== null) headers['If-Modified-Since-Version'] = String(knownVersion);
  return headers;
}

async function readAnswer(answer: FetchAnswer, errand: Errand): Promise<Outcome> {
  const { headers } = answer;
  if (!/^application\/json\b/i.test(headers.get('content-type') ?? ''))
    throw unreachable('what answers at --zotero-url is no Zotero API, since it does not speak JSON');
  const text = await answer.text();
  errand.spend(Buffer.byteLength(text));
  return { kind: 'answer', text, headers };
}

/** What the answer says is not passed on: it may repeat the key. */
function judgeStatus(address: Address, { status, headers }: FetchAnswer): Outcome {
  if (status === 304) return { kind: 'unchanged', headers };
  if (status === 401 || status === 403) throw refused(address, status);
  if (status === 404) throw noLibrary(address);
  if (status === 400) throw notTaken(address);
  if (status === 408 || status === 429 || status >= 500)
    return { kind: 'failed', why: `it answered ${status}`, headers };
  const elsewhere = status >= 300 && status < 400 ? ', which leads elsewhere; set --zotero-url to there' : '';
  throw unreachable(`it answered ${status}${elsewhere}`);
}
