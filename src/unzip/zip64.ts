import { WorkcrateError } from '../errors.ts';
import { damaged, split, truncated } from './failures.ts';
import { number64, viewOf } from './fields.ts';
import type { Ranged } from './ranged.ts';
import { pieceOf, type Tail } from './tail.ts';

const LOCATOR = 20;
const LOCATOR_SIGNATURE = 0x07064b50;
const RECORD = 56;
const RECORD_SIGNATURE = 0x06064b50;
/** From this version on the record may be longer and tell how the directory is encrypted. */
const VERSION_ENCRYPTED_DIRECTORY = 62;

/** The end record of an archive that is too large for the old one. */
export interface Zip64 {
  readonly count: number;
  readonly size: number;
  readonly offset: number;
  /** Where the record itself begins. */
  readonly start: number;
  /** By how much it stands further on than is said. */
  readonly prefix: number;
}

/** Null where there is none. */
export async function readZip64(bytes: Ranged, tail: Tail, signal?: AbortSignal): Promise<Zip64 | null> {
  const at = tail.end - LOCATOR;
  if (at < 0 || tail.buffer.readUInt32LE(at) !== LOCATOR_SIGNATURE) return null;
  if (tail.buffer.readUInt32LE(at + 4) !== 0 || tail.buffer.readUInt32LE(at + 16) > 1) throw split();
  const stated = number64(viewOf(tail.buffer), at + 8);
  const locator = tail.start + at;
  if (stated + RECORD > locator) throw truncated('its ZIP64 record lies beyond its end');
  // It stands right before its locator, unless it has been made longer.
  for (const start of new Set([locator - RECORD, stated])) {
    const record = await pieceOf(bytes, tail, start, RECORD, signal);
    if (!isRecord(record, locator - start)) continue;
    checkEncryption(record, locator - start);
    return read(record, start, start - stated);
  }
  throw damaged('its ZIP64 record is not where it should be');
}

function isRecord(record: Buffer, length: number): boolean {
  return record.readUInt32LE(0) === RECORD_SIGNATURE && number64(viewOf(record), 4) === length - 12;
}

function checkEncryption(record: Buffer, length: number): void {
  if (length === RECORD || record.readUInt16LE(14) < VERSION_ENCRYPTED_DIRECTORY) return;
  throw new WorkcrateError(
    'zip_encrypted',
    'The directory of the zip is encrypted. Put a copy without encryption in its place.',
  );
}

function read(record: Buffer, start: number, prefix: number): Zip64 {
  const count = number64(viewOf(record), 32);
  if (
    record.readUInt32LE(16) !== 0 ||
    record.readUInt32LE(20) !== 0 ||
    number64(viewOf(record), 24) !== count
  )
    throw split();
  return { count, size: number64(viewOf(record), 40), offset: number64(viewOf(record), 48), start, prefix };
}
