import { createHash, randomBytes } from 'node:crypto';
import { WorkcrateError } from '../../errors.ts';
import { findElements, findElementText } from '../../net/xml.ts';
import {
  advanced,
  demandDocument,
  openRemote,
  partsOf,
  sendParts,
  type Part,
  type RemoteLimits,
} from '../remote/remote.ts';
import {
  bareEtag,
  checkNewName,
  crateChanged,
  crateGone,
  exactly,
  isSourceName,
  ownMark,
  quotedEtag,
  reaching,
  stampIn,
  toldBelow,
  type Listed,
  type OpenSourceObject,
  type Reaching,
  type Source,
  type SourceObject,
  type SourcePage,
} from '../source.ts';
import { alreadyExists } from '../storage.ts';
import { demand, headOf, openBucket, removeName, type Bucket, type Meanings } from './client.ts';
import {
  abortMultipart,
  beginMultipart,
  mostParts,
  sendPart,
  type Multipart,
  type SentPart,
} from './multipart.ts';
import { askRange, presigned, type S3Options } from './s3.ts';
import { putTogether, putWhole, type Place } from './staging.ts';

/** In bytes. A store has no object of a longer one, and refuses to look for it. */
const longestName = 1024;

/** Objects that others keep below a prefix of a bucket of S3, or of a store that speaks like it. */
export async function s3Source(options: S3Options, limits?: RemoteLimits): Promise<Source> {
  const url = `s3://${options.bucket}/${options.prefix}`;
  const bucket = { ...openBucket(options, limits), meanings: meaningsIn(options.bucket) };
  const reach = reaching(url);
  const isFit = (name: string): boolean =>
    isSourceName(name) && Buffer.byteLength(options.prefix + name) <= longestName;
  const stat = async (name: string, signal?: AbortSignal): Promise<SourceObject | null> =>
    isFit(name) ? reach(() => statObject(bucket, name, signal)) : null;
  return {
    kind: 's3',
    url,
    stat,
    list: ({ signal, ...wanted } = {}) => reach(() => listPage(bucket, wanted, signal)),
    open: async (name, signal) => {
      const object = await stat(name, signal);
      return object && openObject(bucket, url, object, reach);
    },
    presign: async (name, expiresAt, response) =>
      isFit(name) ? presigned(bucket, 'GET', options.prefix + name, expiresAt, response) : null,
    put: (name, size, bytes, signal) =>
      reach.writing(async () => {
        await putNew(bucket, name, size, bytes, signal);
        return (await statObject(bucket, name, signal)) ?? fail(url, name);
      }),
    remove: (made) =>
      reach.writing(async () => {
        const there = await statObject(bucket, made.name);
        if (there?.stamp === made.stamp) await removeName(bucket, options.prefix + made.name);
      }),
    close: async () => bucket.close(),
  };
}

async function statObject(bucket: Bucket, name: string, signal?: AbortSignal): Promise<SourceObject | null> {
  const head = await headOf(bucket, bucket.options.prefix + name, signal);
  return head && { name, size: head.size, modified: head.modified, stamp: stampIn(head.etag) };
}

function fail(url: string, name: string): never {
  throw crateGone(url, name);
}

function openObject(bucket: Bucket, url: string, object: SourceObject, reach: Reaching): OpenSourceObject {
  const { name, size, stamp } = object;
  const opened = { name: bucket.options.prefix + name, etag: quotedEtag(stamp), size };
  const remote = openRemote(
    {
      broken: bucket.broken,
      getRange: async (opened, range, signal) => {
        const answer = await askRange(bucket, opened, range, signal);
        if (answer !== null) return answer;
        const found = await headOf(bucket, opened.name, signal);
        throw found === null ? crateGone(url, name) : crateChanged(url, name);
      },
    },
    opened,
  );
  return { ...remote, object, read: (start, end, signal) => reach.each(remote.read(start, end, signal)) };
}

/** Of a bucket of others, little is wanted, and it is not the one that the settings name. */
const meaningsIn = (bucket: string): Meanings => ({
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
const longestText = 8 * 1024 * 1024;

/**
 * A page of names that others have chosen. XML cannot hold every character that a name can, so the store is asked to
 * encode them; one that does not know of that says so by leaving it unsaid.
 */
async function listPage(
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
  const { text } = demand(bucket, await bucket.ask({ method: 'GET', name: '', query, longestText }, signal));
  const isEncoded = findElementText(demandDocument(text, 'ListBucketResult'), 'EncodingType') === 'url';
  const listed = findElements(text, 'Contents').map((xml) => listedIn(xml, isEncoded));
  const isLast = findElementText(text, 'IsTruncated') !== 'true';
  const next = isLast ? null : lastOf(listed, root + after).slice(root.length);
  return { ...toldBelow(root, listed), next };
}

function lastOf(listed: readonly Listed[], after: string): string {
  const last = listed.at(-1);
  if (last?.name === null)
    throw new WorkcrateError(
      'storage_failed',
      'The store has names that are not UTF-8, and cannot list those after them. Rename them.',
    );
  return advanced(after, last?.name ?? '');
}

const listedIn = (xml: string, isEncoded: boolean): Listed => ({
  name: isEncoded ? decoded(findElementText(xml, 'Key') ?? '') : findElementText(xml, 'Key'),
  size: Number(findElementText(xml, 'Size') ?? NaN),
  modified: Math.floor((Date.parse(findElementText(xml, 'LastModified') ?? '') || 0) / 1000) * 1000,
  stamp: bareEtag(findElementText(xml, 'ETag') ?? ''),
});

/** AWS writes a space as `+`, and a plus never as itself. */
function decoded(key: string): string | null {
  try {
    return decodeURIComponent(key.replaceAll('+', ' '));
  } catch {
    return null;
  }
}

/** Writes a new object under a name of the caller's. What is taken is told before a byte is sent. */
async function putNew(
  bucket: Bucket,
  name: string,
  size: number,
  bytes: AsyncIterable<Uint8Array>,
  signal?: AbortSignal,
): Promise<void> {
  checkNewName(name, bucket.options.prefix);
  const place = placeOf(bucket, name);
  if ((await headOf(bucket, place.name, signal)) !== null) throw alreadyExists(name);
  const partBytes = Math.max(bucket.options.partBytes, Math.ceil(size / mostParts));
  const parts = partsOf(exactly(bytes, size), { partBytes, hash: 'sha256', signal });
  await using _ = parts.all;
  if (size > partBytes) {
    await putLarge(bucket, place, parts);
    return;
  }
  const { bytes: whole }: Part = (await parts.all.next()).value;
  // There is nothing more, but it may have failed.
  await parts.all.next();
  await putWhole(bucket, place, whole);
}

/** A turn is taken by an object that no listing tells, whatever the length of the name. */
function placeOf({ options: { prefix } }: Bucket, name: string): Place {
  const hash = createHash('sha256').update(name).digest('hex');
  const mark = randomBytes(16).toString('hex');
  return { key: name, name: prefix + name, mark, turn: `${prefix}${ownMark}turns/${hash}` };
}

async function putLarge(bucket: Bucket, place: Place, parts: ReturnType<typeof partsOf>): Promise<void> {
  const multipart = await beginMultipart(bucket, place.name, place.mark);
  try {
    const sent = await sendAll(bucket, multipart, parts);
    await putTogether(bucket, place, multipart, async () => sent);
  } catch (error) {
    // What cannot be dropped now is no object all the same.
    await abortMultipart(bucket, multipart).catch(() => {});
    throw error;
  }
}

async function sendAll(
  bucket: Bucket,
  multipart: Multipart,
  parts: ReturnType<typeof partsOf>,
): Promise<SentPart[]> {
  const sent: SentPart[] = [];
  let number = 0;
  const failure = await sendParts(parts, {
    send: ({ bytes, digest }) => sendPart(bucket, multipart, ++number, bytes, digest.toString('hex')),
    arrived: (part: SentPart) => void sent.push(part),
    count: 0,
    most: mostParts,
  });
  if (failure !== null) throw failure.error;
  return sent;
}
