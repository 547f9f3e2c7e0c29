import type { Clock } from '../../clock.ts';
import type { Client } from './client.ts';
import type { Errand } from './errand.ts';
import { citationKeyOf, itemsOf } from './items.ts';
import { regularItems } from './listings.ts';
import { readPages } from './pages.ts';

/** A Zotero on this machine does not tell reliably what has changed; for so long what was read is taken as it is. */
const freshMs = 30_000;
const mostCandidates = 5;

interface Known {
  /** Items by key, with what they are cited by. Those that were deleted since stay; the library will not give them. */
  readonly keys: Map<string, string>;
  readonly version: number | null;
  readonly readAt: number;
  readonly isComplete: boolean;
}

export interface CitationKeys {
  /** Which items have these citation keys: usually one each, rarely several or none. */
  find(wanted: readonly string[], errand: Errand): Promise<CitedItems>;
}

export interface CitedItems {
  readonly items: ReadonlyMap<string, readonly string[]>;
  /** False where the library is larger than we read. */
  readonly isComplete: boolean;
}

/** The API cannot be asked for a citation key: all items are read once, and then those that have changed. */
export function createCitationKeys(client: Client, clock: Clock): CitationKeys {
  let known: Known | null = null;

  /** Several errands may read at once; each leaves what it read, and all of it is right. */
  async function read(before: Known | null, errand: Errand): Promise<Known> {
    const since = client.address.isLocal ? null : (before?.version ?? null);
    const pages = await readPages(client, listingSince(client, since), keysOf, errand);
    if (pages === null) return before!;
    const keys = new Map(since === null ? [] : before!.keys);
    for (const [item, key] of pages.taken) {
      if (key === null) keys.delete(item);
      else keys.set(item, key);
    }
    const isComplete = pages.isComplete && (since === null || before!.isComplete);
    return { keys, version: pages.version, readAt: clock(), isComplete };
  }

  const isFresh = ({ readAt }: Known): boolean => client.address.isLocal && clock() - readAt < freshMs;

  return {
    async find(wanted, errand) {
      if (known !== null && isFresh(known)) {
        const found = among(known, wanted);
        if (found.items.size === new Set(wanted).size) return found;
      }
      known = await read(known, errand);
      return among(known, wanted);
    },
  };
}

function listingSince(client: Client, since: number | null) {
  const { path, params } = regularItems(client, null);
  // Version 0 is that of a library that was never synchronised, and says nothing.
  if (since === null || since === 0) return { path, params, remember: false };
  return { path, params: [...params, ['since', String(since)] as const], remember: false, since };
}

const keysOf = (objects: readonly unknown[]): (readonly [string, string | null])[] =>
  itemsOf(objects).map((item) => [item.key, citationKeyOf(item)]);

function among({ keys, isComplete }: Known, wanted: readonly string[]): CitedItems {
  const items = new Map<string, string[]>();
  const asked = new Set(wanted);
  for (const [item, key] of keys) {
    if (!asked.has(key)) continue;
    const candidates = items.get(key) ?? [];
    if (candidates.length < mostCandidates) items.set(key, [...candidates, item]);
  }
  return { items, isComplete };
}
