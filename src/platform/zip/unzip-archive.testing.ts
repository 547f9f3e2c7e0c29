import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { crc32, deflateRawSync } from 'node:zlib';
import type { RangeReader } from './unzip.ts';

/** A member of an archive made by hand; what is not given is made so that it is right. */
export interface TestMember {
  readonly name: string | Buffer;
  readonly bytes?: Uint8Array;
  readonly method?: number;
  /** As it stands in the archive, where that is not what `bytes` and `method` give. */
  readonly packed?: Uint8Array;
  readonly central?: Partial<Fields>;
  readonly local?: Partial<Fields> & { readonly signature?: number };
  /** Sizes and CRC behind the bytes, zeros in the local header. */
  readonly streamed?: boolean;
  /** Sizes and offset in ZIP64 fields. */
  readonly wide?: boolean;
}

interface Fields {
  readonly name: string | Buffer;
  readonly madeBy: number;
  readonly flags: number;
  readonly method: number;
  readonly time: number;
  readonly crc32: number;
  readonly compressedSize: number;
  readonly size: number;
  readonly extra: Buffer;
  readonly comment: string;
  readonly disk: number;
  readonly attributes: number;
  readonly offset: number;
}

export interface TestEnd {
  /** Put in front, without a change of offsets. */
  readonly prefix?: Uint8Array;
  readonly comment?: string | Buffer;
  /** Between the directory and the end. */
  readonly gap?: Uint8Array;
  readonly behind?: Uint8Array;
  readonly wide?: boolean;
  readonly count?: number;
  readonly size?: number;
  readonly offset?: number;
  readonly disk?: number;
  /** Of the ZIP64 record, by how much its locator misses it. */
  readonly astray?: number;
  readonly wideCount?: number;
  readonly wideVersion?: number;
  /** More bytes in the ZIP64 record. */
  readonly wideMore?: Buffer;
}

const UTF8 = 0x0800;
const MODIFIED = ((2026 - 1980) << 25) | (7 << 21) | (1 << 16) | (12 << 11);

export function archive(members: readonly TestMember[], end: TestEnd = {}): Buffer {
  const parts: Buffer[] = [];
  const records: Buffer[] = [];
  let offset = 0;
  for (const member of members) {
    const { local, central } = recordsOf(member, offset);
    parts.push(local);
    records.push(central);
    offset += local.length;
  }
  const directory = Buffer.concat(records);
  return Buffer.concat([
    end.prefix ?? Buffer.alloc(0),
    ...parts,
    directory,
    end.gap ?? Buffer.alloc(0),
    endOf({ count: members.length, size: directory.length, offset, ...end }),
    end.behind ?? Buffer.alloc(0),
  ]);
}

function recordsOf(member: TestMember, offset: number): { local: Buffer; central: Buffer } {
  const { bytes = Buffer.alloc(0), method = 0, streamed = false, wide = false } = member;
  const packed = Buffer.from(member.packed ?? (method === 8 ? deflateRawSync(bytes) : bytes));
  const sizes = { crc32: crc32(bytes), compressedSize: packed.length, size: bytes.length };
  const fields = {
    name: member.name,
    madeBy: (3 << 8) | 45,
    flags: (typeof member.name === 'string' ? UTF8 : 0) | (streamed ? 8 : 0),
    method,
    time: MODIFIED,
    ...sizes,
    extra: Buffer.alloc(0),
    comment: '',
    disk: 0,
    attributes: 0o100644 * 65536,
    offset,
  };
  const full = { compressedSize: 0xffffffff, size: 0xffffffff };
  const inCentral = wide
    ? { ...full, offset: 0xffffffff, extra: zip64Field(bytes.length, packed.length, offset) }
    : {};
  const inLocal = wide ? { ...full, extra: zip64Field(bytes.length, packed.length) } : {};
  const unknown = streamed ? { crc32: 0, compressedSize: 0, size: 0 } : inLocal;
  const descriptor = streamed
    ? numbers(0x08074b50, sizes.crc32, packed.length, bytes.length)
    : Buffer.alloc(0);
  const local = localRecord({ ...fields, ...unknown, ...member.local });
  return {
    local: Buffer.concat([local, packed, descriptor]),
    central: centralRecord({ ...fields, ...inCentral, ...member.central }),
  };
}

export function zip64Field(...values: number[]): Buffer {
  return extraField(0x0001, Buffer.concat(values.map(wideNumber)));
}

export function extraField(id: number, data: Buffer): Buffer {
  return Buffer.concat([shorts(id, data.length), data]);
}

function localRecord(fields: Fields & { readonly signature?: number }): Buffer {
  const name = Buffer.from(fields.name);
  return Buffer.concat([
    numbers(fields.signature ?? 0x04034b50),
    shorts(20, fields.flags, fields.method),
    numbers(fields.time >>> 0, fields.crc32, fields.compressedSize, fields.size),
    shorts(name.length, fields.extra.length),
    name,
    fields.extra,
  ]);
}

function centralRecord(fields: Fields): Buffer {
  const name = Buffer.from(fields.name);
  const comment = Buffer.from(fields.comment);
  return Buffer.concat([
    numbers(0x02014b50),
    shorts(fields.madeBy, 20, fields.flags, fields.method),
    numbers(fields.time >>> 0, fields.crc32, fields.compressedSize, fields.size),
    shorts(name.length, fields.extra.length, comment.length, fields.disk, 0),
    numbers(fields.attributes, fields.offset),
    name,
    fields.extra,
    comment,
  ]);
}

function endOf(end: TestEnd & { count: number; size: number; offset: number }): Buffer {
  const { count, size, offset, wide = false, disk = 0 } = end;
  const comment = Buffer.from(end.comment ?? '');
  const record = Buffer.concat([
    numbers(0x06054b50),
    shorts(disk, disk, wide ? 0xffff : count, wide ? 0xffff : count),
    wide ? numbers(0xffffffff, 0xffffffff) : numbers(size, offset),
    shorts(comment.length),
    comment,
  ]);
  return wide ? Buffer.concat([wideEnd(end), record]) : record;
}

function wideEnd(end: TestEnd & { count: number; size: number; offset: number }): Buffer {
  const {
    count,
    size,
    offset,
    wideCount = count,
    wideVersion = 45,
    wideMore = Buffer.alloc(0),
    astray = 0,
  } = end;
  return Buffer.concat([
    numbers(0x06064b50),
    wideNumber(44 + wideMore.length),
    shorts(45, wideVersion),
    numbers(0, 0),
    ...[wideCount, wideCount, size, offset].map(wideNumber),
    wideMore,
    numbers(0x07064b50, 0),
    wideNumber(offset + size + astray),
    numbers(1),
  ]);
}

function numbers(...values: number[]): Buffer {
  const buffer = Buffer.alloc(values.length * 4);
  values.forEach((value, index) => buffer.writeUInt32LE(value, index * 4));
  return buffer;
}

function shorts(...values: number[]): Buffer {
  const buffer = Buffer.alloc(values.length * 2);
  values.forEach((value, index) => buffer.writeUInt16LE(value, index * 2));
  return buffer;
}

function wideNumber(value: number): Buffer {
  const buffer = Buffer.alloc(8);
  buffer.writeBigUInt64LE(BigInt(value));
  return buffer;
}

export interface Watched extends RangeReader {
  /** What was asked for, in order. */
  readonly asked: { start: number; end: number }[];
  /** How many reads have neither ended nor been given up. */
  readonly underWay: () => number;
}

/** Reads into one chunk again and again, and spoils it in between, as the rule about chunks allows. */
function ranged(size: number, copy: (target: Buffer, start: number) => void, most = 64 * 1024): Watched {
  const asked: { start: number; end: number }[] = [];
  let underWay = 0;
  return {
    size,
    asked,
    underWay: () => underWay,
    async *read(start, end, signal) {
      if (start < 0 || start > end || end > size) throw new RangeError(`${start} to ${end} of ${size}`);
      asked.push({ start, end });
      const chunk = Buffer.alloc(Math.min(most, end - start));
      underWay++;
      try {
        for (let at = start; at < end; at += most) {
          signal?.throwIfAborted();
          await setImmediate();
          const part = chunk.subarray(0, Math.min(most, end - at));
          copy(part, at);
          yield part;
          chunk.fill(0xee);
        }
      } finally {
        chunk.fill(0xee);
        underWay--;
      }
    },
  };
}

export function inMemory(bytes: Buffer, most?: number): Watched {
  return ranged(bytes.length, (target, start) => bytes.copy(target, 0, start), most);
}

export function onDisk(path: string): Watched & Disposable {
  const file = openSync(path, 'r');
  const reading = ranged(statSync(path).size, (target, start) =>
    readSync(file, target, 0, target.length, start),
  );
  return { ...reading, [Symbol.dispose]: () => closeSync(file) };
}
