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

export async function readWhole(answer: RemoteAnswer, longest = longestUsually): Promise<WholeAnswer> {
  const text = await readText(answer, longest);
  const { status, headers } = answer;
  return { status, headers, text, refusal: refusalOf(answer, text) };
}

/** Where the store refused, its reason is read; else the body is left to the caller. */
export async function readRefusal(answer: RemoteAnswer): Promise<StreamedAnswer> {
  return { ...answer, refusal: answer.status < 300 ? null : refusalOf(answer, await readText(answer)) };
}

async function readText({ body }: RemoteAnswer, longest = longestUsually): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    length += chunk.length;
    if (length > longest) throw new Error(`the answer is longer than ${longest} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

/** S3 may fail after it has said 200: then the body is an error, and is taken for a 500. */
function refusalOf({ status, headers }: RemoteAnswer, text: string): Refusal | null {
  const isLate = status < 300 && /^\s*(?:<\?xml[^>]*\?>\s*)?<Error[\s>]/.test(text);
  if (status < 300 && !isLate) return null;
  const code = headers['x-ms-error-code'] ?? element(text, 'Code') ?? '';
  const requestId = headers['x-amz-request-id'] ?? headers['x-ms-request-id'] ?? '';
  return { status: isLate ? 500 : status, code: short(code), requestId: short(requestId) };
}

/** Whoever answers may not be the store at all: what is kept of it is short and plain. */
const short = (value: string | string[]): string =>
  String(value)
    .replaceAll(/[^\w.:~-]/g, '')
    .slice(0, 80);

/** The text of the first element of that name, or null. */
export function element(xml: string, name: string): string | null {
  const found = new RegExp(`<${name}(?:\\s[^>]*)?>([^<]*)</${name}>`).exec(xml);
  return found === null ? null : unescaped(found[1]!);
}

/** What stands within each element of that name, which does not hold another of the same name. */
export function elements(xml: string, name: string): string[] {
  return xml.match(new RegExp(`<${name}(?:\\s[^>]*)?>.*?</${name}>`, 'gs')) ?? [];
}

const entities: Record<string, string> = { lt: '<', gt: '>', quot: '"', apos: "'", amp: '&' };

function unescaped(text: string): string {
  return text.replaceAll(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|(lt|gt|quot|apos|amp));/gi, (_, dec, hex, name) =>
    name === undefined
      ? String.fromCodePoint(Math.min(0x10ffff, dec === undefined ? parseInt(hex, 16) : Number(dec)))
      : entities[name.toLowerCase()]!,
  );
}
