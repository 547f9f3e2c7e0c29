/**
 * Crates in a bucket of others, as a `Source`: names are theirs, and objects may change at any time. It removes only what
 * its own `put` has made. Objects of this server are `s3.ts`.
 */
import { createHash, randomBytes } from 'node:crypto';
import { WorkcrateError } from '../../../platform/errors.ts';
import { findElements, findElementText } from '../../../platform/net/xml.ts';
import {
  checkAdvance,
  checkDocument,
  openRemoteObject,
  splitIntoParts,
  sendParts,
  type UploadPart,
  type RemoteLimits,
} from '../remote/remote.ts';
import {
  unquoteEtag,
  checkNewName,
  crateChangedError,
  crateGoneError,
  checkExactSize,
  isSourceName,
  ownNameMark,
  quoteStamp,
  createSourceErrors,
  toStamp,
  toSourcePage,
  type ListedSourceObject,
  type OpenSourceObject,
  type SourceErrorMapper,
  type Source,
  type SourceObject,
  type SourcePage,
} from '../source.ts';
import { alreadyExistsError } from '../storage.ts';
import {
  checkNoRefusal,
  headS3Object,
  openBucket,
  removeS3Object,
  type Bucket,
  type S3ErrorMeanings,
} from './client.ts';
import {
  abortMultipart,
  beginMultipart,
  maxS3Parts,
  sendPart,
  type Multipart,
  type SentPart,
} from './multipart.ts';
import { askRange, presignS3Url, type S3Options } from './s3.ts';
import { assembleParts, putWhole, type S3Target } from './staging.ts';

/** In bytes. A store refuses longer names. */
const maxS3Name = 1024;

/** Objects of others below a prefix of a bucket, in S3 or a store with the same API. */
export async function s3Source(options: S3Options, limits?: RemoteLimits): Promise<Source> {
  const url = `s3://${options.bucket}/${options.prefix}`;
  const bucket = { ...openBucket(options, limits), meanings: listS3SourceMeanings(options.bucket) };
  const mapErrors = createSourceErrors(url);
  const isFit = (name: string): boolean =>
    isSourceName(name) && Buffer.byteLength(options.prefix + name) <= maxS3Name;
  const stat = async (name: string, signal?: AbortSignal): Promise<SourceObject | null> =>
    isFit(name) ? mapErrors(() => statS3SourceObject(bucket, name, signal)) : null;
  return {
    kind: 's3',
    url,
    stat,
    list: ({ signal, ...wanted } = {}) => mapErrors(() => listS3SourcePage(bucket, wanted, signal)),
    open: async (name, signal) => {
      const object = await stat(name, signal);
      return object && openS3SourceObject(bucket, url, object, mapErrors);
    },
    presign: async (name, expiresAt, response) =>
      isFit(name) ? presignS3Url(bucket, 'GET', options.prefix + name, expiresAt, response) : null,
    put: (name, size, bytes, signal) =>
      mapErrors.writing(async () => {
        await putNewS3Object(bucket, name, size, bytes, signal);
        return (await statS3SourceObject(bucket, name, signal)) ?? throwCrateGone(url, name);
      }),
    remove: (made) =>
      mapErrors.writing(async () => {
        const there = await statS3SourceObject(bucket, made.name);
        if (there?.stamp === made.stamp) await removeS3Object(bucket, options.prefix + made.name);
      }),
    close: async () => bucket.close(),
  };
}

async function statS3SourceObject(
  bucket: Bucket,
  name: string,
  signal?: AbortSignal,
): Promise<SourceObject | null> {
  const head = await headS3Object(bucket, bucket.options.prefix + name, signal);
  return head && { name, size: head.size, modified: head.modified, stamp: toStamp(head.etag) };
}

function throwCrateGone(url: string, name: string): never {
  throw crateGoneError(url, name);
}

function openS3SourceObject(
  bucket: Bucket,
  url: string,
  object: SourceObject,
  mapErrors: SourceErrorMapper,
): OpenSourceObject {
  const { name, size, stamp } = object;
  const opened = { name: bucket.options.prefix + name, etag: quoteStamp(stamp), size };
  const remote = openRemoteObject(
    {
      broken: bucket.broken,
      getRange: async (opened, range, signal) => {
        const answer = await askRange(bucket, opened, range, signal);
        if (answer !== null) return answer;
        const found = await headS3Object(bucket, opened.name, signal);
        throw found === null ? crateGoneError(url, name) : crateChangedError(url, name);
      },
    },
    opened,
  );
  return { ...remote, object, read: (start, end, signal) => mapErrors.each(remote.read(start, end, signal)) };
}

/** Messages for a bucket of others: it needs fewer permissions, and is not the one of the settings. */
const listS3SourceMeanings = (bucket: string): S3ErrorMeanings => ({
  NoSuchBucket: [
    'storage_failed',
    `There is no bucket ${bucket}. Check the name, --s3-region and --s3-endpoint.`,
  ],
  AccessDenied: [
    'storage_read_only',
    'The access key may not do this. Give it permission to list the bucket and to get its objects, and to put them ' +
      'where packed crates go.',
  ],
  InvalidObjectState: [
    'unsupported',
    'The object is in an archive of the store, and cannot be read from there. Have it restored first.',
  ],
});

/** A thousand names of 1,024 bytes, each of them written as three. */
const maxS3ListingText = 8 * 1024 * 1024;

/**
 * A page of names that others have chosen. XML cannot hold every character that a name can, so the store is asked to
 * encode them; the answer says whether it did.
 */
async function listS3SourcePage(
  bucket: Bucket,
  wanted: { prefix?: string; after?: string },
  signal?: AbortSignal,
): Promise<SourcePage> {
  const { prefix: root } = bucket.options;
  const { after = '' } = wanted;
  const query = {
    'list-type': '2',
    'encoding-type': 'url',
    prefix: root + (wanted.prefix ?? ''),
    'max-keys': '1000',
    ...(after === '' ? {} : { 'start-after': root + after }),
  };
  const { text } = checkNoRefusal(
    bucket,
    await bucket.ask({ method: 'GET', name: '', query, longestText: maxS3ListingText }, signal),
  );
  const isEncoded = findElementText(checkDocument(text, 'ListBucketResult'), 'EncodingType') === 'url';
  const listed = findElements(text, 'Contents').map((xml) => parseListedS3Object(xml, isEncoded));
  const isLast = findElementText(text, 'IsTruncated') !== 'true';
  const next = isLast ? null : getLastName(listed, root + after).slice(root.length);
  return { ...toSourcePage(root, listed), next };
}

function getLastName(listed: readonly ListedSourceObject[], after: string): string {
  const last = listed.at(-1);
  if (last?.name === null)
    throw new WorkcrateError(
      'storage_failed',
      'The store has names that are not UTF-8, and cannot list those after them. Rename them.',
    );
  return checkAdvance(after, last?.name ?? '');
}

const parseListedS3Object = (xml: string, isEncoded: boolean): ListedSourceObject => ({
  name: isEncoded ? decodeS3Key(findElementText(xml, 'Key') ?? '') : findElementText(xml, 'Key'),
  size: Number(findElementText(xml, 'Size') ?? NaN),
  modified: Math.floor((Date.parse(findElementText(xml, 'LastModified') ?? '') || 0) / 1000) * 1000,
  stamp: unquoteEtag(findElementText(xml, 'ETag') ?? ''),
});

/** AWS writes a space as `+`, and a plus never as itself. */
function decodeS3Key(key: string): string | null {
  try {
    return decodeURIComponent(key.replaceAll('+', ' '));
  } catch {
    return null;
  }
}

/** Writes a new object under a name of the caller. A taken name is refused before a byte is sent. */
async function putNewS3Object(
  bucket: Bucket,
  name: string,
  size: number,
  bytes: AsyncIterable<Uint8Array>,
  signal?: AbortSignal,
): Promise<void> {
  checkNewName(name, bucket.options.prefix);
  const target = toS3Target(bucket, name);
  if ((await headS3Object(bucket, target.name, signal)) !== null) throw alreadyExistsError(name);
  const partBytes = Math.max(bucket.options.partBytes, Math.ceil(size / maxS3Parts));
  const parts = splitIntoParts(checkExactSize(bytes, size), { partBytes, hash: 'sha256', signal });
  await using _ = parts.all;
  if (size > partBytes) {
    await putLarge(bucket, target, parts);
    return;
  }
  const { bytes: whole }: UploadPart = (await parts.all.next()).value;
  // There are no more bytes, but the source may have failed.
  await parts.all.next();
  await putWhole(bucket, target, whole);
}

/** The lock is an object that no listing shows; its name is a hash, since the name may be long. */
function toS3Target({ options: { prefix } }: Bucket, name: string): S3Target {
  const hash = createHash('sha256').update(name).digest('hex');
  const mark = randomBytes(16).toString('hex');
  return { key: name, name: prefix + name, mark, lockName: `${prefix}${ownNameMark}turns/${hash}` };
}

async function putLarge(
  bucket: Bucket,
  target: S3Target,
  parts: ReturnType<typeof splitIntoParts>,
): Promise<void> {
  const multipart = await beginMultipart(bucket, target.name, target.mark);
  try {
    const sent = await sendAllParts(bucket, multipart, parts);
    await assembleParts(bucket, target, multipart, async () => sent);
  } catch (error) {
    // Parts that cannot be dropped now are no object either.
    await abortMultipart(bucket, multipart).catch(() => {});
    throw error;
  }
}

async function sendAllParts(
  bucket: Bucket,
  multipart: Multipart,
  parts: ReturnType<typeof splitIntoParts>,
): Promise<SentPart[]> {
  const sent: SentPart[] = [];
  let number = 0;
  const failure = await sendParts(parts, {
    send: ({ bytes, digest }) => sendPart(bucket, multipart, ++number, bytes, digest.toString('hex')),
    arrived: (part: SentPart) => void sent.push(part),
    count: 0,
    most: maxS3Parts,
  });
  if (failure !== null) throw failure.error;
  return sent;
}
