import type { ServerResponse } from 'node:http';
import type { Caller } from '../identity.ts';
import { jsonResponse } from '../web/answer.ts';
import type { Artifact, Artifacts } from './artifacts.ts';

export interface Streaming {
  readonly artifacts: Pick<Artifacts, 'use'>;
  readonly caller: Caller;
  readonly name: string;
  /** Where the answer goes, if that is a connection. */
  readonly connection: ServerResponse | null;
}

/**
 * The answer of A8, written while the artifact is read, so that its size costs no memory. What fails before
 * the first bytes are read is an error like any other; what fails later breaks the connection.
 */
export function streamed({ artifacts, caller, name, connection }: Streaming): Promise<Response> {
  const answer = Promise.withResolvers<Response>();
  const gone = new AbortController();
  const wanted = { name, delivery: 'base64', signal: gone.signal } as const;
  const giving = artifacts.use(caller, wanted, async (artifact) => {
    const pieces = bodyOf(artifact);
    const first = await pieces.next();
    const { body, ended } = streamOf(first, pieces, connection, gone);
    answer.resolve(new Response(body, { headers: headersFor(artifact) }));
    await ended;
  });
  giving.catch(answer.reject);
  return answer.promise;
}

/** The same without a body, for which nothing is read. */
export async function streamedHead({ artifacts, caller, name }: Streaming): Promise<Response> {
  const wanted = { name, delivery: 'base64' } as const;
  const headers = await artifacts.use(caller, wanted, async (artifact) => headersFor(artifact));
  return new Response(null, { headers });
}

const startOf = (name: string): string => `{"artifact_id":${JSON.stringify(name)},"data":"`;
const end = '","encoding":"base64"}\n';

function headersFor({ name, size }: Artifact): Headers {
  const { headers } = jsonResponse(null);
  const length = Buffer.byteLength(startOf(name)) + Math.ceil(size / 3) * 4 + end.length;
  headers.set('Content-Length', String(length));
  return headers;
}

/** One piece behind, so that an artifact of one piece has been found unchanged before a byte is given. */
async function* bodyOf(artifact: Artifact): AsyncGenerator<Buffer, void> {
  let ready = startOf(artifact.name);
  let isFirst = true;
  for await (const piece of artifact.bytes()) {
    if (!isFirst) {
      yield Buffer.from(ready);
      ready = '';
    }
    isFirst = false;
    ready += piece.toString('base64');
  }
  yield Buffer.from(ready + end);
}

/** `ended` settles when the artifact is not needed any more, and rejects if that came too early. */
export function streamOf(
  first: IteratorResult<Buffer, void>,
  pieces: AsyncGenerator<Buffer, void>,
  connection: ServerResponse | null,
  gone: AbortController,
): { body: ReadableStream<Buffer>; ended: Promise<void> } {
  const { promise: ended, resolve, reject } = Promise.withResolvers<void>();
  let next: Promise<IteratorResult<Buffer, void>> | null = Promise.resolve(first);

  async function pull(controller: ReadableStreamDefaultController<Buffer>): Promise<void> {
    try {
      const { done, value } = await (next ?? pieces.next());
      next = null;
      if (!done) return controller.enqueue(value);
      controller.close();
      resolve();
    } catch (error) {
      reject(error);
      // The framework would print an error of the stream, and might add its text to the body.
      if (connection === null) throw error;
      connection.destroy();
    }
  }

  /** Only when no read is under way: its descriptor is closed next. */
  async function cancel(): Promise<void> {
    await pieces.return();
    gone.abort();
    reject(gone.signal.reason);
  }

  // A connection that was gone before the answer never takes, and never cancels, the stream.
  if (connection?.closed) void cancel();
  else connection?.once('close', () => void cancel());
  return { body: new ReadableStream({ pull, cancel }, { highWaterMark: 0 }), ended };
}
