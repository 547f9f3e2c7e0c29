import { crc32 } from 'node:zlib';
import { collectBytes } from '../../streams.ts';
import { readMember, readZipDirectory, type Ranged, type ZipDirectory } from '../../unzip/unzip.ts';
import { zipLayout } from '../../zip/zip.ts';

/** One file of an archive. */
export interface Part {
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** The parts of an office document take far less. */
const MOST_PART = 64 * 1024 * 1024;
const MOST_PARTS = 5000;

/** The same archive on every day: a fixed moment of its own would be one more thing to hand around. */
const MODIFIED = Date.UTC(1980, 0, 1);

export function directoryOf(bytes: Uint8Array, signal: AbortSignal): Promise<ZipDirectory> {
  return readZipDirectory(rangedOf(bytes), { signal, mostMembers: MOST_PARTS });
}

export async function unpack(bytes: Uint8Array, signal: AbortSignal): Promise<Part[]> {
  const directory = await directoryOf(bytes, signal);
  const parts: Part[] = [];
  for (const member of directory) {
    if (member.isFolder) continue;
    const chunks = readMember(rangedOf(bytes), directory, member, { limit: MOST_PART, signal });
    parts.push({ name: member.rawName, bytes: await collectBytes(chunks) });
  }
  return parts;
}

export function pack(parts: readonly Part[]): Uint8Array {
  const layout = zipLayout(
    parts.map(({ name, bytes }) => {
      return { name, size: bytes.length, crc32: crc32(bytes), modified: MODIFIED };
    }),
  );
  const pieces = [...layout.parts(0, layout.size)].map((piece) =>
    'bytes' in piece ? piece.bytes : (parts[piece.entry] as Part).bytes.subarray(piece.start, piece.end),
  );
  return Buffer.concat(pieces);
}

function rangedOf(bytes: Uint8Array): Ranged {
  return {
    size: bytes.length,
    async *read(start, end) {
      yield bytes.subarray(start, end);
    },
  };
}
