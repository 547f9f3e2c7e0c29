import { damaged, split } from './failures.ts';
import { CENTRAL_HEADER, CENTRAL_SIGNATURE, FULL_16, FULL_32, number64, wideNumbersAt } from './fields.ts';

/** Where in the directory the parts of a record are, and what may stand in its ZIP64 field; `offset` is as stated. */
export interface CentralRecord {
  readonly start: number;
  readonly compressedSize: number;
  readonly size: number;
  readonly offset: number;
  readonly nameStart: number;
  readonly nameEnd: number;
  readonly extraEnd: number;
  readonly end: number;
}

export function readRecord(view: DataView, at: number): CentralRecord {
  if (at + CENTRAL_HEADER > view.byteLength || view.getUint32(at, true) !== CENTRAL_SIGNATURE)
    throw damaged('its directory does not hold what its end record says');
  const nameStart = at + CENTRAL_HEADER;
  const nameEnd = nameStart + view.getUint16(at + 28, true);
  const extraEnd = nameEnd + view.getUint16(at + 30, true);
  const end = extraEnd + view.getUint16(at + 32, true);
  if (end > view.byteLength) throw damaged('the last record of its directory is not all there');
  const disk = view.getUint16(at + 34, true);
  if (disk !== 0 && disk !== FULL_16) throw split();
  let compressedSize = view.getUint32(at + 20, true);
  let size = view.getUint32(at + 24, true);
  let offset = view.getUint32(at + 42, true);
  const wide = Number(size === FULL_32) + Number(compressedSize === FULL_32) + Number(offset === FULL_32);
  if (wide > 0) {
    // Only what did not fit stands in the ZIP64 field, in this order.
    let next = wideNumbersAt(view, nameEnd, extraEnd, wide) - 8;
    if (size === FULL_32) size = number64(view, (next += 8));
    if (compressedSize === FULL_32) compressedSize = number64(view, (next += 8));
    if (offset === FULL_32) offset = number64(view, (next += 8));
  }
  return { start: at, compressedSize, size, offset, nameStart, nameEnd, extraEnd, end };
}
