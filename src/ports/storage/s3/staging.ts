import { setTimeout as pause } from 'node:timers/promises';
import { isWorkcrateError, WorkcrateError } from '../../../platform/errors.ts';
import { checkDocument, splitIntoParts, type ObjectNames, type WholeAnswer } from '../remote/remote.ts';
import { alreadyExistsError, offsetConflictError, type Staging, type StoredObject } from '../storage.ts';
import {
  listAllS3Objects,
  checkNoRefusal,
  parseS3Head,
  headS3Object,
  toNoteHeader,
  s3RefusedError,
  removeS3Object,
  type Bucket,
} from './client.ts';
import { withS3Lock } from './lock.ts';
import {
  abortMultipart,
  beginMultipart,
  completeMultipart,
  copyPart,
  checkEtag,
  listUploadedParts,
  sendPart,
  parseStagedState,
  getWholeName,
  type Multipart,
  type SentPart,
  type S3StagedState,
} from './multipart.ts';
import {
  createStagedState,
  loadStagedUpload,
  peekStaged,
  saveStagedState,
  getStagedSize,
  writeParts,
} from './staged.ts';

/** Staged uploads: whole parts in a multipart upload to the object they are meant for, the rest in `staging/ID`. */
export function s3Staging(bucket: Bucket, names: ObjectNames): Staging {
  return {
    size: async (id) => getStagedSize(await peekStaged(bucket, names.staged(id))),
    append: (id, offset, bytes, { signal, key } = {}) => {
      const stateName = names.staged(id);
      // Without a key yet, parts are assembled beside the state, and copied when the key is known.
      const targetName = key === undefined ? getWholeName(stateName) : names.object(key);
      return appendToS3(bucket, { stateName, targetName }, offset, bytes, signal);
    },
    commit: (id, key) => commitS3Upload(bucket, names.staged(id), key, names.object(key)),
    discard: (id) => discardUpload(bucket, names.staged(id)),
    list: async () => {
      const staged = await listAllS3Objects(bucket, names.staging);
      return staged.flatMap(({ name, modified }) => {
        const id = names.idOf(name);
        return id === null ? [] : [{ id, modified }];
      });
    },
  };
}

async function appendToS3(
  bucket: Bucket,
  destination: { stateName: string; targetName: string },
  offset: number,
  bytes: AsyncIterable<Uint8Array>,
  signal?: AbortSignal,
): Promise<number> {
  const before = await loadStagedUpload(bucket, destination.stateName);
  const size = getStagedSize(before?.found ?? null);
  if (offset !== 0 && offset !== size) throw offsetConflictError(size);
  const { staged, tail } =
    offset === 0
      ? await restartUpload(bucket, destination.stateName, before?.found.staged)
      : continueUpload(before!);
  const { partBytes } = bucket.options;
  const parts = splitIntoParts(bytes, { partBytes, hash: 'sha256', before: tail, signal });
  return writeParts(bucket, destination, staged, tail, parts);
}

const continueUpload = ({ found, tail }: NonNullable<Awaited<ReturnType<typeof loadStagedUpload>>>) => ({
  staged: found.staged,
  tail,
});

/** A state with parts is written again at once: after a crash it must not name parts that are gone. */
async function restartUpload(bucket: Bucket, stateName: string, old: S3StagedState | undefined) {
  const [staged, tail] = [createStagedState(), Buffer.alloc(0)];
  if (old?.multipart) {
    await abortMultipart(bucket, old.multipart);
    await saveStagedState(bucket, stateName, staged, tail);
  }
  return { staged, tail };
}

/**
 * The parts go first: a crash in between leaves a state without them, which can be discarded again. Of a state that is
 * damaged, or not ours, nothing is used but its name.
 */
async function discardUpload(bucket: Bucket, stateName: string): Promise<void> {
  const answer = await bucket.ask({ method: 'HEAD', name: stateName });
  if (answer.refusal?.status === 404) return;
  if (answer.refusal !== null) throw s3RefusedError(bucket, answer.refusal);
  const staged = parseStagedState(bucket, stateName, parseS3Head(answer.headers).note);
  const whole = getWholeName(stateName);
  if (staged?.multipart) await abortMultipart(bucket, staged.multipart);
  if (staged === null || staged.multipart?.name === whole) await removeS3Object(bucket, whole);
  await removeS3Object(bucket, stateName);
}

/** How often we try to get the lock, and the longest pause between. */
const maxLockTries = 40;
const maxLockPauseMs = 500;
/** Parts of a copy. The store allows 5 GB. */
const copyPartBytes = 1024 ** 3;

/** The object that the bytes become, and the mark by which we recognize it. */
export interface S3Target {
  readonly key: string;
  readonly name: string;
  readonly mark: string;
  /** The lock object, if it is not below `turns/`. */
  readonly lockName?: string;
}

/**
 * Makes an object of a staged upload. It is idempotent: the mark of the object says whether it was made of these bytes,
 * so that every step can be repeated after a lost answer, also by another process after a crash.
 */
async function commitS3Upload(
  bucket: Bucket,
  stateName: string,
  key: string,
  name: string,
): Promise<StoredObject> {
  const loaded = await loadStagedUpload(bucket, stateName);
  const { staged, tail } = loaded
    ? { staged: loaded.found.staged, tail: loaded.tail }
    : { staged: createStagedState(), tail: null };
  const target = { key, name, mark: staged.mark };
  const made =
    staged.multipart === null
      ? await putWhole(bucket, target, tail ?? new Uint8Array(0))
      : await putParts(bucket, target, staged, staged.multipart, tail!);
  if (loaded !== null) await removeS3Object(bucket, stateName);
  return made;
}

/** One request, which the store refuses if the object exists. */
export async function putWhole(bucket: Bucket, target: S3Target, body: Uint8Array): Promise<StoredObject> {
  const headers = { 'If-None-Match': '*', ...toNoteHeader(target.mark) };
  const answer = await bucket.ask({ method: 'PUT', name: target.name, headers, body });
  if (answer.refusal === null) {
    checkEtag(answer.headers.etag);
    const modified = Date.parse(answer.headers.date ?? '') || Date.now();
    return { key: target.key, size: body.length, modified };
  }
  if (![409, 412].includes(answer.refusal.status)) throw s3RefusedError(bucket, answer.refusal);
  const made = await findMadeObject(bucket, target);
  if (made === null) throw s3RefusedError(bucket, answer.refusal);
  return made;
}

/** The parts become the object they were meant for; if the key is another one, the store copies it. */
async function putParts(
  bucket: Bucket,
  target: S3Target,
  staged: S3StagedState,
  multipart: Multipart,
  tail: Uint8Array,
): Promise<StoredObject> {
  const meant = { ...target, name: multipart.name };
  const parts = (): Promise<SentPart[] | null> => listSentParts(bucket, multipart, staged, tail);
  if (meant.name === target.name) return assembleParts(bucket, target, multipart, parts);
  const before = await findMadeObject(bucket, target);
  if (before !== null) return before;
  const whole = await assembleParts(bucket, meant, multipart, parts).catch(throwForMeantKey);
  const made = await copyWhole(bucket, target, meant.name, whole.size);
  await removeS3Object(bucket, meant.name);
  return made;
}

/** That the first key is taken says nothing about the key that it is committed to. */
function throwForMeantKey(error: unknown): never {
  throw isWorkcrateError(error, 'already_exists') ? toStorageError(placeTakenText) : error;
}

async function copyWhole(
  bucket: Bucket,
  target: S3Target,
  from: string,
  size: number,
): Promise<StoredObject> {
  const copy = await beginMultipart(bucket, target.name, target.mark);
  try {
    return await assembleParts(bucket, target, copy, () => copyParts(bucket, copy, from, size));
  } finally {
    // Nothing is left to abort where all went well.
    await abortMultipart(bucket, copy);
  }
}

async function listSentParts(
  bucket: Bucket,
  multipart: Multipart,
  staged: S3StagedState,
  tail: Uint8Array,
): Promise<SentPart[] | null> {
  const parts = await listUploadedParts(bucket, multipart, staged.parts);
  if (parts === null || tail.length === 0) return parts;
  return [...parts, await sendPart(bucket, multipart, staged.parts + 1, tail)];
}

async function copyParts(bucket: Bucket, to: Multipart, name: string, size: number): Promise<SentPart[]> {
  const parts: SentPart[] = [];
  for (let start = 0; start < size; start += copyPartBytes) {
    const end = Math.min(size, start + copyPartBytes);
    parts.push(await copyPart(bucket, to, parts.length + 1, { name, start, end }));
  }
  return parts;
}

/**
 * Not every store supports a condition here (Ceph 16 does not), so a process takes a lock on the key first: a small
 * object, made under a condition that all stores support.
 */
export async function assembleParts(
  bucket: Bucket,
  target: S3Target,
  multipart: Multipart,
  collect: () => Promise<SentPart[] | null>,
): Promise<StoredObject> {
  const parts = await collect();
  if (parts === null) return (await findMadeObject(bucket, target)) ?? throwStorageError(partsLostText);
  for (let left = maxLockTries; left > 0; left--) {
    const made = await withS3Lock(bucket, target, () => completeS3Upload(bucket, target, multipart, parts));
    const known = made ?? (await findMadeObject(bucket, target));
    if (known !== null) return known;
    await pause(Math.random() * maxLockPauseMs);
  }
  return throwStorageError(placeBusyText);
}

async function completeS3Upload(
  bucket: Bucket,
  target: S3Target,
  multipart: Multipart,
  parts: readonly SentPart[],
): Promise<StoredObject> {
  const before = await findMadeObject(bucket, target);
  if (before !== null) return before;
  const answer = await completeMultipart(bucket, multipart, parts);
  // The object counts, and not the answer.
  const made = (await findMadeObject(bucket, target)) ?? failAfterRefusal(bucket, answer);
  const size = parts.reduce((sum, part) => sum + part.size, 0);
  return made.size === size ? made : throwStorageError(wrongSizeText);
}

function failAfterRefusal(bucket: Bucket, answer: WholeAnswer): never {
  checkDocument(checkNoRefusal(bucket, answer).text, 'CompleteMultipartUploadResult');
  return throwStorageError(partsLostText);
}

/** The object if it was made of these bytes, null if there is none; another one is `already_exists`. */
async function findMadeObject(bucket: Bucket, { key, name, mark }: S3Target): Promise<StoredObject | null> {
  const head = await headS3Object(bucket, name);
  if (head === null) return null;
  if (head.note !== mark) throw alreadyExistsError(key);
  return { key, size: head.size, modified: head.modified };
}

const partsLostText =
  'The store does not know the parts of this upload any more. Send it again from its start.';
const placeBusyText = 'Another upload is being put into the same place. Try again in some minutes.';
const placeTakenText =
  'The place that the bytes were first meant for is taken. Send them again from their start.';
const wrongSizeText = 'The store made an object of another size than its parts. See its log.';

const toStorageError = (message: string): WorkcrateError => new WorkcrateError('storage_failed', message);

function throwStorageError(message: string): never {
  throw toStorageError(message);
}
