import { createHash } from 'node:crypto';

export interface Part {
  readonly bytes: Uint8Array;
  readonly digest: Buffer;
}

/** Chunks gathered into parts of one size, in buffers that are used again once they are given back. */
export interface Parts {
  readonly all: AsyncGenerator<Part>;
  giveBack(part: Part): void;
}

export interface PartOptions {
  readonly partBytes: number;
  /** What the store checks parts by. Done as the bytes come: a large part at once would hold up everything else. */
  readonly hash: 'sha256' | 'md5';
  /** Bytes from before, which the first part begins with. They are left as they are. */
  readonly before?: Buffer<ArrayBuffer>;
  readonly signal?: AbortSignal | undefined;
}

const smallestBuffer = 64 * 1024;
const nothing = Buffer.alloc(0);

/**
 * Every part but the last is of `partBytes`, or longer where `before` is. There is always one, be it empty. When the source fails or the signal
 * fires, what came before is still passed on as a part, and then the failure.
 */
export function partsOf(bytes: AsyncIterable<Uint8Array>, options: PartOptions): Parts {
  const { partBytes, signal, before = nothing } = options;
  const free: Buffer<ArrayBuffer>[] = [];
  const roomFor = (needed: number): Buffer<ArrayBuffer> =>
    free.pop() ?? Buffer.allocUnsafeSlow(Math.min(partBytes, Math.max(2 * needed, smallestBuffer)));

  async function* gather(): AsyncGenerator<Part> {
    let [buffer, held, isFirst] = [before, before.length, true];
    let hash = createHash(options.hash).update(before);
    const part = (): Part => ({ bytes: buffer.subarray(0, held), digest: hash.digest() });
    try {
      for await (const chunk of bytes) {
        signal?.throwIfAborted();
        for (let at = 0; at < chunk.length;) {
          if (held >= partBytes) {
            yield part();
            [buffer, held, isFirst] = [nothing, 0, false];
            hash = createHash(options.hash);
          }
          const piece = chunk.subarray(at, at + partBytes - held);
          if (held + piece.length > buffer.length) buffer = moved(buffer, held, roomFor(held + piece.length));
          buffer.set(piece, held);
          hash.update(piece);
          held += piece.length;
          at += piece.length;
        }
      }
    } catch (error) {
      if (held > 0 || isFirst) yield part();
      throw error;
    }
    if (held > 0 || isFirst) yield part();
  }

  return {
    all: gather(),
    giveBack(part) {
      const whole = Buffer.from(part.bytes.buffer as ArrayBuffer);
      if (whole.length === partBytes) free.push(whole);
    },
  };
}

function moved(from: Buffer, held: number, to: Buffer<ArrayBuffer>): Buffer<ArrayBuffer> {
  to.set(from.subarray(0, held));
  return to;
}
