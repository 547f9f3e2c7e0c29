import { yieldToEventLoop } from '../concurrency/yield.ts';
import { SMALL_BUFFER } from './buffers.ts';
import type { Client } from './client.ts';
import { truncated, wrongLength } from './failures.ts';
import { Gather } from './gather.ts';
import { sendByKernel, TURN_BYTES } from './kernel.ts';
import { sendPooled } from './pooled.ts';
import { type Fill, fillAtOnce, fillInBackground } from './read.ts';
import { type FileRange, lengthOf, type ObjectRange, type Segment } from './segment.ts';
import type { Sendfile } from './sendfile.ts';

// Promises, `for await` and `using` are avoided on the way of a small file: they took a third of its time.

/** What a segment counts for at least, since a tiny one costs time too. */
const SEGMENT_COST = 32 * 1024;

/** Sends each segment in the cheapest way there is for it, `promised` bytes in all, and ends the response. */
export async function sendBody(
  client: Client,
  segments: AsyncIterable<Segment> | Iterable<Segment>,
  sendfile: Sendfile | null,
  promised: number,
): Promise<void> {
  const gather = new Gather(client);
  let [left, turn] = [promised, TURN_BYTES];
  try {
    await each(segments, (segment) => {
      left -= lengthOf(segment);
      // Before any byte too many: the client would read it as the next response.
      if (left < 0) throw wrongLength(promised);
      const pending = sendSegment(client, gather, segment, sendfile);
      turn -= Math.max(lengthOf(segment), SEGMENT_COST);
      if (turn > 0) return pending;
      turn = TURN_BYTES;
      return Promise.resolve(pending).then(yieldToEventLoop);
    });
    if (left > 0) throw wrongLength(promised);
    await gather.end();
  } finally {
    gather.release();
  }
}

/** One after the other. */
async function each<T>(items: AsyncIterable<T> | Iterable<T>, act: (item: T) => void | Promise<void>) {
  if (!(Symbol.iterator in items)) {
    for await (const item of items) await act(item);
    return;
  }
  for (const item of items) {
    const pending = act(item);
    if (pending !== undefined) await pending;
  }
}

function sendSegment(
  client: Client,
  gather: Gather,
  segment: Segment,
  sendfile: Sendfile | null,
): void | Promise<void> {
  if ('bytes' in segment) return gather.add(segment.bytes);
  const { object, start, end } = segment;
  if (object.descriptor === null) return sendStream(client, gather, segment);
  const range = { file: object.descriptor, start, end };
  if (end - start > SMALL_BUFFER) return sendLarge(client, gather, range, sendfile);
  return sendSmall(gather, range, sendfile === null ? fillInBackground : fillAtOnce);
}

function sendSmall(gather: Gather, { file, start, end }: FileRange, fill: Fill): void | Promise<void> {
  if (gather.hasSpace(end - start)) return fill(file, gather.space(end - start), start);
  return gather.flush().then(() => fill(file, gather.space(end - start), start));
}

function sendLarge(
  client: Client,
  gather: Gather,
  range: FileRange,
  sendfile: Sendfile | null,
): void | Promise<void> {
  if (!gather.isEmpty) return gather.flush().then(() => sendLarge(client, gather, range, sendfile));
  return sendfile === null ? sendPooled(client, range) : sendByKernel(client, sendfile, range);
}

/** For storage without descriptors, which is told to stop when the client goes away. */
async function sendStream(
  client: Client,
  gather: Gather,
  { object, start, end }: ObjectRange,
): Promise<void> {
  using closing = client.closing();
  let left = end - start;
  for await (const chunk of object.read(start, end, closing.signal)) {
    left -= chunk.length;
    if (left < 0) throw wrongLength(end - start);
    await gather.add(chunk);
  }
  client.demandPresence();
  if (left > 0) throw truncated();
}
