/** JavaScript compares UTF-16; from here on that is another order than the one of UTF-8. */
const ordersDiffer = /[\ud800-\uffff]/;

/** Sorted by the bytes of their UTF-8, which is the order of code points. */
export function inByteOrder(names: readonly string[]): string[] {
  if (!names.some((name) => ordersDiffer.test(name))) return names.toSorted();
  const sorted = names.map((name) => Buffer.from(name)).sort((a, b) => a.compare(b));
  return sorted.map((bytes) => bytes.toString('utf8'));
}
