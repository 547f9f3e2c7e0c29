import { etagOf } from './download-headers.ts';
import { damaged, type Download } from './download.ts';
import type { Link } from './link.ts';

const mostKnown = 1000;

/**
 * Remembers which downloads were broken off because their bytes were wrong. A client that is cut off asks for the
 * rest, which cannot be checked by itself: it would take what it then has for the whole.
 */
export function createDamage() {
  const known = new Set<string>();
  const keyOf = ({ target }: Link, download: Download): string => `${etagOf(download)} ${target}`;
  return {
    note(link: Link, download: Download): void {
      const [oldest] = known;
      if (known.size >= mostKnown) known.delete(oldest!);
      known.add(keyOf(link, download));
    },
    /** Rejects with `zip_damaged` until there are other bytes. */
    demandNone(link: Link, download: Download): void {
      if (link.target !== null && known.has(keyOf(link, download))) throw damaged();
    },
  };
}
