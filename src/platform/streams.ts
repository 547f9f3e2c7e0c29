/**
 * Reads streams of bytes into memory, up to a limit. Chunks are copied, since most sources use their memory again
 * once the next chunk is asked for. It neither opens nor closes anything, and it knows no encodings but UTF-8.
 */

export interface CollectLimit {
  /** The most bytes that are collected. */
  readonly limit: number;
  /** What is thrown where there are more; `truncate` stops reading there and gives the start. */
  readonly tooLong: (() => Error) | 'truncate';
}

/** Without a limit, only for streams whose length was checked or is otherwise bounded. */
export async function collectBytes(
  chunks: AsyncIterable<Uint8Array>,
  { limit, tooLong }: CollectLimit = { limit: Infinity, tooLong: 'truncate' },
): Promise<Buffer> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    size += chunk.length;
    if (size > limit && tooLong !== 'truncate') throw tooLong();
    parts.push(Buffer.from(chunk));
    if (size > limit) break;
  }
  return Buffer.concat(parts, Math.min(size, limit));
}

export async function collectText(chunks: AsyncIterable<Uint8Array>, limit?: CollectLimit): Promise<string> {
  return (await collectBytes(chunks, limit)).toString('utf8');
}

/** Copies a stream into memory that is there already, and returns how much of it was filled. More is not copied. */
export async function fillBuffer(target: Uint8Array, chunks: AsyncIterable<Uint8Array>): Promise<number> {
  let filled = 0;
  for await (const chunk of chunks) {
    const part = chunk.subarray(0, target.length - filled);
    target.set(part, filled);
    filled += part.length;
  }
  return filled;
}
