import { BoundedMap } from '../concurrency/bounded-map.ts';
import { etagOf } from './download-headers.ts';
import { damaged, type Download } from './download.ts';
import type { Link } from './link.ts';

const mostKnown = 1000;

/**
 * Remembers which downloads were broken off because their bytes were wrong. A client that is cut off asks for the
 * rest, which cannot be checked by itself: it would take what it then has for the whole.
 */
export function createDamage() {
  const known = new BoundedMap<string, true>({ mostEntries: mostKnown });
  const keyOf = ({ target }: Link, download: Download): string => `${etagOf(download)} ${target}`;
  return {
    note(link: Link, download: Download): void {
      known.set(keyOf(link, download), true);
    },
    /** Rejects with `zip_damaged` until there are other bytes. */
    demandNone(link: Link, download: Download): void {
      if (link.target !== null && known.has(keyOf(link, download))) throw damaged();
    },
  };
}
