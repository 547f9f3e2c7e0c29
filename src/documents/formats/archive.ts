import { crc32, deflateRawSync } from 'node:zlib';
import { collectBytes } from '../../streams.ts';
import { readMember, readZipDirectory, type Ranged, type ZipDirectory } from '../../zip/unzip.ts';
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

/** The first of January 1980, at midnight: a ZIP knows no earlier day, and ours are the same on every day. */
const COMPRESSED_MODIFIED = 0x0021_0000;
const VERSION = 20;
const UTF8_NAME = 0x0800;
const STORED = 0;
const DEFLATED = 8;

/** An archive as programs for offices write it: what gets shorter is compressed. It is far from what needs ZIP64. */
export function packCompressed(parts: readonly Part[]): Uint8Array {
  const [files, directory]: [Buffer[], Buffer[]] = [[], []];
  let at = 0;
  for (const part of parts) {
    const { data, fields, name } = memberOf(part);
    const local = Buffer.concat([numbers([0x04034b50, 4]), fields, name, data]);
    files.push(local);
    directory.push(
      Buffer.concat([
        numbers([0x02014b50, 4], [VERSION, 2]),
        fields,
        // No remark, on the first disk, without attributes.
        numbers([0, 2], [0, 2], [0, 2], [0, 4], [at, 4]),
        name,
      ]),
    );
    at += local.length;
  }
  const size = directory.reduce((sum, { length }) => sum + length, 0);
  const count: Field = [parts.length, 2];
  const end = numbers([0x06054b50, 4], [0, 2], [0, 2], count, count, [size, 4], [at, 4], [0, 2]);
  return Buffer.concat([...files, ...directory, end]);
}

/** What both headers of a member say of it. */
function memberOf({ name: text, bytes }: Part): { data: Uint8Array; fields: Buffer; name: Buffer } {
  const name = Buffer.from(text);
  const deflated = deflateRawSync(bytes);
  const isShorter = deflated.length < bytes.length;
  const data = isShorter ? deflated : bytes;
  const fields = numbers(
    [VERSION, 2],
    [UTF8_NAME, 2],
    [isShorter ? DEFLATED : STORED, 2],
    [COMPRESSED_MODIFIED, 4],
    [crc32(bytes), 4],
    [data.length, 4],
    [bytes.length, 4],
    [name.length, 2],
    [0, 2],
  );
  return { data, fields, name };
}

type Field = readonly [value: number, bytes: number];

function numbers(...fields: readonly Field[]): Buffer {
  const written = fields.map(([value, bytes]) => {
    const field = Buffer.alloc(bytes);
    field.writeUIntLE(value, 0, bytes);
    return field;
  });
  return Buffer.concat(written);
}
