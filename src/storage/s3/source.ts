import { openRemote, type RemoteLimits } from '../remote/remote.ts';
import { crateChanged, crateGone, reaching, type Reaching } from '../source-failures.ts';
import { isSourceName, quotedEtag, stampIn } from '../source-names.ts';
import type { OpenSourceObject, Source, SourceObject } from '../source.ts';
import { openBucket, type Bucket } from './bucket.ts';
import { headOf } from './heads.ts';
import { presigned } from './presigning.ts';
import { askRange } from './reading.ts';
import type { Meanings } from './refusals.ts';
import { removeName } from './removing.ts';
import type { S3Options } from './s3.ts';
import { listPage } from './source-listing.ts';
import { putNew } from './source-putting.ts';

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
