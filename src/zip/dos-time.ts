const EARLIEST = Date.UTC(1980, 0, 1);
const LATEST = Date.UTC(2107, 11, 31, 23, 59, 58);

/**
 * A moment as ZIP's date (high half) and time (low half), to two seconds.
 * The format names no time zone; UTC gives the same archive, byte for byte, on every server.
 */
export function dosTime(milliseconds: number): number {
  const moment = new Date(Math.min(Math.max(milliseconds || 0, EARLIEST), LATEST));
  const day =
    ((moment.getUTCFullYear() - 1980) << 9) | ((moment.getUTCMonth() + 1) << 5) | moment.getUTCDate();
  const time = (moment.getUTCHours() << 11) | (moment.getUTCMinutes() << 5) | (moment.getUTCSeconds() >> 1);
  // An unsigned product, since a shift by 16 turns dates from 2044 on negative.
  return day * 0x10000 + time;
}
