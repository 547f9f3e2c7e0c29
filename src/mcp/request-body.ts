import { isJsonContentType, readRequestBody } from '@modelcontextprotocol/server';
import { findBrokenBound, smallMessage, tooComplex } from './message-bounds.ts';

/** What a POST brings, or the answer to one whose body is not taken. Undefined where there is nothing to read. */
export type ReadBody = { readonly parsedBody: unknown } | { readonly refusal: Response } | undefined;

/**
 * The body of a request, read once for all who need it: the SDK would copy it, and read each copy, to tell the version
 * of the protocol before it reads it to answer. Every body is read here, so that none is parsed before it is counted.
 */
export async function readBody(request: Request): Promise<ReadBody> {
  if (request.method !== 'POST') return undefined;
  if (!isJsonContentType(request.headers.get('content-type'))) return { refusal: notJsonType() };
  const length = Number(request.headers.get('content-length') ?? Number.NaN);
  try {
    return length <= smallMessage ? { parsedBody: await request.json() } : await readLarge(request);
  } catch {
    // It is no JSON, or broke off.
    return { refusal: refuse(400, -32_700, 'Parse error: the request body is not valid JSON.') };
  }
}

async function readLarge(request: Request): Promise<ReadBody> {
  const body = await readRequestBody(request);
  if (body.tooLarge) return { refusal: tooLarge('its body has more than 4 MiB') };
  const bound = findBrokenBound(body.text);
  return bound === null ? { parsedBody: JSON.parse(body.text) } : { refusal: tooLarge(bound) };
}

const tooLarge = (bound: string): Response => refuse(413, -32_600, tooComplex(bound));

const notJsonType = (): Response =>
  refuse(415, -32_000, 'Unsupported Media Type: Content-Type must be application/json');

function refuse(status: number, code: number, message: string): Response {
  return Response.json({ jsonrpc: '2.0', id: null, error: { code, message } }, { status });
}
