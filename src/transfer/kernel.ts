import { yieldToEventLoop } from '../concurrency/yield.ts';
import { takeTiny } from './buffers.ts';
import type { Client } from './client.ts';
import { truncated } from './failures.ts';
import { sendPooled } from './pooled.ts';
import { fillAtOnce } from './read.ts';
import type { FileRange } from './segment.ts';
import type { Sendfile } from './sendfile.ts';

/** After so many of one client's bytes the others have their turn. */
export const TURN_BYTES = 2 * 1024 * 1024;

/** So many refusals before the first byte mean that sendfile does not work on this file at all. */
const REFUSALS = 8;

/** Lets the kernel move the bytes from the page cache to the socket: nothing is copied through this process. */
export function sendByKernel(client: Client, sendfile: Sendfile, range: FileRange): void | Promise<void> {
  const moved = move(client, sendfile, range);
  // What fits into the socket at once, as 100 KB do, is done without a promise.
  if (moved < range.end - range.start) return sendRest(client, sendfile, after(range, moved));
}

async function sendRest(client: Client, sendfile: Sendfile, range: FileRange): Promise<void> {
  let [rest, refusals, works] = [range, 0, false];
  while (rest.start < rest.end) {
    const moved = move(client, sendfile, rest);
    if (moved === 0) throw truncated();
    works ||= moved > 0;
    rest = after(rest, moved);
    if (moved === TURN_BYTES) await yieldToEventLoop();
    else rest = after(rest, await sendOneChunk(client, rest));
    if (!works && (refusals += 1) === REFUSALS) return sendPooled(client, rest);
  }
}

function move(client: Client, sendfile: Sendfile, { file, start, end }: FileRange): number {
  const asked = Math.min(end - start, TURN_BYTES);
  return client.withDescriptor((socket) => sendfile(socket, file, start, asked));
}

const after = (range: FileRange, moved: number) => ({ ...range, start: range.start + Math.max(moved, 0) });

/**
 * For a full socket: an ordinary write waits for room, and reports what else may be wrong with it. Its
 * chunk is tiny, since whatever is written so is copied, and every client that is slower than we are has one.
 */
async function sendOneChunk(client: Client, { file, start, end }: FileRange): Promise<number> {
  if (start === end) return 0;
  using buffer = takeTiny();
  const bytes = buffer.bytes.subarray(0, end - start);
  fillAtOnce(file, bytes, start);
  await client.write(bytes);
  return bytes.length;
}
