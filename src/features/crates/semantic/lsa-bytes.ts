import { WorkcrateError } from '../../../platform/errors.ts';
import type { LsaModel } from './lsa.ts';
import { programName } from '../../../platform/program.ts';

type Head = { dimensions: number; averageLength: number; stems: string[] };

/** A model as it is stored: the length of its head, the head as JSON, rarities, places. */
export function lsaToBytes({ dimensions, averageLength, stems, rarities, places }: LsaModel): Buffer {
  const head = Buffer.from(JSON.stringify({ dimensions, averageLength, stems }));
  const length = Buffer.alloc(4);
  length.writeUInt32LE(head.length);
  return Buffer.concat([length, head, bytesOf(rarities), bytesOf(places)]);
}

export function lsaFromBytes(bytes: Buffer): LsaModel {
  if (bytes.length < 4) throw modelDamagedError();
  const start = 4 + bytes.readUInt32LE(0);
  if (bytes.length < start) throw modelDamagedError();
  const head = JSON.parse(bytes.toString('utf8', 4, start)) as Head;
  const middle = start + head.stems.length * 8;
  if (bytes.length !== middle + head.stems.length * head.dimensions * 4) throw modelDamagedError();
  const rarities = new Float64Array(copyBytes(bytes, start, middle));
  const places = new Float32Array(copyBytes(bytes, middle, bytes.length));
  return { ...head, rarities, places };
}

export const bytesOf = (numbers: Float32Array | Float64Array): Buffer =>
  Buffer.from(numbers.buffer, numbers.byteOffset, numbers.byteLength);

/** Floats have to begin at a multiple of their size, which bytes from a database need not. */
export const floatsOf = (bytes: Uint8Array): Float32Array<ArrayBuffer> =>
  new Float32Array(copyBytes(bytes, 0, bytes.length - (bytes.length % 4)));

function copyBytes(bytes: Uint8Array, start: number, end: number): ArrayBuffer {
  const copy = new Uint8Array(end - start);
  copy.set(bytes.subarray(start, end));
  return copy.buffer;
}

const modelDamagedError = (): WorkcrateError =>
  new WorkcrateError(
    'database_failed',
    `The stored model of the search by meaning is damaged. Remove the index of crates and run ${programName} index.`,
  );
