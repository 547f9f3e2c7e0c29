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
  | { readonly kind: 'answer'; readonly text: string; readonly headers: Headers }
  | { readonly kind: 'unchanged'; readonly headers: Headers }
  /** Another try may help; without headers nothing was answered. */
  | { readonly kind: 'failed'; readonly why: string; readonly headers: Headers | null };

export async function tryOnce(sending: Sending, errand: Errand): Promise<Outcome> {
  const timeout = AbortSignal.timeout(sending.timeoutMs);
  try {
    const answer = await send(sending, AbortSignal.any([errand.signal, timeout]));
    if (answer.status === 200) return await readAnswer(answer, errand);
    await answer.body?.cancel();
    return judgeStatus(sending.address, answer);
  } catch (error) {
    errand.signal.throwIfAborted();
    if (!isOfNetwork(error) && !timeout.aborted) throw error;
    const why = timeout.aborted
      ? `no answer within ${sending.timeoutMs} ms`
      : `no connection (${codeOf(error)})`;
    return { kind: 'failed', why, headers: null };
  }
}

/** The key is in a header alone, for the host that the operator named: redirects are not followed. */
function send({ address, url, knownVersion }: Sending, signal: AbortSignal): Promise<Response> {
  const headers: Record<string, string> = { 'Zotero-API-Version': '3', Accept: 'application/json' };
  if (address.key !== null) headers['Zotero-API-Key'] = address.key;
  if (knownVersion !== null) headers['If-Modified-Since-Version'] = String(knownVersion);
  return fetch(url, { headers, redirect: 'manual', signal });
}

async function readAnswer(answer: Response, errand: Errand): Promise<Outcome> {
  const { headers } = answer;
  if (!/^application\/json\b/i.test(headers.get('content-type') ?? '')) {
    await answer.body?.cancel();
    throw unreachable('what answers at --zotero-url is no Zotero API, since it does not speak JSON');
  }
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of answer.body ?? []) {
    size += chunk.length;
    if (size > mostBytes) throw unreachable(`an answer is longer than ${mostBytes} bytes`);
    chunks.push(chunk);
  }
  errand.spend(size);
  return { kind: 'answer', text: Buffer.concat(chunks).toString('utf8'), headers };
}

/** What the answer says is not passed on: it may repeat the key. */
function judgeStatus(address: Address, { status, headers }: Response): Outcome {
  if (status === 304) return { kind: 'unchanged', headers };
  if (status === 401 || status === 403) throw refused(address, status);
  if (status === 404) throw noLibrary(address);
  if (status === 400) throw notTaken(address);
  if (status === 408 || status === 429 || status >= 500)
    return { kind: 'failed', why: `it answered ${status}`, headers };
  const elsewhere = status >= 300 && status < 400 ? ', which leads elsewhere; set --zotero-url to there' : '';
  throw unreachable(`it answered ${status}${elsewhere}`);
}

/** `fetch` tells what befell a connection, before the answer or within it, by a TypeError with a cause. */
const isOfNetwork = (error: unknown): boolean => error instanceof TypeError && error.cause !== undefined;

/** The code of the system alone: messages of the network may hold more than is to be told. */
function codeOf(error: unknown): string {
  const { cause } = error as { cause?: { code?: unknown } };
  const code = cause?.code;
  return typeof code === 'string' && /^[A-Z_]{1,40}$/.test(code) ? code : 'broken off';
}
