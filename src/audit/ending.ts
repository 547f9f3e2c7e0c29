import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { hash } from 'node:crypto';
import { join } from 'node:path';
import { auditFilesSync } from './file-names.ts';
import { isIntact, linkOf, mostLineBytes, type Place } from './line.ts';

/** The start of a line whose writer was ended in the middle. It stays as evidence, and the next line tells of it. */
export interface Torn {
  readonly torn_bytes: number;
  readonly torn_sha256: string;
}

/** How a log ends on disk. */
export interface Ending {
  /** Null where there is no file. */
  readonly file: string | null;
  /** Of the last line that can be read; null where there is none. */
  readonly last: Place | null;
  /** Whether the last line has no end. */
  readonly open: boolean;
  readonly torn: Torn | null;
  /** Whether the last file has a line. */
  readonly begun: boolean;
}

/** From the newest file back to one that has a line that can be read. */
export function endingOf(folder: string, key: string | null): Ending {
  const [newest, ...older] = auditFilesSync(folder).toReversed();
  if (newest === undefined) return { file: null, last: null, open: false, torn: null, begun: false };
  const ending = endOfFile(join(folder, newest), key);
  const found = { file: newest, ...ending, begun: ending.last !== null };
  if (found.last !== null) return found;
  for (const file of older) {
    const before = endOfFile(join(folder, file), key);
    if (before.last !== null) return { ...found, last: before.last, torn: found.torn ?? before.torn };
  }
  return found;
}

function endOfFile(path: string, key: string | null): Pick<Ending, 'last' | 'open' | 'torn'> {
  const bytes = lastBytes(path);
  const whole = bytes.lastIndexOf(0x0a) + 1;
  const rest = bytes.subarray(whole);
  const link = linkOf(rest);
  if (link !== null && isIntact(rest, link, key)) return { last: link, open: true, torn: null };
  const last = lastLink(bytes.subarray(0, whole));
  return { last, open: rest.length > 0, torn: rest.length === 0 ? null : tornOf(rest) };
}

export function tornOf(bytes: Buffer): Torn {
  return { torn_bytes: bytes.length, torn_sha256: hash('sha256', bytes, 'hex') };
}

/** Passes over what is no line: verifying finds it. */
function lastLink(bytes: Buffer): Place | null {
  for (let end = bytes.length - 1; end > 0;) {
    const start = bytes.lastIndexOf(0x0a, end - 1) + 1;
    const link = linkOf(bytes.subarray(start, end));
    if (link !== null) return link;
    end = start - 1;
  }
  return null;
}

function lastBytes(path: string): Buffer {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const { size } = fstatSync(fd);
    const bytes = Buffer.alloc(Math.min(size, 2 * mostLineBytes));
    const read = readSync(fd, bytes, 0, bytes.length, size - bytes.length);
    return bytes.subarray(0, read);
  } finally {
    closeSync(fd);
  }
}
