/** Chunks gathered into parts of one size, in buffers that are used again once they are given back. */
export interface Parts {
  readonly all: AsyncGenerator<Uint8Array>;
  giveBack(part: Uint8Array): void;
}

const smallest = 64 * 1024;

/**
 * Every part but the last is of `partBytes`. There is always one, be it empty. When the source fails or the signal
 * fires, what came before is still passed on as a part, and then the failure.
 */
export function partsOf(bytes: AsyncIterable<Uint8Array>, partBytes: number, signal?: AbortSignal): Parts {
  const free: Buffer<ArrayBuffer>[] = [];
  const roomFor = (needed: number): Buffer<ArrayBuffer> =>
    free.pop() ?? Buffer.allocUnsafeSlow(Math.min(partBytes, Math.max(2 * needed, smallest)));

  async function* gather(): AsyncGenerator<Uint8Array> {
    let [buffer, held, isFirst] = [Buffer.alloc(0), 0, true];
    try {
      for await (const chunk of bytes) {
        signal?.throwIfAborted();
        for (let at = 0; at < chunk.length;) {
          if (held === partBytes) {
            yield buffer;
            [buffer, held, isFirst] = [Buffer.alloc(0), 0, false];
          }
          const piece = chunk.subarray(at, at + partBytes - held);
          if (held + piece.length > buffer.length) buffer = moved(buffer, held, roomFor(held + piece.length));
          buffer.set(piece, held);
          held += piece.length;
          at += piece.length;
        }
      }
    } catch (error) {
      if (held > 0 || isFirst) yield buffer.subarray(0, held);
      throw error;
    }
    if (held > 0 || isFirst) yield buffer.subarray(0, held);
  }

  return {
    all: gather(),
    giveBack(part) {
      const whole = Buffer.from(part.buffer as ArrayBuffer);
      if (whole.length === partBytes) free.push(whole);
    },
  };
}

function moved(from: Buffer, held: number, to: Buffer<ArrayBuffer>): Buffer<ArrayBuffer> {
  to.set(from.subarray(0, held));
  return to;
}
