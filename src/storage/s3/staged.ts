import { randomBytes } from 'node:crypto';
import { WorkcrateError } from '../../errors.ts';
import type { Bucket } from './bucket.ts';
import { headIn, headOf, isAbsent, noted } from './heads.ts';
import type { Multipart } from './multipart.ts';
import { demand, refused } from './refusals.ts';

/**
 * What is known of an upload that is on its way. It stands in one small object: this in its metadata, and in its body
 * the bytes that follow the parts, too few to be a part. So whoever knows the id can go on with it, and a file below
 * the size of a part is there with a single request.
 */
export interface Staged {
  /** Tells the object made of it from every other. */
  readonly mark: string;
  /** Begun with the first whole part; null before. */
  readonly multipart: Multipart | null;
  /** How many parts count, and how long they are together. What the store may hold beyond them does not. */
  readonly parts: number;
  readonly partBytes: number;
}

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
  return head === null ? null : foundIn(head);
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
    const found = foundIn(headIn(answer.headers));
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
  demand(bucket, await bucket.ask({ method: 'PUT', name, headers, body: tail, ...hash }));
}

/** A header takes no more; the prefix of the names may hold more. */
const asAscii = (json: string): string =>
  json.replaceAll(/[^ -~]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);

export function foundIn({ note, size }: { note: string | null; size: number }): Found {
  try {
    return { staged: JSON.parse(note ?? '') as Staged, tailBytes: size };
  } catch (error) {
    const message =
      'An object below staging/ was not written by Workcrate. Move it away, or set another --s3-prefix.';
    throw new WorkcrateError('storage_failed', message, { cause: error });
  }
}
