import type { TimeSlices } from '../concurrency/yield.ts';
import { packNeededFields, viewOf } from './fields.ts';
import { readRecord } from './record.ts';

/** What usual tools write behind a name is not worth the work. */
const USUAL = 48;

/** Whether much of a directory is comments and fields, which may be 128 KiB of each member. */
export function isWorthSlimming(besideNames: number, count: number): boolean {
  return besideNames > count * USUAL;
}

/**
 * The directory without what nobody asks for, in a buffer of its own, and `positions` in it. The buffer that it was in
 * is gone from then on.
 */
export async function slimmed(buffer: Buffer, positions: Uint32Array, slices: TimeSlices): Promise<Buffer> {
  const view = viewOf(buffer);
  let end = 0;
  for (let index = 0; index < positions.length; index++) {
    if (index % 64 === 0 && slices.isOver()) await slices.next();
    const start = end;
    end = moveRecord(buffer, view, positions[index]!, start);
    positions[index] = start;
  }
  const kept = Buffer.allocUnsafeSlow(end);
  buffer.copy(kept, 0, 0, end);
  // Given back at once: a collector that looks at its own heap only sees nothing to collect in hundreds of megabytes.
  (buffer.buffer as ArrayBuffer).transfer(0);
  return kept;
}

/** Moves a record towards the beginning, and so never onto what is still to be read; gives where it ends. */
function moveRecord(buffer: Buffer, view: DataView, from: number, to: number): number {
  const { nameEnd, extraEnd } = readRecord(view, from);
  const length = nameEnd - from;
  buffer.copyWithin(to, from, nameEnd);
  const end = packNeededFields(buffer, { start: nameEnd, end: extraEnd }, to + length);
  view.setUint16(to + 30, end - to - length, true);
  view.setUint16(to + 32, 0, true);
  return end;
}

/** What a directory takes in memory: its bytes, and the tables over its members. */
export const bytesHeld = (bytes: number, count: number): number => bytes + count * 32;
