import { createHash, randomBytes } from 'node:crypto';
import { alreadyExists } from '../failures.ts';
import { partsOf, sendParts, type Part } from '../remote/remote.ts';
import { checkNewName, exactly, ownMark } from '../source-names.ts';
import type { Bucket } from './bucket.ts';
import { putTogether, putWhole, type Place } from './committing.ts';
import { headOf } from './heads.ts';
import {
  abortMultipart,
  beginMultipart,
  mostParts,
  sendPart,
  type Multipart,
  type SentPart,
} from './multipart.ts';

/** Writes a new object under a name of the caller's. What is taken is told before a byte is sent. */
export async function putNew(
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
