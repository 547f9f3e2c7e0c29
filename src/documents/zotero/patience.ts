import type { Clock } from '../../clock.ts';
import type { Log } from '../../log.ts';
import type { FetchHeaders } from '../../net/bounded-fetch.ts';
import { pause, type Errand } from './errand.ts';
import { unreachable } from './failures.ts';

/** No header can have us stay away for longer. */
const longestMs = 3_600_000;

/** How long the library wants to be left alone, by all errands alike. */
export interface Patience {
  /** Takes `Backoff`, which any answer may have, and `Retry-After`. True where the latter says when to come back. */
  heed(headers: FetchHeaders): boolean;
  /** Waits until requests are welcome; `library_unreachable` where that is later than the errand may take. */
  wait(errand: Errand): Promise<void>;
}

export function createPatience(clock: Clock, log: Log): Patience {
  let until = 0;

  function stayAway(ms: number): void {
    if (clock() + ms <= until) return;
    until = clock() + ms;
    log.info('zotero.paused', { seconds: Math.ceil(ms / 1000) });
  }

  return {
    heed(headers) {
      const backoff = asked(headers.get('backoff'), clock);
      const retryAfter = asked(headers.get('retry-after'), clock);
      stayAway(Math.max(backoff ?? 0, retryAfter ?? 0));
      return retryAfter !== null;
    },
    async wait({ signal, endsAt }) {
      for (let ms = until - clock(); ms > 0; ms = until - clock()) {
        if (until > endsAt) throw unreachable('it asks to be left alone for a while', Math.ceil(ms / 1000));
        await pause(ms, signal);
      }
    },
  };
}

/** Milliseconds, from seconds or from a date; null where nothing was said that makes sense. */
function asked(header: string | null, clock: Clock): number | null {
  if (header === null) return null;
  const ms = /^\d{1,9}$/.test(header) ? Number(header) * 1000 : Date.parse(header) - clock();
  return Number.isFinite(ms) ? Math.min(longestMs, Math.max(0, ms)) : null;
}
