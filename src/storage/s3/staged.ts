import { randomBytes } from 'node:crypto';
import { WorkcrateError } from '../../errors.ts';
import type { StreamedAnswer } from '../remote/remote.ts';
import type { Bucket } from './bucket.ts';
import { headIn, headOf, isAbsent, noted } from './heads.ts';
import { demand, refused } from './refusals.ts';
import { stagedIn, type Staged } from './state.ts';
import { etagOf } from './multipart.ts';

/** What follows the parts is less than one, and none is of more than 1 GB. */
const longestTail = 1024 ** 3;

export interface Found {
  readonly staged: Staged;
  /** How many bytes follow the parts. */
  readonly tailBytes: number;
}

export const fresh = (): Staged => ({
  mark: randomBytes(16).toString('hex'),
  multipart: null,
  parts: 0,
  partBytes: 0,
});

export const sizeOf = (found: Found | null): number =>
  found === null ? 0 : found.staged.partBytes + found.tailBytes;

/** Null where nothing is staged. */
export async function peek(bucket: Bucket, name: string): Promise<Found | null> {
  const head = await headOf(bucket, name);
  return head === null ? null : foundIn(bucket, name, head);
}

/** How often the bytes after the parts are asked for again when they break off. */
const loads = 4;

/** With the bytes that follow the parts. */
export async function load(
  bucket: Bucket,
  name: string,
): Promise<{ found: Found; tail: Buffer<ArrayBuffer> } | null> {
  for (let left = loads; ; left--) {
    const answer = await bucket.stream({ method: 'GET', name });
    if (answer.refusal !== null) {
      if (isAbsent(answer.refusal)) return null;
      throw refused(bucket, answer.refusal);
    }
    const found = foundInAnswer(bucket, name, answer);
    const tail = Buffer.allocUnsafeSlow(found.tailBytes);
    const failure = await fill(tail, answer.body);
    if (failure === null) return { found, tail };
    if (left === 1) throw bucket.broken(failure);
  }
}

/** Null once it is full; else why it is not. */
async function fill(buffer: Buffer, bytes: AsyncIterable<Uint8Array>): Promise<unknown> {
  let at = 0;
  try {
    for await (const chunk of bytes) {
      buffer.set(chunk, at);
      at += chunk.length;
    }
  } catch (error) {
    return error;
  }
  return at === buffer.length ? null : new Error('the body is shorter than was said');
}

export async function save(
  bucket: Bucket,
  name: string,
  staged: Staged,
  tail: Uint8Array,
  sha256?: string,
): Promise<void> {
  const headers = noted(asAscii(JSON.stringify(staged)));
  const hash = sha256 === undefined ? {} : { sha256 };
  const answer = await bucket.ask({ method: 'PUT', name, headers, body: tail, ...hash });
  etagOf(demand(bucket, answer).headers.etag);
}

/** A header takes no more; the prefix of the names may hold more. */
const asAscii = (json: string): string =>
  json.replaceAll(/[^ -~]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** A body that is not wanted would hold its connection. */
function foundInAnswer(bucket: Bucket, name: string, { headers, body }: StreamedAnswer): Found {
  try {
    return foundIn(bucket, name, headIn(headers));
  } catch (error) {
    body.destroy();
    throw error;
  }
}

function foundIn(bucket: Bucket, name: string, { note, size }: { note: string | null; size: number }): Found {
  const staged = stagedIn(bucket, name, note);
  if (staged !== null && size <= longestTail) return { staged, tailBytes: size };
  throw new WorkcrateError(
    'storage_failed',
    'An object below staging/ is damaged or was not written by Workcrate. Discard the upload or remove the object, ' +
      'and send the file again; if it belongs to somebody else, set another --s3-prefix.',
    { cause: new Error(`${name}, with ${size} bytes, is no state of an upload`) },
  );
}
