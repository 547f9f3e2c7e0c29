import { BoundedMap } from '../concurrency/bounded-map.ts';
import type { Served } from '../links/download-route.ts';
import { isWhole, joinRanges, type ByteRange, type Download } from '../links/links.ts';
import type { Link } from '../links/link.ts';
import type { Audit } from './audit.ts';

/** What was asked for piece by piece, until it is told. */
interface Gathered {
  readonly link: Link;
  readonly download: Download;
  readonly isHandedOver: boolean;
  readonly timer: NodeJS.Timeout;
  stretches: ByteRange[];
  bytes: number;
  requests: number;
}

/** A film or a PDF is fetched by many small ranges; they are one line for each link in such a span. */
const gatherMs = 10_000;
/** More are told at once, the oldest first: memory stays bounded. */
const mostGathered = 1000;
const mostStretches = 100;

/**
 * A line for whatever was given out by a link. All of a file in one answer is told at once, pieces when they make up
 * the whole or their span is over. Whoever fetches is known by the link alone.
 */
export function auditedDownloads(audit: Audit) {
  const gathering = new BoundedMap<string, Gathered>({ mostEntries: mostGathered, onEvict: tell });

  function begin(which: string, link: Link, download: Download, isHandedOver: boolean): Gathered {
    const timer = setTimeout(() => end(which), gatherMs).unref();
    const begun = { link, download, isHandedOver, timer, stretches: [], bytes: 0, requests: 0 };
    gathering.set(which, begun);
    return begun;
  }

  function end(which: string): void {
    const gathered = gathering.get(which)!;
    gathering.delete(which);
    tell(gathered);
  }

  function tell(gathered: Gathered): void {
    clearTimeout(gathered.timer);
    noteGathered(audit, gathered);
  }

  return {
    served(link: Link, download: Download, served: Served): void {
      const { stretches, bytes, isHandedOver, failure } = served;
      if (failure !== null) return noteFailed(audit, link, download, failure);
      if (isWhole(stretches, download.size)) return noteWhole(audit, link, download, served);
      const which = `${link.id} ${isHandedOver}`;
      const gathered = gathering.get(which) ?? begin(which, link, download, isHandedOver);
      gathered.stretches = joinRanges([...gathered.stretches, ...stretches]);
      gathered.bytes += bytes;
      gathered.requests++;
      const isDone = isWhole(gathered.stretches, download.size);
      if (isDone || gathered.stretches.length > mostStretches) end(which);
    },
    /** Tells what is still being gathered. */
    [Symbol.dispose](): void {
      gathering.evictAll();
    },
  };
}

function eventOf({ owner }: Link, { filename }: Download) {
  return { level: 'trace', operation: 'download', user: owner, client: null, subject: filename } as const;
}

function noteWhole(audit: Audit, link: Link, download: Download, { bytes, isHandedOver }: Served): void {
  audit.noteSoon({
    ...eventOf(link, download),
    result: isHandedOver ? 'handed_over' : 'ok',
    details: { link: link.id, bytes, size: download.size, whole: true },
  });
}

function noteGathered(audit: Audit, gathered: Gathered): void {
  const { link, download, isHandedOver, stretches, bytes, requests } = gathered;
  const whole = isWhole(stretches, download.size);
  audit.noteSoon({
    ...eventOf(link, download),
    result: isHandedOver ? 'handed_over' : whole ? 'ok' : 'partial',
    details: {
      link: link.id,
      bytes,
      size: download.size,
      whole,
      from: stretches[0]?.start ?? null,
      to: stretches.at(-1)?.end ?? null,
      requests,
    },
  });
}

/** How much had gone out by then is not known. */
function noteFailed(audit: Audit, link: Link, download: Download, failure: string): void {
  audit.noteSoon({
    ...eventOf(link, download),
    level: 'info',
    result: failure,
    details: { link: link.id, bytes: null, size: download.size, whole: false },
  });
}
