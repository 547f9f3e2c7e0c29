import type { IncomingHttpHeaders } from 'node:http';
import type { Clock } from '../clock.ts';
import type { Log } from '../log.ts';
import type { Storage } from '../storage/storage.ts';
import { createAccel } from './accel.ts';
import type { DownloadPlan } from './download-plan.ts';
import type { Download } from './download.ts';
import type { Link } from './link.ts';
import { createRedirect } from './redirect.ts';

/** An answer without a body, which has others send the bytes. */
export interface Handed {
  readonly status: 200 | 302;
  readonly headers: Record<string, string | number>;
}

export interface Asked {
  readonly headers: IncomingHttpHeaders;
  readonly link: Link;
  readonly download: Download;
  readonly plan: DownloadPlan;
}

/** Null where the bytes have to be sent from here. */
export type HandOver = (asked: Asked) => Promise<Handed | null>;

export interface HandOverOptions {
  readonly downloads: 'stream' | 'redirect' | 'accel';
  /** The smallest file that is handed over. */
  readonly from: number;
  readonly accelPrefix: string;
  /** Whether somebody is told of complete downloads: only who sends the last byte knows of them. */
  readonly reportsEnds: boolean;
  readonly storage: Storage;
  readonly clock: Clock;
  readonly log: Log;
}

/** How downloads leave this process before their first byte; null where all are streamed. */
export async function createHandOver(options: HandOverOptions): Promise<HandOver | null> {
  const { downloads, from } = options;
  if (downloads === 'stream') return null;
  const way =
    downloads === 'accel'
      ? createAccel(options.storage, options.accelPrefix)
      : await createRedirect(options.storage, options.clock);
  if (options.reportsEnds) {
    options.log.warn('downloads.streamed', {
      reason: `--downloads ${downloads} cannot report ends to a webhook`,
    });
    return null;
  }
  return async (asked) => (asked.download.size < from || !isPlain(asked) ? null : way(asked));
}

/** The other side has an ETag and a date of its own, and would judge conditions by those. */
const conditions = ['if-match', 'if-none-match', 'if-modified-since', 'if-unmodified-since'];

function isPlain({ headers, link, plan }: Asked): boolean {
  if (link.singleUse || (plan.status !== 200 && plan.status !== 206)) return false;
  return conditions.every((name) => headers[name] === undefined);
}
