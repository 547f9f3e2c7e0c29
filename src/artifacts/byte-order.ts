const isAscii = (text: string): boolean => !/[\x80-\uffff]/.test(text);

/**
 * A character for each byte of a name's UTF-8: JavaScript compares UTF-16, which is another order, and comparing such
 * strings is many times faster than calling back for each pair.
 */
export const byteKey = (name: string): string =>
  isAscii(name) ? name : Buffer.from(name).toString('latin1');

/** The name of which that is the key. */
export const nameOfKey = (key: string): string =>
  isAscii(key) ? key : Buffer.from(key, 'latin1').toString('utf8');

/** Sorted by the bytes of their UTF-8, which is the order of code points. */
export function inByteOrder(names: readonly string[]): string[] {
  return names.map(byteKey).sort().map(nameOfKey);
}
