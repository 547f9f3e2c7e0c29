import { z } from 'zod';
import { WorkcrateError } from '../../../platform/errors.ts';
import { findElements, findElementText } from '../../../platform/net/xml.ts';
import { checkDocument, createObjectNames, type WholeAnswer } from '../remote/remote.ts';
import { checkNoRefusal, toNoteHeader, type Bucket } from './client.ts';

/** A multipart upload that the store has begun. */
export interface Multipart {
  /** The whole name of the object that it will be. */
  readonly name: string;
  readonly upload: string;
}

export interface SentPart {
  readonly number: number;
  readonly etag: string;
  readonly size: number;
}

/** The maximum of the store. */
export const maxS3Parts = 10_000;

/**
 * The store may take long to copy and to assemble parts, and sends blanks meanwhile. After this time we give up: a lock
 * must not be kept for longer than others wait for it.
 */
const maxCompletionMs = 5 * 60_000;

export async function beginMultipart(bucket: Bucket, name: string, note: string): Promise<Multipart> {
  const request = { method: 'POST', name, query: { uploads: '' }, headers: toNoteHeader(note) } as const;
  const { text } = checkNoRefusal(bucket, await bucket.ask(request));
  const upload = findElementText(checkDocument(text, 'InitiateMultipartUploadResult'), 'UploadId');
  if (!upload) throw new WorkcrateError('storage_failed', 'The store began an upload without an id.');
  return { name, upload };
}

export async function sendPart(
  bucket: Bucket,
  { name, upload }: Multipart,
  number: number,
  body: Uint8Array,
  sha256?: string,
): Promise<SentPart> {
  const query = { partNumber: `${number}`, uploadId: upload };
  const hash = sha256 === undefined ? {} : { sha256 };
  const answer = await bucket.ask({ method: 'PUT', name, query, body, ...hash });
  return { number, etag: checkEtag(checkNoRefusal(bucket, answer).headers.etag), size: body.length };
}

/** A store answers with an ETag when it takes bytes; without one, it was not the store that answered. */
export function checkEtag(given: string | null | undefined): string {
  if (given) return given;
  throw new WorkcrateError(
    'storage_failed',
    'The store took bytes without an ETag. Check its address, and any proxy in between.',
  );
}

/** Has the store itself copy bytes of another object into a part. */
export async function copyPart(
  bucket: Bucket,
  { name, upload }: Multipart,
  number: number,
  source: { readonly name: string; readonly start: number; readonly end: number },
): Promise<SentPart> {
  const query = { partNumber: `${number}`, uploadId: upload };
  const path = `/${bucket.options.bucket}/${source.name}`.split('/').map(encodeURIComponent).join('/');
  const headers = {
    'x-amz-copy-source': path,
    'x-amz-copy-source-range': `bytes=${source.start}-${source.end - 1}`,
  };
  const request = { method: 'PUT', name, query, headers, longestMs: maxCompletionMs } as const;
  const answer = checkNoRefusal(bucket, await bucket.ask(request));
  const etag = checkEtag(findElementText(checkDocument(answer.text, 'CopyPartResult'), 'ETag'));
  return { number, etag, size: source.end - source.start };
}

/** The first `count` parts that the store has, in order; null if the upload does not exist any more. */
export async function listUploadedParts(
  bucket: Bucket,
  { name, upload }: Multipart,
  count: number,
): Promise<SentPart[] | null> {
  const parts: SentPart[] = [];
  while (parts.length < count) {
    const query = { uploadId: upload, 'part-number-marker': `${parts.length}`, 'max-parts': '1000' };
    const answer = await bucket.ask({ method: 'GET', name, query });
    if (isUploadGone(answer)) return null;
    const page = findElements(
      checkDocument(checkNoRefusal(bucket, answer).text, 'ListPartsResult'),
      'Part',
    ).map(parseListedPart);
    parts.push(...page.slice(0, count - parts.length));
    if (page.length === 0) break;
  }
  if (parts.length === count && parts.every((part, index) => part.number === index + 1)) return parts;
  throw new WorkcrateError(
    'storage_failed',
    'The store has lost parts of an upload. Send it again from its start.',
  );
}

/** For a finished upload Ceph reports a missing key, others a missing upload. */
const isUploadGone = ({ refusal }: WholeAnswer): boolean =>
  refusal?.status === 404 && refusal.code !== 'NoSuchBucket';

const parseListedPart = (xml: string): SentPart => ({
  number: Number(findElementText(xml, 'PartNumber')),
  etag: findElementText(xml, 'ETag') ?? '',
  size: Number(findElementText(xml, 'Size')),
});

/** Makes one object of the parts. The store may ignore the condition: see `assembleParts`. */
export function completeMultipart(
  bucket: Bucket,
  { name, upload }: Multipart,
  parts: readonly SentPart[],
): Promise<WholeAnswer> {
  const listed = parts.map(
    ({ number, etag }) => `<Part><PartNumber>${number}</PartNumber><ETag>${quoteEtag(etag)}</ETag></Part>`,
  );
  const body = Buffer.from(`<CompleteMultipartUpload>${listed.join('')}</CompleteMultipartUpload>`);
  const headers = { 'If-None-Match': '*', 'Content-Type': 'application/xml' };
  const query = { uploadId: upload };
  return bucket.ask({ method: 'POST', name, query, headers, body, longestMs: maxCompletionMs });
}

const quoteEtag = (etag: string): string => `&quot;${etag.replaceAll('"', '')}&quot;`;

/** Drops an upload and its parts; no error where it is not there. */
export async function abortMultipart(bucket: Bucket, { name, upload }: Multipart): Promise<void> {
  const answer = await bucket.ask({ method: 'DELETE', name, query: { uploadId: upload } });
  if (!isUploadGone(answer)) checkNoRefusal(bucket, answer);
}

/**
 * The state of a staged upload. It is one small object: this in its metadata, and in its body the bytes that follow the
 * parts, too few to be a part. So any process that knows the id can continue it, and a file below the size of a part
 * takes a single request.
 */
const stagedStateSchema = z
  .object({
    /** Marks the object that is made of it. */
    mark: z.string().regex(/^[0-9a-f]{32}$/),
    /** Begun with the first whole part; null before. */
    multipart: z.object({ name: z.string(), upload: z.string().min(1).max(2048) }).nullable(),
    /** How many parts count, and their bytes together. Further parts that the store may have do not count. */
    parts: z.int().min(0).max(maxS3Parts),
    partBytes: z.int().min(0),
  })
  .refine(({ parts, partBytes }) => (parts === 0) === (partBytes === 0))
  .refine(({ multipart, parts }) => multipart !== null || parts === 0);

export type S3StagedState = Readonly<z.infer<typeof stagedStateSchema>>;

/** The object for the parts of an upload that has no key yet. */
export const getWholeName = (stateName: string): string => `${stateName}/whole`;

/** Parses a note; null if it is none of ours, or names an object that no upload of ours has. */
export function parseStagedState(
  { options }: Bucket,
  stateName: string,
  note: string | null,
): S3StagedState | null {
  const { data } = stagedStateSchema.safeParse(parseNote(note));
  if (data === undefined) return null;
  const name = data.multipart?.name ?? getWholeName(stateName);
  return name === getWholeName(stateName) || createObjectNames(options.prefix).keyOf(name) !== null
    ? data
    : null;
}

function parseNote(note: string | null): unknown {
  try {
    return JSON.parse(note ?? '');
  } catch {
    return null;
  }
}
