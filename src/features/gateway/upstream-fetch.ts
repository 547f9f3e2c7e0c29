/**
 * How requests go out to a server at a URL: `fetch` with an answer that is bounded while it streams. Redirects, sessions
 * and the protocol are the SDK's.
 */
// outbound: a server behind the gateway streams its answers for as long as a call lasts
import type { FetchLike } from '@modelcontextprotocol/client';
import { createFloodWatch, maxServerMessageBytes, tooLongMessage } from './flood.ts';

/** A `fetch` whose answers end with an error where they are too long; `flooded` is told why. */
export function createUpstreamFetch(flooded: (why: string) => void): FetchLike {
  return async (url, init) => {
    const response = await fetch(url, init);
    if (response.body === null) return response;
    const { status, statusText, headers } = response;
    const body = response.body.pipeThrough(createBound(flooded));
    return new Response(body, { status, statusText, headers });
  };
}

/** Counts what has come since the last event of a stream ended, which for other answers is all of it. */
function createBound(flooded: (why: string) => void): TransformStream<Uint8Array, Uint8Array> {
  const flood = createFloodWatch();
  let sinceEvent = 0;
  return new TransformStream({
    transform(chunk, controller) {
      const end = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength).lastIndexOf('\n\n');
      sinceEvent = end === -1 ? sinceEvent + chunk.length : chunk.length - end - 2;
      const why =
        (sinceEvent > maxServerMessageBytes ? tooLongMessage : null) ??
        flood.countBytes(chunk.length) ??
        flood.countMessage();
      if (why === null) return controller.enqueue(chunk);
      flooded(why);
      controller.error(new Error(why));
    },
  });
}
