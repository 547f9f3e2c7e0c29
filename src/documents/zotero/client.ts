import { z } from 'zod';
import type { Clock } from '../../clock.ts';
import { createFairQueue, toFairLimits } from '../../concurrency/fair-queue.ts';
import { isWorkcrateError, WorkcrateError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { Address } from './address.ts';
import { pause, type Errand } from './errand.ts';
import { unreachable } from './failures.ts';
import { createMemory } from './memory.ts';
import { createPatience } from './patience.ts';
import { tryOnce, type Outcome, type Sending } from './request.ts';

/** As the documentation of the API asks. */
const mostAtOnce = 4;
const tries = 4;
/** Doubles with each try. */
const firstPauseMs = 250;

/** A request for a list. */
export interface Listing {
  /** Within the library, such as `items/top`. */
  readonly path: string;
  readonly params: readonly (readonly [string, string])[];
  /** Whether the answer is worth remembering. */
  readonly remember: boolean;
  /** With this version the answer is null where nothing has changed since. */
  readonly since?: number;
}

export interface Page {
  readonly objects: readonly unknown[];
  /** Of the whole list. */
  readonly total: number | null;
  /** Of the library, as this page shows it. */
  readonly version: number | null;
}

export interface Client {
  readonly address: Address;
  list(listing: Listing, errand: Errand): Promise<Page | null>;
}

export interface ClientOptions {
  readonly address: Address;
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly log: Log;
}

/** Asks the API, at most four times at once, with the patience that it asks for. Only ever reads. */
export function createClient({ address, timeoutMs, clock, log }: ClientOptions): Client {
  const queue = createFairQueue({
    ...toFairLimits(mostAtOnce, false),
    refusals: { busy, cancelled, closed: cancelled },
  });
  const patience = createPatience(clock, log);
  const memory = createMemory();

  async function sendInTurn(sending: Sending, errand: Errand): Promise<Outcome> {
    const leave = await queue.enter({ user: errand.name, signal: errand.signal }).catch((error: unknown) => {
      throw errand.signal.aborted ? errand.signal.reason : error;
    });
    try {
      await patience.wait(errand);
      return await tryOnce(sending, errand);
    } finally {
      leave();
    }
  }

  async function send(sending: Sending, errand: Errand): Promise<Exclude<Outcome, { kind: 'failed' }>> {
    for (let attempt = 1; ; attempt++) {
      const outcome = await sendInTurn(sending, errand);
      const isTold = outcome.headers !== null && patience.heed(outcome.headers);
      if (outcome.kind !== 'failed') return outcome;
      log.info('zotero.failed', { why: outcome.why, attempt });
      // Zotero on this machine does not answer because it does not run.
      if (attempt >= tries || (address.isLocal && outcome.headers === null))
        throw gaveUp(address, outcome.why);
      if (!isTold) await pause(firstPauseMs * 2 ** (attempt - 1) * (0.5 + Math.random() / 2), errand.signal);
    }
  }

  return {
    address,
    async list({ path, params, remember, since }, errand) {
      const url = new URL(`${address.base}/${address.library}/${path}`);
      url.search = new URLSearchParams(params.map(([name, value]) => [name, value])).toString();
      const known = remember ? memory.get(url.href) : null;
      const knownVersion = versionToSend(address, known?.version ?? since ?? null);
      try {
        const outcome = await send({ address, url, knownVersion, timeoutMs }, errand);
        if (outcome.kind === 'unchanged') {
          if (knownVersion === null) throw unreachable('it tells of no change to who knows nothing yet');
          return known && { ...known, objects: parsed(known.text) };
        }
        const { text, headers } = outcome;
        const version = numberOf(headers.get('last-modified-version'));
        const total = numberOf(headers.get('total-results'));
        const objects = parsed(text);
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
const versionToSend = ({ isLocal }: Address, version: number | null): number | null =>
  isLocal || version === 0 ? null : version;

const list = z.array(z.unknown());

function parsed(text: string): unknown[] {
  try {
    return list.parse(JSON.parse(text));
  } catch {
    // No JSON, or no list.
    throw unreachable('its answer is not what the Zotero API gives');
  }
}

function numberOf(header: string | null): number | null {
  return header !== null && /^\d{1,15}$/.test(header) ? Number(header) : null;
}

function gaveUp({ isLocal }: Address, why: string): WorkcrateError {
  return unreachable(isLocal ? `${why}; see whether Zotero runs on this machine` : why);
}

const busy = (): WorkcrateError =>
  new WorkcrateError('documents_busy', 'Too many requests to the Zotero library wait. Try again in a while.');

const cancelled = (): WorkcrateError => new WorkcrateError('cancelled', 'The request was cancelled.');
