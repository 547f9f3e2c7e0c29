import type { Clock } from '../../clock.ts';
import type { Log } from '../../log.ts';
import { addressOf, type AddressOptions } from './address.ts';
import { bibtexOf } from './bibtex.ts';
import { choosing } from './choosing.ts';
import { createClient } from './client.ts';
import { readCollections } from './collections.ts';
import { cslOf } from './csl.ts';
import { runErrand, type Errand } from './errand.ts';
import type { Library } from './library.ts';
import { searchItems } from './search.ts';

export interface ZoteroOptions extends AddressOptions {
  /** Of one request; a call with all its requests and pauses may take four times as long. */
  readonly timeoutMs?: number;
  readonly clock: Clock;
  readonly log: Log;
}

const usualTimeoutMs = 15_000;
const timeoutsInAll = 4;

/** A Zotero library, by the web API (version 3) or by a Zotero on this machine. Nothing is asked before it is used. */
export function openZotero({ timeoutMs = usualTimeoutMs, clock, log, ...given }: ZoteroOptions): Library {
  const address = addressOf(given);
  const client = createClient({ address, timeoutMs, clock, log });
  const choose = choosing(client, clock);
  const limits = { totalMs: timeoutMs * timeoutsInAll, clock };
  const run = <T>(signal: AbortSignal, work: (errand: Errand) => Promise<T>): Promise<T> =>
    runErrand(limits, signal, work);

  return {
    name: address.library,
    search: (query, signal) => run(signal, (errand) => searchItems(client, query, errand)),
    collections: (signal) => run(signal, (errand) => readCollections(client, errand)),
    references: (wanted, signal) =>
      run(signal, (errand) => choose(wanted, 'csljson', (item, id) => cslOf(item.csljson, id), errand)),
    bibtex: (wanted, signal) =>
      run(signal, (errand) =>
        choose(wanted, 'bibtex', (item, id) => bibtexOf(item.bibtex, id, item.key), errand),
      ),
  };
}
