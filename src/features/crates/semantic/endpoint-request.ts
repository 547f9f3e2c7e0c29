import { setTimeout as sleep } from 'node:timers/promises';
import { WorkcrateError } from '../../../platform/errors.ts';
import {
  FetchError,
  fetchBounded,
  type FetchAnswer,
  type FetchPolicy,
} from '../../../platform/net/bounded-fetch.ts';

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
const maxAnswerBytes = 32 * 1024 * 1024;

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
export async function requestVectors(
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
  const policy: FetchPolicy = { timeoutMs, maxBytes: maxAnswerBytes, privateAddresses: 'allowed' };
  try {
    return await fetchBounded(url, request, policy, (answer) => readOutcome(answer, input.length));
  } catch (error) {
    if (!(error instanceof FetchError)) throw error;
    return { failure: error.message, again: error.kind !== 'too_long', waitMs: 0 };
  }
}

async function readOutcome(answer: FetchAnswer, texts: number): Promise<Outcome> {
  if (answer.status !== 200) return describeRefusal(answer.status, answer.headers.get('retry-after'));
  const result = readVectors(await answer.text(), texts);
  return typeof result === 'string' ? { failure: result, again: false, waitMs: 0 } : { vectors: result };
}

/** What the answer says is not passed on: it may repeat the key. */
function describeRefusal(status: number, retryAfter: string | null): Outcome {
  const again = status === 408 || status === 429 || status >= 500;
  return {
    failure: `it answered ${status}${describeStatus(status)}`,
    again,
    waitMs: parseRetryPause(retryAfter),
  };
}

function describeStatus(status: number): string {
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

const maxDimensions = 16_384;
/** Vectors are about of length 1. Far larger numbers are no vector, and their squares overflow. */
const largest = 1e6;

interface Item {
  readonly index?: unknown;
  readonly embedding?: unknown;
}

/** The vectors in the order of the texts, or what is wrong with the answer. Nothing in it is trusted. */
function readVectors(body: string, texts: number): number[][] | string {
  const data = parseItems(body);
  if (data === null) return 'its answer is not the JSON of an embeddings API';
  if (data.length !== texts) return `it gave ${data.length} vectors for ${texts} texts`;
  const ordered = orderItems(data);
  if (ordered === null) return 'it numbered its vectors wrongly';
  const vectors = ordered.map(({ embedding }) => embedding);
  if (!vectors.every(isVector)) return 'a vector of it is no list of plain numbers';
  const dimensions = vectors[0]?.length ?? 0;
  if (vectors.some((vector) => vector.length !== dimensions)) return 'its vectors differ in length';
  return vectors;
}

function parseItems(body: string): Item[] | null {
  try {
    const { data } = JSON.parse(body) as { data?: unknown };
    return Array.isArray(data) && data.every(isItem) ? data : null;
  } catch {
    // No JSON, or null instead of an object.
    return null;
  }
}

const isItem = (item: unknown): item is Item => typeof item === 'object' && item !== null;

/** By `index` where it is given, each once; some servers leave it out and keep the order. */
function orderItems(data: readonly Item[]): readonly Item[] | null {
  if (data.every(({ index }) => index === undefined)) return data;
  const ordered = new Map(data.map((item) => [item.index, item]));
  const found = data.map((_, at) => ordered.get(at));
  return found.every((item) => item !== undefined) ? found : null;
}

function isVector(value: unknown): value is number[] {
  return (
    Array.isArray(value) &&
    value.length > 0 &&
    value.length <= maxDimensions &&
    value.every((number) => typeof number === 'number' && Math.abs(number) <= largest)
  );
}
