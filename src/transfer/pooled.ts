import { takeLarge, takeSmall } from './buffers.ts';
import type { Client } from './client.ts';
import { fillInBackground } from './read.ts';
import type { FileRange } from './segment.ts';

/** A client that takes longer than this over a buffer would only keep a large one from the others. */
const PROMPT_MS = 100;

/** Reads and writes in turn with one buffer at a time, so that a slow client holds no more than that. */
export async function sendPooled(client: Client, { file, start, end }: FileRange): Promise<void> {
  for (let at = start, prompt = true; at < end;) {
    using buffer = prompt ? takeLarge() : takeSmall();
    const bytes = buffer.bytes.subarray(0, Math.min(end - at, buffer.bytes.length));
    await fillInBackground(file, bytes, at);
    const began = performance.now();
    await client.write(bytes);
    prompt = performance.now() - began < PROMPT_MS;
    at += bytes.length;
  }
}
