import type { IncomingHttpHeaders } from 'node:http';
import type { Bucket } from './bucket.ts';
import { refused } from './refusals.ts';

/** What a store says of an object before its bytes. */
export interface Head {
  readonly size: number;
  readonly modified: number;
  readonly etag: string;
  /** When it was asked for, by the store's clock. */
  readonly asked: number;
  /** What we wrote beside it, see `noted`. */
  readonly note: string | null;
}

const noteHeader = 'x-amz-meta-workcrate';

/** A note that is kept with an object; plain ASCII, below 2 kB. */
export const noted = (note: string): Record<string, string> => ({ [noteHeader]: note });

/** How often HEAD may be refused although GET is not, as of an empty object that is just made. */
const rounds = 3;

/** Null where there is none. The answer to HEAD has no body, so a refusal is asked for again by GET, for its reason. */
export async function headOf(bucket: Bucket, name: string, signal?: AbortSignal): Promise<Head | null> {
  for (let left = rounds; ; left--) {
    const { refusal, headers } = await bucket.ask({ method: 'HEAD', name }, signal);
    if (refusal === null) return headIn(headers);
    const again = await bucket.ask({ method: 'GET', name, headers: { Range: 'bytes=0-0' } }, signal);
    if (again.refusal === null) return { ...headIn(again.headers), size: totalOf(again.headers) };
    if (isAbsent(again.refusal)) return null;
    if (again.refusal.code !== 'InvalidRange' || left === 1) throw refused(bucket, again.refusal);
  }
}

const totalOf = (headers: IncomingHttpHeaders): number => Number(headers['content-range']?.split('/')[1]);

/** A missing bucket is a 404 as well, but no absence. */
export const isAbsent = ({ status, code }: { status: number; code: string }): boolean =>
  status === 404 && (code === 'NoSuchKey' || code === '');

export function headIn(headers: IncomingHttpHeaders): Head {
  const note = headers[noteHeader];
  return {
    size: Number(headers['content-length'] ?? 0),
    modified: Date.parse(headers['last-modified'] ?? '') || 0,
    etag: headers.etag ?? '',
    asked: Date.parse(headers.date ?? '') || Date.now(),
    note: typeof note === 'string' ? note : null,
  };
}
