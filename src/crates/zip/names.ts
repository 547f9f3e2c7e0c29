import { isUtf8 } from 'node:buffer';
import { crc32 } from 'node:zlib';
import { fromCp437 } from './cp437.ts';

const SLASH = 0x2f;
const BACKSLASH = 0x5c;
const DOT = 0x2e;
const COLON = 0x3a;

/** What a member is called, and under which path it may be had. */
export interface MemberName {
  readonly raw: string;
  /** Relative, with `/` between parts and none of them `.`, `..` or empty; ends in `/` for a folder. */
  readonly path: string | null;
  readonly problem: string | null;
}

/** Whether the name is its own path, byte for byte. Most are, and need not be looked at any further. */
export function isPlain(buffer: Buffer, start: number, end: number): boolean {
  let previous = SLASH;
  for (let at = start; at < end; at++) {
    const byte = buffer[at] as number;
    if (byte < 0x20 || byte > 0x7e || byte === BACKSLASH) return false;
    if (previous === SLASH && (byte === SLASH || byte === DOT)) return false;
    if (byte === COLON && at === start + 1) return false;
    previous = byte;
  }
  return end > start;
}

/**
 * The flag that says UTF-8 is often missing where the name is, and sometimes there where it is not. So what is UTF-8
 * is read as that, and all else as what the format was made with, which knows a character for every byte.
 */
export function nameOf(name: Buffer, second: { crc32: number; name: Buffer } | null): MemberName {
  const raw = unicodeName(name, second) ?? (isUtf8(name) ? name.toString('utf8') : fromCp437(name));
  const problem = problemOf(raw);
  return { raw, path: problem === null ? normalised(raw) : null, problem };
}

/** A second name counts as long as the first is the one that it was made for. */
function unicodeName(name: Buffer, second: { crc32: number; name: Buffer } | null): string | null {
  if (second === null || second.crc32 !== crc32(name) || !isUtf8(second.name)) return null;
  return second.name.toString('utf8');
}

function problemOf(name: string): string | null {
  // oxlint-disable-next-line no-control-regex
  if (/[\u0000-\u001f\u007f-\u009f]/.test(name)) return 'its name holds a NUL or another control character';
  if (name.includes('\\')) return 'its name holds a backslash';
  if (name.startsWith('/')) return 'its name is an absolute path';
  if (name.split('/').includes('..')) return 'its name leads out of the archive by ..';
  const path = normalised(name);
  if (/^[a-z]:/i.test(path)) return 'its name begins with a drive letter';
  return path === '' ? 'its name is empty' : null;
}

function normalised(name: string): string {
  const parts = name.split('/').filter((part) => part !== '' && part !== '.');
  return parts.length > 0 && /\/\.?$/.test(name) ? `${parts.join('/')}/` : parts.join('/');
}
