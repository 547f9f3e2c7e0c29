import { openRemote, type Opened, type Range, type StreamedAnswer } from '../remote/remote.ts';
import type { OpenObject } from '../storage.ts';
import type { Bucket } from './bucket.ts';
import { headOf } from './heads.ts';
import { demand } from './refusals.ts';

export async function openObject(bucket: Bucket, name: string): Promise<OpenObject | null> {
  const head = await headOf(bucket, name);
  if (head === null) return null;
  const getRange = (opened: Opened, range: Range, signal?: AbortSignal) =>
    askRange(bucket, opened, range, signal);
  return openRemote({ getRange, broken: bucket.broken }, { name, etag: head.etag, size: head.size });
}

export async function askRange(
  bucket: Bucket,
  { name, etag }: Opened,
  { start, end }: Range,
  signal?: AbortSignal,
): Promise<StreamedAnswer | null> {
  const headers = { Range: `bytes=${start}-${end - 1}`, 'If-Match': etag };
  const answer = await bucket.stream({ method: 'GET', name, headers }, signal);
  return [404, 412].includes(answer.refusal?.status ?? 0) ? null : demand(bucket, answer);
}
