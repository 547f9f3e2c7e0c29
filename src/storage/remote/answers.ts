import { WorkcrateError } from '../../errors.ts';
import { findElementText, isWholeDocument } from '../../net/xml.ts';
import { collectText } from '../../streams.ts';
import type { RemoteAnswer } from './client.ts';

/** What a store said when it refused, without its prose: that may quote signatures. */
export interface Refusal {
  readonly status: number;
  /** `NoSuchKey`, `BlobNotFound` …; empty where none was given, as after HEAD. */
  readonly code: string;
  readonly requestId: string;
}

/** An answer that is held whole. */
export interface WholeAnswer {
  readonly status: number;
  readonly headers: RemoteAnswer['headers'];
  readonly text: string;
  readonly refusal: Refusal | null;
}

/** An answer whose body is still to be read; it is empty where the store refused. */
export interface StreamedAnswer extends RemoteAnswer {
  readonly refusal: Refusal | null;
}

/** A page of a thousand long names is below one megabyte. */
const longestUsually = 4 * 1024 * 1024;
/** Of a refusal no more than its code is wanted; what follows this is not read. */
const longestRefusal = 64 * 1024;

export async function readWhole(answer: RemoteAnswer, longest = longestUsually): Promise<WholeAnswer> {
  const text = await readText(answer, longest);
  const { status, headers } = answer;
  return { status, headers, text, refusal: refusalOf(answer, text) };
}

/** Where the store refused, its reason is read; else the body is left to the caller. */
export async function readRefusal(answer: RemoteAnswer): Promise<StreamedAnswer> {
  return { ...answer, refusal: answer.status < 300 ? null : refusalOf(answer, await readText(answer)) };
}

async function readText({ status, body }: RemoteAnswer, longest = longestUsually): Promise<string> {
  if (status >= 300) return collectText(body, { limit: longestRefusal, tooLong: 'truncate' });
  const tooLong = (): Error => new Error(`the answer is longer than ${longest} bytes`);
  return collectText(body, { limit: longest, tooLong });
}

/** S3 may fail after it has said 200: then the body is an error, and is taken for a 500. */
function refusalOf({ status, headers }: RemoteAnswer, text: string): Refusal | null {
  const isLate = status < 300 && /^\s*(?:<\?xml[^>]*\?>\s*)?<Error[\s>]/.test(text);
  if (status < 300 && !isLate) return null;
  const code = headers['x-ms-error-code'] ?? findElementText(text, 'Code') ?? '';
  const requestId = headers['x-amz-request-id'] ?? headers['x-ms-request-id'] ?? '';
  return { status: isLate ? 500 : status, code: short(code), requestId: short(requestId) };
}

/** Whoever answers may not be the store at all: what is kept of it is short and plain. */
const short = (value: string | string[]): string =>
  String(value)
    .slice(0, 200)
    .replaceAll(/[^\w.:~-]/g, '')
    .slice(0, 80);

/**
 * The text, if it is a whole document of that root. Something between us and the store may answer in its place with a
 * page of its own and `200`, and that must not be taken for a list of nothing.
 */
export function demandDocument(xml: string, root: string): string {
  if (isWholeDocument(xml, root)) return xml;
  throw new WorkcrateError(
    'storage_failed',
    'The answer is not that of an object store. Check its address, and any proxy in between.',
    { cause: new Error(`the answer is not a complete ${root}`) },
  );
}
