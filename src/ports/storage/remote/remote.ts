/**
 * What the S3 and Azure backends share: signed requests with retries and a time limit, uploads in parts, names in a
 * bucket. It knows no store's signature, XML or error codes: `../s3/` and `../azure/` do.
 */
import { WorkcrateError } from '../../../platform/errors.ts';
import { withDeadline } from '../../../platform/net/deadline.ts';
import { findElementText, isWholeDocument } from '../../../platform/net/xml.ts';
import { collectText } from '../../../platform/streams.ts';
import { checkKey, checkStagingId, isStorageKey, isStagingId } from '../storage.ts';
import {
  clientLimits,
  createRemoteClient,
  retryWithBackoff,
  retryLimits,
  storeUnreachableError,
  type ClientLimits,
  type RemoteAnswer,
  type RemoteRequest,
  type RetryLimits,
  type RetriedAnswer,
} from './http.ts';
import type { UploadPart, UploadParts } from './parts.ts';

export { toRefusalCause, type RemoteRequest } from './http.ts';
export {
  openRemoteObject,
  splitIntoParts,
  readObjectRange,
  type OpenedObject,
  type UploadPart,
  type UploadParts,
  type ObjectByteRange,
} from './parts.ts';

/** An object store behind HTTP. A refusal is an answer with a `refusal`; a request that did not get there throws. */
export interface Remote {
  /** Sends, and reads the whole answer, up to the limit of the request. Retries where that may help. */
  ask(request: RemoteRequest, signal?: AbortSignal): Promise<WholeAnswer>;
  /** Sends, and leaves the body of a good answer to the caller. Retries until there is an answer. */
  stream(request: RemoteRequest, signal?: AbortSignal): Promise<StreamedAnswer>;
  /** The error for a body that broke off. */
  broken(error: unknown): WorkcrateError;
  close(): void;
}

export interface RemoteOptions {
  /** Its host, as messages name it. */
  readonly store: string;
  /** Called for each try: a signature is valid for some minutes only. */
  sign(request: RemoteRequest): Promise<RemoteRequest>;
  readonly limits?: RemoteLimits | undefined;
}

/** Called for every try: its method, `ok`, a status of 400 and more or `failed`, and how long it took. */
export type ObserveRequest = (operation: string, result: string, seconds: number) => void;

export type RemoteLimits = Partial<ClientLimits & RetryLimits> & {
  /** How long a request may take in all, however often it is tried; more where it has much to send. */
  readonly wholeMs?: number;
  readonly observe?: ObserveRequest;
};

const defaultRequestMs = 120_000;
/** A request fails on a line slower than 64 kB/s. */
const minBytesPerMs = 64;

export function createRemote({ store, sign, limits = {} }: RemoteOptions): Remote {
  const client = createRemoteClient({ ...clientLimits, ...limits });
  const retry = { ...retryLimits, ...limits };
  const broken = (error: unknown): WorkcrateError => storeUnreachableError(store, error);
  const rethrow =
    (signal?: AbortSignal) =>
    (error: unknown): never => {
      throw signal?.aborted ? signal.reason : broken(error);
    };
  const send = async (request: RemoteRequest, signal?: AbortSignal) => {
    const started = performance.now();
    let result = 'failed';
    try {
      const answer = await client.send(await sign(request), signal);
      result = answer.status < 400 ? 'ok' : String(answer.status);
      return answer;
    } finally {
      limits.observe?.(request.method, result, (performance.now() - started) / 1000);
    }
  };
  /** The body of a good answer that is left to the caller has no such limit: it may be long, and its reader slow. */
  const sendWithDeadline = <T extends RetriedAnswer>(
    request: RemoteRequest,
    signal: AbortSignal | undefined,
    read: (answer: RemoteAnswer) => Promise<T>,
  ): Promise<T> => {
    const sendingMs = (request.body?.length ?? 0) / minBytesPerMs;
    const ms = (request.longestMs ?? limits.wholeMs ?? defaultRequestMs) + sendingMs;
    const work = (either: AbortSignal) =>
      retryWithBackoff(retry, async () => read(await send(request, either)), either);
    return withDeadline(ms, signal, work).catch(rethrow(signal));
  };
  return {
    ask: (request, signal) =>
      sendWithDeadline(request, signal, (answer) => readWholeAnswer(answer, request.longestText)),
    stream: (request, signal) => sendWithDeadline(request, signal, readRefusal),
    broken,
    close: client.close,
  };
}

/** Why a store refused, without its message text: that may quote signatures. */
export interface StoreRefusal {
  readonly status: number;
  /** `NoSuchKey`, `BlobNotFound` …; empty where none was given, as after HEAD. */
  readonly code: string;
  readonly requestId: string;
}

/** An answer whose body has been read. */
export interface WholeAnswer {
  readonly status: number;
  readonly headers: RemoteAnswer['headers'];
  readonly text: string;
  readonly refusal: StoreRefusal | null;
}

/** An answer whose body is still to be read; it is empty where the store refused. */
export interface StreamedAnswer extends RemoteAnswer {
  readonly refusal: StoreRefusal | null;
}

/** A page of a thousand long names is below one megabyte. */
const maxReplyBytes = 4 * 1024 * 1024;
/** Only the code of a refusal is needed; what follows is not read. */
const maxRefusalBytes = 64 * 1024;

async function readWholeAnswer(answer: RemoteAnswer, longest = maxReplyBytes): Promise<WholeAnswer> {
  const text = await readReplyText(answer, longest);
  const { status, headers } = answer;
  return { status, headers, text, refusal: parseRefusal(answer, text) };
}

/** Reads the reason of a refusal; otherwise the body is left to the caller. */
async function readRefusal(answer: RemoteAnswer): Promise<StreamedAnswer> {
  return {
    ...answer,
    refusal: answer.status < 300 ? null : parseRefusal(answer, await readReplyText(answer)),
  };
}

async function readReplyText({ status, body }: RemoteAnswer, longest = maxReplyBytes): Promise<string> {
  if (status >= 300) return collectText(body, { limit: maxRefusalBytes, tooLong: 'truncate' });
  const tooLong = (): Error => new Error(`the answer is longer than ${longest} bytes`);
  return collectText(body, { limit: longest, tooLong });
}

/** S3 may fail after it has sent 200: then the body is an error, and counts as a 500. */
function parseRefusal({ status, headers }: RemoteAnswer, text: string): StoreRefusal | null {
  const isLate = status < 300 && /^\s*(?:<\?xml[^>]*\?>\s*)?<Error[\s>]/.test(text);
  if (status < 300 && !isLate) return null;
  const code = headers['x-ms-error-code'] ?? findElementText(text, 'Code') ?? '';
  const requestId = headers['x-amz-request-id'] ?? headers['x-ms-request-id'] ?? '';
  return { status: isLate ? 500 : status, code: toShortCode(code), requestId: toShortCode(requestId) };
}

/** The answer may come from something else than the store: only short, plain text is kept. */
const toShortCode = (value: string | string[]): string =>
  String(value)
    .slice(0, 200)
    .replaceAll(/[^\w.:~-]/g, '')
    .slice(0, 80);

/**
 * Returns the text if it is a whole document with that root. A proxy may answer in place of the store with a page of its
 * own and `200`, and that must not count as an empty list.
 */
export function checkDocument(xml: string, root: string): string {
  if (isWholeDocument(xml, root)) return xml;
  throw new WorkcrateError(
    'storage_failed',
    'The answer is not that of an object store. Check its address, and any proxy in between.',
    { cause: new Error(`the answer is not a complete ${root}`) },
  );
}

/** Backpressure: with the part that is being filled, four are in memory. */
const maxPartsInFlight = 3;

export interface PartSender<T> {
  /** Starts to send a part. Called for one after the other. */
  send(part: UploadPart): Promise<T>;
  /** Called for each part in order, once it and all before it have arrived. */
  arrived(sent: T): void | Promise<void>;
  /** How many parts there are before, and how many the store takes in all. */
  readonly count: number;
  readonly most: number;
}

export interface SendingFailure {
  readonly error: unknown;
  /** Whether it was the store that failed, and not the source. */
  readonly isInStore: boolean;
}

/**
 * Sends parts, several at a time. Returns the failure that stopped it, or null. If both the source and the store failed,
 * it is that of the store, which concerns an earlier byte. Whatever fails, it waits for the parts in flight.
 */
export async function sendParts<T>(
  parts: UploadParts,
  sender: PartSender<T>,
): Promise<SendingFailure | null> {
  const inFlight: { readonly part: UploadPart; readonly sent: Promise<T> }[] = [];
  let { count } = sender;

  /** A failed part stays first, so that none after it ever counts as arrived. */
  const settle = async (most: number): Promise<SendingFailure | null> => {
    try {
      while (inFlight.length > most) {
        const sent = await inFlight[0]!.sent;
        parts.giveBack(inFlight.shift()!.part);
        await sender.arrived(sent);
      }
      return null;
    } catch (error) {
      return { error, isInStore: true };
    }
  };

  const begin = (part: UploadPart): void => {
    if (count++ === sender.most) throw tooManyPartsError(sender.most);
    const sent = sender.send(part);
    // Its failure is handled by `settle`.
    sent.catch(() => {});
    inFlight.push({ part, sent });
  };

  const sendAll = async (): Promise<SendingFailure | null> => {
    try {
      for await (const part of parts.all) {
        if (part.bytes.length === 0) continue;
        const failure = await settle(maxPartsInFlight - 1);
        if (failure !== null) return failure;
        begin(part);
      }
      return null;
    } catch (error) {
      return { error, isInStore: false };
    }
  };

  const failure = await sendAll();
  const later = failure?.isInStore ? null : await settle(0);
  await Promise.allSettled(inFlight.map(({ sent }) => sent));
  return later ?? failure;
}

const tooManyPartsError = (most: number): WorkcrateError =>
  new WorkcrateError(
    'too_large',
    `The store takes no more than ${most} parts of an object. Raise --part-size, or send it in fewer requests.`,
  );

/** How many names of staged uploads are listed at most. */
export const maxStagedUploads = 100_000;

export const tooManyStagedError = (): WorkcrateError =>
  new WorkcrateError(
    'storage_failed',
    `There are more than ${maxStagedUploads} objects below staging/ in the store. Remove those that are old, or set another prefix.`,
  );

/** Returns the last name of a page, which must come after that of the page before: else a listing would never end. */
export function checkAdvance(before: string, name: string): string {
  // Stores order by the bytes of UTF-8.
  if (Buffer.compare(Buffer.from(name), Buffer.from(before)) > 0) return name;
  throw new WorkcrateError(
    'storage_failed',
    'The store lists the same names again and again. Check whether it supports paging, and any proxy in between.',
  );
}

/**
 * Names in a bucket or container that others may use too: objects are below `objects/`, staged uploads below `staging/`,
 * so that neither can be mistaken for the other.
 */
export interface ObjectNames {
  /** The prefix of all objects, and of all uploads. */
  readonly objects: string;
  readonly staging: string;
  object(key: string): string;
  staged(id: string): string;
  /** The key of an object by its whole name; null for what somebody else has put there. */
  keyOf(name: string): string | null;
  idOf(name: string): string | null;
}

export function createObjectNames(prefix: string): ObjectNames {
  const [objects, staging] = [`${prefix}objects/`, `${prefix}staging/`];
  const below = (folder: string, name: string, isFit: (text: string) => boolean): string | null => {
    const rest = name.slice(folder.length);
    return name.startsWith(folder) && isFit(rest) ? rest : null;
  };
  return {
    objects,
    staging,
    object: (key) => objects + checkKey(key),
    staged: (id) => staging + checkStagingId(id),
    keyOf: (name) => below(objects, name, isStorageKey),
    idOf: (name) => below(staging, name, isStagingId),
  };
}
