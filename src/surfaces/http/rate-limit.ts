/**
 * The rate limit for guesses: an address that has sent too many unknown tokens or keys in a minute has to wait. Requests with
 * a good token are never limited, and counts are kept in memory, by each process for itself.
 */
import type { Clock } from '../../platform/clock.ts';
import { WorkcrateError } from '../../platform/errors.ts';

const windowMs = 60_000;
/** After this many addresses the counts start over, so that memory stays bounded. */
const maxLimitedAddresses = 10_000;

/** Limits guesses of tokens and keys: after this many unknown ones in a minute, an address has to wait. */
export function createGuessRateLimit(perMinute: number, clock: Clock) {
  let misses = new Map<string, number>();
  let windowStart = clock();

  function roll(): void {
    if (clock() - windowStart < windowMs && misses.size < maxLimitedAddresses) return;
    misses = new Map();
    windowStart = clock();
  }

  return {
    /** Throws `too_many_requests` for an address that has to wait. */
    check(address: string): void {
      roll();
      if ((misses.get(address) ?? 0) < perMinute) return;
      const retryAfter = Math.max(1, Math.ceil((windowStart + windowMs - clock()) / 1000));
      throw new WorkcrateError(
        'too_many_requests',
        `Too many unknown links or keys from this address. Try again in ${retryAfter} s.`,
        { details: { retryAfter } },
      );
    },
    miss(address: string): void {
      misses.set(address, (misses.get(address) ?? 0) + 1);
    },
  };
}

export type GuessRateLimit = ReturnType<typeof createGuessRateLimit>;
