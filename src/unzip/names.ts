import { isUtf8 } from 'node:buffer';
import { crc32 } from 'node:zlib';
import { fromCp437 } from './cp437.ts';

const SLASH = 0x2f;
const BACKSLASH = 0x5c;
const DOT = 0x2e;
const COLON = 0x3a;

/** As much as a system takes as a path; a longer one could be unpacked nowhere. */
const MOST_BYTES = 4096;
const MOST_PARTS = 255;

/** Whether a path is one that others can take. */
export function isShortPath(path: string): boolean {
  if (path.length > MOST_BYTES || Buffer.byteLength(path) > MOST_BYTES) return false;
  let parts = path.endsWith('/') ? 0 : 1;
  for (let at = path.indexOf('/'); at >= 0; at = path.indexOf('/', at + 1)) parts++;
  return parts <= MOST_PARTS;
}

/** What a member is called, and under which path it may be had. */
export interface MemberName {
  readonly raw: string;
  /** Relative, with `/` between parts and none of them `.`, `..` or empty; ends in `/` for a folder. */
  readonly path: string | null;
  readonly problem: string | null;
}

/** Whether the name is its own path, byte for byte. Most are, and need not be looked at any further. */
export function isPlain(buffer: Buffer, start: number, end: number): boolean {
  if (end - start > MOST_BYTES) return false;
  let previous = SLASH;
  let slashes = 0;
  for (let at = start; at < end; at++) {
    const byte = buffer[at] as number;
    if (byte < 0x20 || byte > 0x7e || byte === BACKSLASH) return false;
    if (previous === SLASH && (byte === SLASH || byte === DOT)) return false;
    if (byte === COLON && at === start + 1) return false;
    if (byte === SLASH && ++slashes === MOST_PARTS) return false;
    previous = byte;
  }
  return end > start;
}

/**
 * The flag that says UTF-8 is often missing where the name is, and sometimes there where it is not. So what is UTF-8
 * is read as that, and all else as what the format was made with, which knows a character for every byte.
 */
export function nameOf(name: Buffer, second: { crc32: number; name: Buffer } | null): MemberName {
  const bytes = unicodeName(name, second) ?? name;
  // The rest of a long one is not even decoded: there may be 64 KiB of it, of every member.
  if (bytes.length > MOST_BYTES)
    return { raw: bytes.toString('latin1', 0, 200), path: null, problem: TOO_LONG };
  const raw = isUtf8(bytes) ? bytes.toString('utf8') : fromCp437(bytes);
  const problem = problemOf(raw);
  return { raw, path: problem === null ? normalised(raw) : null, problem };
}

/** A second name counts as long as the first is the one that it was made for. */
function unicodeName(name: Buffer, second: { crc32: number; name: Buffer } | null): Buffer | null {
  if (second === null || second.crc32 !== crc32(name) || !isUtf8(second.name)) return null;
  return second.name;
}

const TOO_LONG = `its name has more than ${MOST_BYTES} bytes or ${MOST_PARTS} parts`;

function problemOf(name: string): string | null {
  // oxlint-disable-next-line no-control-regex
  if (/[\u0000-\u001f\u007f-\u009f]/.test(name)) return 'its name holds a NUL or another control character';
  if (name.includes('\\')) return 'its name holds a backslash';
  if (name.startsWith('/')) return 'its name is an absolute path';
  if (name.split('/').includes('..')) return 'its name leads out of the archive by ..';
  const path = normalised(name);
  if (/^[a-z]:/i.test(path)) return 'its name begins with a drive letter';
  if (path === '') return 'its name is empty';
  return isShortPath(path) ? null : TOO_LONG;
}

function normalised(name: string): string {
  const parts = name.split('/').filter((part) => part !== '' && part !== '.');
  return parts.length > 0 && /\/\.?$/.test(name) ? `${parts.join('/')}/` : parts.join('/');
}
