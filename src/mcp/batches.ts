/**
 * Whether the body is an array of messages. No version since 2025-06-18 has those, and the SDK, which takes them still,
 * refuses all calls of one for the first that is forbidden, without a word on the others.
 */
export async function isBatch(request: Request, parsedBody: unknown): Promise<boolean> {
  if (parsedBody !== undefined) return Array.isArray(parsedBody);
  if (request.method !== 'POST') return false;
  // Only the beginning is read, and of a copy: the body is the SDK's to read.
  for await (const text of request.clone().body?.pipeThrough(new TextDecoderStream()) ?? []) {
    const begun = text.trimStart();
    if (begun !== '') return begun.startsWith('[');
  }
  return false;
}

export function batchRefused(): Response {
  const message = 'Several messages in one request are not taken. Send each in a request of its own.';
  const error = { code: -32_600, message };
  return Response.json({ jsonrpc: '2.0', id: null, error }, { status: 400 });
}
