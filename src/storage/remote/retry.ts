import { setTimeout as pause } from 'node:timers/promises';
import type { Refusal } from './answers.ts';
import { systemCode } from './failures.ts';

export interface RetryLimits {
  readonly tries: number;
  /** The longest pause after the first try; it doubles with each, up to `longestPauseMs`. */
  readonly firstPauseMs: number;
  readonly longestPauseMs: number;
  /** A store that asks for a longer pause by `Retry-After` is asked again after this. */
  readonly longestAskedMs: number;
  /** No pause goes beyond this, counted from the first try. */
  readonly totalMs: number;
}

export const retryLimits: RetryLimits = {
  tries: 6,
  firstPauseMs: 200,
  longestPauseMs: 5000,
  longestAskedMs: 10_000,
  totalMs: 45_000,
};

export interface Tried {
  readonly refusal: Refusal | null;
  readonly headers: { readonly 'retry-after'?: string | undefined };
}

/**
 * Does the work again while the store is busy or the network fails, after pauses that grow and are random in full, so
 * that those who were refused together do not come back together. The last answer or failure is passed on as it is.
 */
export async function retrying<T extends Tried>(
  limits: RetryLimits,
  work: (attempt: number) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  const end = Date.now() + limits.totalMs;
  for (let attempt = 1; ; attempt++) {
    const outcome = await tried(() => work(attempt), signal);
    const wait = pauseAfter(outcome, attempt, limits);
    if (wait === null || attempt >= limits.tries || Date.now() + wait > end) {
      if ('error' in outcome) throw outcome.error;
      return outcome.answer;
    }
    await pause(wait, undefined, signal === undefined ? {} : { signal }).catch((error: unknown) => {
      throw signal?.aborted ? signal.reason : error;
    });
  }
}

type Outcome<T> = { readonly answer: T } | { readonly error: unknown };

async function tried<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<Outcome<T>> {
  try {
    return { answer: await work() };
  } catch (error) {
    if (signal?.aborted) throw signal.reason;
    return { error };
  }
}

/** Milliseconds until the next try, or null where another would be of no use. */
function pauseAfter(outcome: Outcome<Tried>, attempt: number, limits: RetryLimits): number | null {
  const random = Math.random() * Math.min(limits.longestPauseMs, limits.firstPauseMs * 2 ** (attempt - 1));
  if ('error' in outcome) return isPassing(outcome.error) ? random : null;
  const { refusal, headers } = outcome.answer;
  if (refusal === null || !isBusy(refusal)) return null;
  return Math.max(random, Math.min(limits.longestAskedMs, asked(headers['retry-after'])));
}

const passing = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
]);

const busyStatuses = new Set([408, 429, 500, 502, 503, 504]);
const busyCodes = new Set([
  'SlowDown',
  'RequestTimeout',
  'ServerBusy',
  'OperationTimedOut',
  'InternalError',
  // Two wrote there at once, and neither has.
  'ConditionalRequestConflict',
  'OperationAborted',
  // Bytes bent or lost on the way; they are still here.
  'XAmzContentSHA256Mismatch',
  'BadDigest',
  'IncompleteBody',
]);

const isBusy = ({ status, code }: Refusal): boolean => busyStatuses.has(status) || busyCodes.has(code);

/** Resets, refusals, timeouts and a name not found pass; a bad certificate or an answer that is no HTTP does not. */
function isPassing(error: unknown): boolean {
  return passing.has(systemCode(error));
}

/** `Retry-After` in milliseconds, as seconds or as a date; 0 where there is none. */
function asked(header: string | undefined): number {
  if (header === undefined) return 0;
  const ms = /^\d{1,6}$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now();
  return Number.isFinite(ms) ? Math.max(0, ms) : 0;
}
