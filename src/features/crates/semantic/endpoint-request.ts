import { setTimeout as sleep } from 'node:timers/promises';
import { WorkcrateError } from '../../../platform/errors.ts';
import {
  FetchError,
  fetchBounded,
  type FetchAnswer,
  type FetchPolicy,
} from '../../../platform/net/bounded-fetch.ts';
import { judged } from './endpoint-answer.ts';

export interface Patience {
  readonly tries: number;
  readonly timeoutMs: number;
  /** Doubles with each try. */
  readonly firstPauseMs: number;
  /** Whatever `Retry-After` says. */
  readonly longestPauseMs: number;
}

/** All of it together is shorter than the lease of a refit. */
const patience: Patience = { tries: 4, timeoutMs: 30_000, firstPauseMs: 500, longestPauseMs: 20_000 };

/** Thousands of long numbers for each text are within this. */
const mostBytes = 32 * 1024 * 1024;

interface Called {
  readonly url: URL;
  readonly model: string;
  readonly key: string | null;
}

/** What came of one try: the vectors, or why not and whether and when another may help. */
type Outcome =
  | { readonly vectors: number[][] }
  | { readonly failure: string; readonly again: boolean; readonly waitMs: number };

/** Asks for the vectors of some texts, in their order. */
export async function ask(
  called: Called,
  input: readonly string[],
  given: Partial<Patience>,
  signal?: AbortSignal,
): Promise<number[][]> {
  const limits = { ...patience, ...given };
  for (let attempt = 1; ; attempt++) {
    const outcome = await tryOnce(called, input, limits.timeoutMs, signal);
    if ('vectors' in outcome) return outcome.vectors;
    if (!outcome.again || attempt >= limits.tries) throw embeddingsFailedError(outcome.failure);
    const wait = Math.max(outcome.waitMs, limits.firstPauseMs * 2 ** (attempt - 1));
    await sleep(Math.min(wait, limits.longestPauseMs), undefined, signal === undefined ? {} : { signal });
  }
}

async function tryOnce(
  { url, model, key }: Called,
  input: readonly string[],
  timeoutMs: number,
  signal?: AbortSignal,
): Promise<Outcome> {
  const headers: Record<string, string> = { 'Content-Type': 'application/json', Accept: 'application/json' };
  if (key !== null) headers['Authorization'] = `Bearer ${key}`;
  const request = { method: 'POST', headers, body: JSON.stringify({ model, input }), signal } as const;
  // The operator has named the address, which may be that of a model on this machine.
  const policy: FetchPolicy = { timeoutMs, maxBytes: mostBytes, privateAddresses: 'allowed' };
  try {
    return await fetchBounded(url, request, policy, (answer) => readOutcome(answer, input.length));
  } catch (error) {
    if (!(error instanceof FetchError)) throw error;
    return { failure: error.message, again: error.kind !== 'too_long', waitMs: 0 };
  }
}

async function readOutcome(answer: FetchAnswer, texts: number): Promise<Outcome> {
  if (answer.status !== 200) return refusal(answer.status, answer.headers.get('retry-after'));
  const result = judged(await answer.text(), texts);
  return typeof result === 'string' ? { failure: result, again: false, waitMs: 0 } : { vectors: result };
}

/** What the answer says is not passed on: it may repeat the key. */
function refusal(status: number, retryAfter: string | null): Outcome {
  const again = status === 408 || status === 429 || status >= 500;
  return { failure: `it answered ${status}${meaningOf(status)}`, again, waitMs: parseRetryPause(retryAfter) };
}

function meaningOf(status: number): string {
  if (status === 401 || status === 403) return ': the key is missing, wrong or without the right';
  if (status === 404) return ': there is no such address or model';
  if (status === 400 || status === 413 || status === 422) return ': the model does not take these texts';
  if (status === 429) return ': too many requests, or the quota is used up';
  return status >= 300 && status < 400 ? ', which leads elsewhere; set the address where it leads' : '';
}

/** `Retry-After` in milliseconds, as seconds or as a date; 0 where there is none. */
function parseRetryPause(header: string | null): number {
  if (header === null) return 0;
  const ms = /^\d{1,6}$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now();
  return Number.isFinite(ms) ? Math.max(0, ms) : 0;
}

export const embeddingsFailedError = (what: string): WorkcrateError =>
  new WorkcrateError(
    'embeddings_failed',
    `The embeddings API returned no vectors: ${what}. Use mode "keyword" meanwhile; the operator can check the settings.`,
  );
