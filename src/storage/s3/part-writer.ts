import { sendParts, type Part, type Parts } from '../remote/remote.ts';
import type { Bucket } from './bucket.ts';
import { beginMultipart, mostParts, sendPart, type Multipart, type SentPart } from './multipart.ts';
import { save } from './staged.ts';
import type { Staged } from './state.ts';

/** What a crash in the midst of an append loses at most, in parts; each time costs a small request. */
const partsUnsaved = 8;
const nothing: Kept = { bytes: new Uint8Array() };

type Kept = Pick<Part, 'bytes'> & Partial<Part>;

/** Where the bytes go: the object of the state, and the object that the parts are to become. */
export interface Destination {
  readonly stateName: string;
  readonly targetName: string;
}

/**
 * Sends whole parts, and keeps the rest in the state. A part counts once all before it are there, and what was durable
 * stays so: the bytes of `tail`, with which the first part begins, are in the state until that part is there. Whatever
 * ends it, what came before is made durable; if that fails, the failure is what is told.
 */
export async function writeParts(
  bucket: Bucket,
  { stateName, targetName }: Destination,
  before: Staged,
  tail: Uint8Array,
  parts: Parts,
): Promise<number> {
  let [staged, saved] = [before, before];
  let { parts: number } = before;
  // What follows the parts that were taken to be sent.
  let rest: Kept = { bytes: tail };
  let begun: Promise<Multipart> | null = before.multipart && Promise.resolve(before.multipart);

  const keep = async ({ bytes, digest }: Kept): Promise<void> => {
    await save(bucket, stateName, staged, bytes, digest?.toString('hex'));
    saved = staged;
  };

  const begin = async (): Promise<Multipart> => {
    const multipart = await beginMultipart(bucket, targetName, staged.mark);
    staged = { ...staged, multipart };
    await keep({ bytes: tail });
    return multipart;
  };

  async function* whole(): AsyncGenerator<Part> {
    for await (const part of parts.all) {
      const isWhole = part.bytes.length >= bucket.options.partBytes;
      if (isWhole) yield part;
      rest = isWhole ? nothing : part;
    }
  }

  const send = async ({ bytes, digest }: Part): Promise<SentPart> => {
    const own = ++number;
    return sendPart(bucket, await (begun ??= begin()), own, bytes, digest.toString('hex'));
  };

  const arrived = async ({ number, size }: SentPart): Promise<void> => {
    staged = { ...staged, parts: number, partBytes: staged.partBytes + size };
    if (staged.parts - saved.parts >= partsUnsaved) await keep(nothing);
  };

  // One is left for the rest, which becomes a part in the end.
  const sender = { send, arrived, count: before.parts, most: mostParts - 1 };
  const failure = await sendParts({ ...parts, all: whole() }, sender);
  if (failure?.isInStore) {
    if (staged.parts > saved.parts) await keep(nothing).catch(() => {});
    throw failure.error;
  }
  const isAsBefore = staged === before && rest.bytes.length === tail.length;
  if (!isAsBefore || before.parts + tail.length === 0) await keep(rest);
  if (failure !== null) throw failure.error;
  return staged.partBytes + rest.bytes.length;
}
