import { isWorkcrateError } from '../errors.ts';
import { tooLarge } from '../files/files.ts';

/** Unannounced bytes are promised room ahead, as much again as has come within these bounds: the quota is asked seldom. */
const leastAhead = 64 * 1024;
const mostAhead = 64 * 1024 * 1024;

/**
 * Bounds bytes on their way in: at most `most` in all, and never more than there is room for. `reserve`
 * makes sure of room for that many bytes of the file, or rejects.
 */
export async function* receive(
  bytes: AsyncIterable<Uint8Array>,
  from: number,
  most: number,
  reserve: (upTo: number) => Promise<void>,
): AsyncGenerator<Uint8Array> {
  let size = from;
  let room = from;
  for await (const chunk of bytes) {
    size += chunk.length;
    if (size > most) throw tooLarge(most);
    if (size > room) room = await reserveAhead(size, most, reserve);
    yield chunk;
  }
}

/** Where there is no room to spare, there may still be enough. */
async function reserveAhead(
  size: number,
  most: number,
  reserve: (upTo: number) => Promise<void>,
): Promise<number> {
  const ahead = Math.min(most, size + Math.min(mostAhead, Math.max(leastAhead, size)));
  try {
    await reserve(ahead);
    return ahead;
  } catch (error) {
    if (!isWorkcrateError(error, 'quota_exceeded')) throw error;
  }
  await reserve(size);
  return size;
}
