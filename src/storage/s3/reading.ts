import { WorkcrateError } from '../../errors.ts';
import type { StreamedAnswer } from '../remote/remote.ts';
import type { OpenObject } from '../storage.ts';
import type { Bucket } from './bucket.ts';
import { headOf } from './heads.ts';
import { refused } from './refusals.ts';

/** How often in a row a body may break off before it has given this much. */
const breaks = 5;
const progressBytes = 1024 * 1024;

/** Nothing is held but the ETag: every read asks for the object that was opened, and fails if it is another. */
export async function openObject(bucket: Bucket, name: string): Promise<OpenObject | null> {
  const head = await headOf(bucket, name);
  if (head === null) return null;
  return {
    size: head.size,
    descriptor: null,
    read: (start, end, signal) =>
      readRange(bucket, { name, etag: head.etag, size: head.size }, start, end, signal),
    [Symbol.asyncDispose]: async () => {},
  };
}

interface Opened {
  readonly name: string;
  readonly etag: string;
  readonly size: number;
}

/** A body that breaks off is gone on with from the byte that it had reached. */
async function* readRange(
  bucket: Bucket,
  opened: Opened,
  start: number,
  end: number,
  signal?: AbortSignal,
): AsyncGenerator<Uint8Array> {
  for (let at = start, left = breaks; at < end;) {
    const from = at;
    const answer = await askRange(bucket, opened, at, end, signal);
    let failure: unknown = new Error('the body is shorter than was said');
    try {
      for await (const chunk of answer.body as AsyncIterable<Uint8Array>) {
        at += chunk.length;
        if (at > end) throw tooMuch();
        yield chunk;
      }
    } catch (error) {
      if (error instanceof WorkcrateError) throw error;
      failure = error;
    } finally {
      answer.body.destroy();
    }
    signal?.throwIfAborted();
    left = at - from >= progressBytes ? breaks : left - 1;
    if (at < end && left === 0) throw bucket.broken(failure);
  }
}

async function askRange(
  bucket: Bucket,
  { name, etag, size }: Opened,
  start: number,
  end: number,
  signal?: AbortSignal,
): Promise<StreamedAnswer> {
  const headers = { Range: `bytes=${start}-${end - 1}`, 'If-Match': etag };
  const answer = await bucket.stream({ method: 'GET', name, headers }, signal);
  if (answer.refusal !== null)
    throw [404, 412].includes(answer.refusal.status) ? gone() : refused(bucket, answer.refusal);
  if (answer.headers['content-range'] === `bytes ${start}-${end - 1}/${size}`) return answer;
  answer.body.destroy();
  throw new WorkcrateError(
    'storage_failed',
    'The store answered with another range than it was asked for. See its log.',
  );
}

const gone = (): WorkcrateError =>
  new WorkcrateError('storage_failed', 'The object was removed while it was read.');

const tooMuch = (): WorkcrateError =>
  new WorkcrateError('storage_failed', 'The store sent more bytes than it was asked for. See its log.');
