const headerBytes = 8;

/** A part of what came out of a container: 1 is its stdout, 2 its stderr. */
export interface Piece {
  readonly output: number;
  readonly bytes: Buffer;
}

/**
 * Takes the engine's stream apart: frames with a header of eight bytes, the output first and the length last.
 * Pieces are passed on as they come and never put together, so a frame of any length takes no memory.
 */
export async function* piecesOf(stream: AsyncIterable<Uint8Array>): AsyncGenerator<Piece> {
  let header = Buffer.alloc(0);
  let output = 0;
  let left = 0;
  for await (const chunk of stream) {
    let rest = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    while (rest.length > 0) {
      if (left > 0) {
        const bytes = rest.subarray(0, left);
        left -= bytes.length;
        rest = rest.subarray(bytes.length);
        yield { output, bytes };
        continue;
      }
      const missing = headerBytes - header.length;
      header = Buffer.concat([header, rest.subarray(0, missing)]);
      rest = rest.subarray(missing);
      if (header.length < headerBytes) break;
      output = header[0]!;
      left = header.readUInt32BE(4);
      header = Buffer.alloc(0);
    }
  }
}
