/**
 * Refuses an array of messages. No version since 2025-06-18 has those, and the SDK, which takes them still, refuses all
 * calls of one for the first that is forbidden, without a word on the others.
 */
export function batchRefused(): Response {
  const message = 'Batches are not supported. Send each message in its own request.';
  const error = { code: -32_600, message };
  return Response.json({ jsonrpc: '2.0', id: null, error }, { status: 400 });
}
