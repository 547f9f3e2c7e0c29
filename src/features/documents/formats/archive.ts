import { crc32, deflateRawSync } from 'node:zlib';
import { collectBytes } from '../../../platform/streams.ts';
import {
  readMember,
  readZipDirectory,
  type RangeReader,
  type ZipDirectory,
} from '../../../platform/zip/unzip.ts';
import { createZipLayout } from '../../../platform/zip/zip.ts';

/** One file of an archive. */
export interface ArchivePart {
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** Far more than office documents have. */
const maxArchivePartBytes = 64 * 1024 * 1024;
const maxArchiveParts = 5000;

/** A fixed date, so that equal parts give equal bytes. */
const archiveModifiedAt = Date.UTC(1980, 0, 1);

export function readArchiveDirectory(bytes: Uint8Array, signal: AbortSignal): Promise<ZipDirectory> {
  return readZipDirectory(toRangedBytes(bytes), { signal, mostMembers: maxArchiveParts });
}

export async function unpackArchive(bytes: Uint8Array, signal: AbortSignal): Promise<ArchivePart[]> {
  const directory = await readArchiveDirectory(bytes, signal);
  const parts: ArchivePart[] = [];
  for (const member of directory) {
    if (member.isFolder) continue;
    const chunks = readMember(toRangedBytes(bytes), directory, member, {
      limit: maxArchivePartBytes,
      signal,
    });
    parts.push({ name: member.rawName, bytes: await collectBytes(chunks) });
  }
  return parts;
}

export function packArchive(parts: readonly ArchivePart[]): Uint8Array {
  const layout = createZipLayout(
    parts.map(({ name, bytes }) => {
      return { name, size: bytes.length, crc32: crc32(bytes), modified: archiveModifiedAt };
    }),
  );
  const pieces = [...layout.parts(0, layout.size)].map((piece) =>
    'bytes' in piece
      ? piece.bytes
      : (parts[piece.entry] as ArchivePart).bytes.subarray(piece.start, piece.end),
  );
  return Buffer.concat(pieces);
}

function toRangedBytes(bytes: Uint8Array): RangeReader {
  return {
    size: bytes.length,
    async *read(start, end) {
      yield bytes.subarray(start, end);
    },
  };
}

/** The first of January 1980, the earliest date in a ZIP. */
const archiveDosModifiedAt = 0x0021_0000;
const archiveZipVersion = 20;
const archiveUtf8NameFlag = 0x0800;
const archiveMethodStored = 0;
const archiveMethodDeflated = 8;

/** An archive as office programs write it: compressed where that helps. It is too small to need ZIP64. */
export function packCompressedArchive(parts: readonly ArchivePart[]): Uint8Array {
  const [files, directory]: [Buffer[], Buffer[]] = [[], []];
  let at = 0;
  for (const part of parts) {
    const { data, fields, name } = encodeArchiveMember(part);
    const local = Buffer.concat([encodeArchiveFields([0x04034b50, 4]), fields, name, data]);
    files.push(local);
    directory.push(
      Buffer.concat([
        encodeArchiveFields([0x02014b50, 4], [archiveZipVersion, 2]),
        fields,
        // No remark, on the first disk, without attributes.
        encodeArchiveFields([0, 2], [0, 2], [0, 2], [0, 4], [at, 4]),
        name,
      ]),
    );
    at += local.length;
  }
  const size = directory.reduce((sum, { length }) => sum + length, 0);
  const count: ArchiveField = [parts.length, 2];
  const end = encodeArchiveFields([0x06054b50, 4], [0, 2], [0, 2], count, count, [size, 4], [at, 4], [0, 2]);
  return Buffer.concat([...files, ...directory, end]);
}

/** The fields that both headers of a member share. */
function encodeArchiveMember({ name: text, bytes }: ArchivePart): {
  data: Uint8Array;
  fields: Buffer;
  name: Buffer;
} {
  const name = Buffer.from(text);
  const deflated = deflateRawSync(bytes);
  const isShorter = deflated.length < bytes.length;
  const data = isShorter ? deflated : bytes;
  const fields = encodeArchiveFields(
    [archiveZipVersion, 2],
    [archiveUtf8NameFlag, 2],
    [isShorter ? archiveMethodDeflated : archiveMethodStored, 2],
    [archiveDosModifiedAt, 4],
    [crc32(bytes), 4],
    [data.length, 4],
    [bytes.length, 4],
    [name.length, 2],
    [0, 2],
  );
  return { data, fields, name };
}

type ArchiveField = readonly [value: number, bytes: number];

function encodeArchiveFields(...fields: readonly ArchiveField[]): Buffer {
  const written = fields.map(([value, bytes]) => {
    const field = Buffer.alloc(bytes);
    field.writeUIntLE(value, 0, bytes);
    return field;
  });
  return Buffer.concat(written);
}
