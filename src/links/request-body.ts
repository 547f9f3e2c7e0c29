import type { IncomingMessage, ServerResponse } from 'node:http';
import { WorkcrateError } from '../errors.ts';

/** Fewer bytes than this in `idleMs` are no progress, or a sender could go on forever by a byte at a time. */
const leastProgress = 1024;

/**
 * The bytes of a request. A sender that goes away is `upload_incomplete`, one that sends next to nothing for
 * `idleMs` is `stalled`; time in which nobody asks for bytes does not count. The connection stays open for
 * the answer. A client that waits for leave to send gets it here, once the upload is found fit.
 */
export async function* requestBody(
  req: IncomingMessage,
  res: ServerResponse,
  idleMs: number,
): AsyncGenerator<Uint8Array> {
  if (/^100-continue$/i.test(req.headers.expect ?? '')) res.writeContinue();
  const chunks = req.iterator({ destroyOnReturn: false }) as AsyncGenerator<Buffer>;
  let [patience, progress] = [idleMs, 0];
  try {
    for (;;) {
      const asked = performance.now();
      const { done, value } = await within(patience, chunks.next());
      if (done) break;
      [patience, progress] = [patience - (performance.now() - asked), progress + value.length];
      if (progress >= leastProgress) [patience, progress] = [idleMs, 0];
      yield value;
    }
  } finally {
    // Not awaited: behind a read that is under way, it ends only with the connection.
    void chunks.return(undefined);
  }
  if (!req.complete) throw incomplete();
}

async function within<T>(milliseconds: number, reading: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(stalled()), milliseconds);
  try {
    return await Promise.race([
      reading.catch((cause: unknown) => {
        throw incomplete(cause);
      }),
      promise,
    ]);
  } finally {
    clearTimeout(timer);
  }
}

function incomplete(cause?: unknown): WorkcrateError {
  return new WorkcrateError(
    'upload_incomplete',
    'The transfer was interrupted. Continue from the Upload-Offset that HEAD returns.',
    { cause },
  );
}

function stalled(): WorkcrateError {
  return new WorkcrateError(
    'stalled',
    'No bytes came for too long. Continue from the Upload-Offset that HEAD returns.',
  );
}
