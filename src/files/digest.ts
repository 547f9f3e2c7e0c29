import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';

/** What is known of bytes once they have all been seen. The CRC is for ZIPs made of the file later. */
export interface Digest {
  readonly size: number;
  readonly sha256: string;
  readonly crc32: number;
}

/** Passes bytes through and knows their digest at the end. */
export function digesting(bytes: AsyncIterable<Uint8Array>): {
  bytes: AsyncIterable<Uint8Array>;
  digest(): Digest;
} {
  const hash = createHash('sha256');
  let size = 0;
  let crc = 0;
  const passed = async function* (): AsyncGenerator<Uint8Array> {
    for await (const chunk of bytes) {
      hash.update(chunk);
      crc = crc32(chunk, crc);
      size += chunk.length;
      yield chunk;
    }
  };
  return { bytes: passed(), digest: () => ({ size, sha256: hash.digest('hex'), crc32: crc }) };
}

/** The digest of bytes that are not needed otherwise. */
export async function digestOf(bytes: AsyncIterable<Uint8Array>): Promise<Digest> {
  const through = digesting(bytes);
  for await (const _ of through.bytes);
  return through.digest();
}
