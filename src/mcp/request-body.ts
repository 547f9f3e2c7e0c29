import { isJsonContentType } from '@modelcontextprotocol/server';

/** What is longer, or does not say how long it is, the SDK reads within bounds of its own. */
const mostAtOnce = 1024 * 1024;

/** What was to be JSON and is not, or broke off. */
export const unreadable = Symbol('unreadable');

/**
 * The body of a request, read once for all who need it: the SDK would copy it, and read each copy, to tell the version
 * of the protocol before it reads it to answer. Undefined where it is the SDK's to read.
 */
export async function bodyOf(request: Request): Promise<unknown> {
  const length = Number(request.headers.get('content-length') ?? Number.NaN);
  if (request.method !== 'POST' || !(length > 0 && length <= mostAtOnce)) return undefined;
  if (!isJsonContentType(request.headers.get('content-type'))) return undefined;
  try {
    return await request.json();
  } catch {
    return unreadable;
  }
}

export function notJson(): Response {
  const error = { code: -32_700, message: 'Parse error: the request body is not valid JSON.' };
  return Response.json({ jsonrpc: '2.0', id: null, error }, { status: 400 });
}
