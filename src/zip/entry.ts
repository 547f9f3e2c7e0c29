import { WorkcrateError } from '../errors.ts';

/** A file to be stored. `modified` is in milliseconds since 1970. */
export interface ZipEntry {
  readonly name: string;
  readonly size: number;
  readonly crc32: number;
  readonly modified: number;
}

/** Refuses what an unpacker could not restore, or would write outside the folder it unpacks to. */
export function checkEntries(entries: readonly ZipEntry[]): void {
  if (entries.length === 0) throw refused('A ZIP needs at least one file.');
  const seen = new Set<string>();
  for (const entry of entries) {
    checkName(entry.name);
    checkNumbers(entry);
    if (seen.has(entry.name)) throw refused(`Two files are named ${quoted(entry.name)}; rename one of them.`);
    seen.add(entry.name);
  }
}

function checkName(name: string): void {
  if (/[\\\0]/.test(name)) throw refused(`${quoted(name)} holds a backslash or NUL; remove it.`);
  if (/^[a-z]:/i.test(name)) throw refused(`${quoted(name)} begins with a drive letter; remove it.`);
  // An empty component is a leading, doubled or trailing slash.
  if (name.split('/').some((part) => part === '' || part === '.' || part === '..'))
    throw refused(`${quoted(name)} is no relative path of a file; use one such as data/plot.png.`);
  // Two names that differ in a lone surrogate would become the same bytes.
  if (!name.isWellFormed()) throw refused(`${quoted(name)} is not valid Unicode; rename the file.`);
  if (Buffer.byteLength(name) > 0xffff) throw refused(`${quoted(name)} is longer than 65,535 bytes.`);
}

function checkNumbers({ name, size, crc32 }: ZipEntry): void {
  if (!Number.isSafeInteger(size) || size < 0)
    throw refused(`The size of ${quoted(name)} must be a whole number of bytes, not ${size}.`);
  if (crc32 !== crc32 >>> 0)
    throw refused(`The CRC-32 of ${quoted(name)} must be an unsigned 32-bit number, not ${crc32}.`);
}

function quoted(name: string): string {
  return JSON.stringify(name.length > 100 ? `${name.slice(0, 100)}…` : name);
}

function refused(message: string): WorkcrateError {
  return new WorkcrateError('invalid_input', message);
}
