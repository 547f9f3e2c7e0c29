import { randomBytes } from 'node:crypto';
import { WorkcrateError } from '../../../platform/errors.ts';
import { sendParts, type UploadPart, type UploadParts, type StreamedAnswer } from '../remote/remote.ts';
import {
  checkNoRefusal,
  parseS3Head,
  headS3Object,
  isAbsentS3Object,
  toNoteHeader,
  s3RefusedError,
  type Bucket,
} from './client.ts';
import {
  beginMultipart,
  checkEtag,
  maxS3Parts,
  sendPart,
  parseStagedState,
  type Multipart,
  type SentPart,
  type S3StagedState,
} from './multipart.ts';

/** The tail is less than a part, and no part is larger than 1 GB. */
const maxTailBytes = 1024 ** 3;

export interface FoundStaged {
  readonly staged: S3StagedState;
  /** How many bytes follow the parts. */
  readonly tailBytes: number;
}

export const createStagedState = (): S3StagedState => ({
  mark: randomBytes(16).toString('hex'),
  multipart: null,
  parts: 0,
  partBytes: 0,
});

export const getStagedSize = (found: FoundStaged | null): number =>
  found === null ? 0 : found.staged.partBytes + found.tailBytes;

/** Null if nothing is staged. */
export async function peekStaged(bucket: Bucket, name: string): Promise<FoundStaged | null> {
  const head = await headS3Object(bucket, name);
  return head === null ? null : parseFoundStaged(bucket, name, head);
}

/** How often the tail is requested if the connection breaks. */
const maxLoads = 4;

/** With the bytes that follow the parts. */
export async function loadStagedUpload(
  bucket: Bucket,
  name: string,
): Promise<{ found: FoundStaged; tail: Buffer<ArrayBuffer> } | null> {
  for (let left = maxLoads; ; left--) {
    const answer = await bucket.stream({ method: 'GET', name });
    if (answer.refusal !== null) {
      if (isAbsentS3Object(answer.refusal)) return null;
      throw s3RefusedError(bucket, answer.refusal);
    }
    const found = readFoundStaged(bucket, name, answer);
    const tail = Buffer.allocUnsafeSlow(found.tailBytes);
    const failure = await fillTail(tail, answer.body);
    if (failure === null) return { found, tail };
    if (left === 1) throw bucket.broken(failure);
  }
}

/** Null if it is full; else why not. */
async function fillTail(buffer: Buffer, bytes: AsyncIterable<Uint8Array>): Promise<unknown> {
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

export async function saveStagedState(
  bucket: Bucket,
  name: string,
  staged: S3StagedState,
  tail: Uint8Array,
  sha256?: string,
): Promise<void> {
  const headers = toNoteHeader(escapeToAscii(JSON.stringify(staged)));
  const hash = sha256 === undefined ? {} : { sha256 };
  const answer = await bucket.ask({ method: 'PUT', name, headers, body: tail, ...hash });
  checkEtag(checkNoRefusal(bucket, answer).headers.etag);
}

/** A header has only ASCII; the prefix of the names may have more. */
const escapeToAscii = (json: string): string =>
  json.replaceAll(/[^ -~]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** A body that nobody reads would occupy its connection. */
function readFoundStaged(bucket: Bucket, name: string, { headers, body }: StreamedAnswer): FoundStaged {
  try {
    return parseFoundStaged(bucket, name, parseS3Head(headers));
  } catch (error) {
    body.destroy();
    throw error;
  }
}

function parseFoundStaged(
  bucket: Bucket,
  name: string,
  { note, size }: { note: string | null; size: number },
): FoundStaged {
  const staged = parseStagedState(bucket, name, note);
  if (staged !== null && size <= maxTailBytes) return { staged, tailBytes: size };
  throw new WorkcrateError(
    'storage_failed',
    'An object below staging/ is damaged or was not written by Workcrate. Discard the upload or remove the object, ' +
      'and send the file again; if it belongs to somebody else, set another --s3-prefix.',
    { cause: new Error(`${name}, with ${size} bytes, is no state of an upload`) },
  );
}

/** How many parts a crash during an append loses at most; saving the state costs a small request. */
const maxUnsavedParts = 8;
const noTail: KeptTail = { bytes: new Uint8Array() };

type KeptTail = Pick<UploadPart, 'bytes'> & Partial<UploadPart>;

/** Where the bytes go: the object of the state, and the object that the parts are to become. */
export interface Destination {
  readonly stateName: string;
  readonly targetName: string;
}

/**
 * Sends whole parts, and keeps the rest in the state. A part counts once all before it have arrived, and what was durable
 * stays durable: the bytes of `tail`, with which the first part begins, are in the state until that part has arrived.
 * Whatever ends it, what came before is made durable; if that fails, that failure is thrown.
 */
export async function writeParts(
  bucket: Bucket,
  { stateName, targetName }: Destination,
  before: S3StagedState,
  tail: Uint8Array,
  parts: UploadParts,
): Promise<number> {
  let [staged, saved] = [before, before];
  let { parts: number } = before;
  // What follows the parts that are being sent.
  let rest: KeptTail = { bytes: tail };
  let begun: Promise<Multipart> | null = before.multipart && Promise.resolve(before.multipart);

  const keep = async ({ bytes, digest }: KeptTail): Promise<void> => {
    await saveStagedState(bucket, stateName, staged, bytes, digest?.toString('hex'));
    saved = staged;
  };

  const begin = async (): Promise<Multipart> => {
    const multipart = await beginMultipart(bucket, targetName, staged.mark);
    staged = { ...staged, multipart };
    await keep({ bytes: tail });
    return multipart;
  };

  async function* whole(): AsyncGenerator<UploadPart> {
    for await (const part of parts.all) {
      const isWhole = part.bytes.length >= bucket.options.partBytes;
      if (isWhole) yield part;
      rest = isWhole ? noTail : part;
    }
  }

  const send = async ({ bytes, digest }: UploadPart): Promise<SentPart> => {
    const own = ++number;
    return sendPart(bucket, await (begun ??= begin()), own, bytes, digest.toString('hex'));
  };

  const arrived = async ({ number, size }: SentPart): Promise<void> => {
    staged = { ...staged, parts: number, partBytes: staged.partBytes + size };
    if (staged.parts - saved.parts >= maxUnsavedParts) await keep(noTail);
  };

  // One is left for the rest, which becomes a part in the end.
  const sender = { send, arrived, count: before.parts, most: maxS3Parts - 1 };
  const failure = await sendParts({ ...parts, all: whole() }, sender);
  if (failure?.isInStore) {
    if (staged.parts > saved.parts) await keep(noTail).catch(() => {});
    throw failure.error;
  }
  const isAsBefore = staged === before && rest.bytes.length === tail.length;
  if (!isAsBefore || before.parts + tail.length === 0) await keep(rest);
  if (failure !== null) throw failure.error;
  return staged.partBytes + rest.bytes.length;
}
