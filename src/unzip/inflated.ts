import { pipeline } from 'node:stream/promises';
import { createInflateRaw } from 'node:zlib';
import { damaged, quoted } from './failures.ts';
import type { ZipMember } from './member.ts';

const CHUNK = 32 * 1024;

/** Inflates as fast as it is read, and holds some chunks at most, whatever comes out. */
export async function* inflated(
  packed: AsyncIterable<Uint8Array>,
  member: ZipMember,
): AsyncGenerator<Uint8Array, void, undefined> {
  const inflate = createInflateRaw({ chunkSize: CHUNK });
  // Its failures come out of the loop below as well.
  const feeding = pipeline(copies(packed), inflate).catch(() => {});
  try {
    for await (const chunk of inflate) yield chunk as Buffer;
  } catch (error) {
    throw isOfZlib(error) ? damaged(`${quoted(member.rawName)} cannot be inflated`) : error;
  } finally {
    inflate.destroy();
    await feeding;
  }
  // Bytes behind the end of the compressed ones are passed over without a word.
  if (inflate.bytesWritten !== member.compressedSize)
    throw damaged(`${quoted(member.rawName)} ends before its bytes do`);
}

/** The stream asks for the next chunk before it is done with one. */
async function* copies(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer, void, undefined> {
  for await (const chunk of chunks) yield Buffer.from(chunk);
}

function isOfZlib(error: unknown): boolean {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('Z_');
}
