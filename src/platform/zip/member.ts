import { isUtf8 } from 'node:buffer';
import { crc32 } from 'node:zlib';
import { deflatedCode, readExtendedTime, fromDosTime, storedCode } from './fields.ts';
import type { CentralRecord } from './scan.ts';

/** One member of an archive, as its directory states it: nothing of this is proven before the member is read. */
export interface ZipMember {
  readonly index: number;
  /** Safe and posix, or null where the name cannot be trusted; `problem` says why. Folders end in `/`. */
  readonly path: string | null;
  /** For messages. */
  readonly rawName: string;
  /** Why it cannot be had, or not by its name. */
  readonly problem: string | null;
  readonly size: number;
  readonly compressedSize: number;
  readonly method: number;
  readonly crc32: number;
  /** In milliseconds. */
  readonly modified: number | null;
  readonly isFolder: boolean;
  readonly isEncrypted: boolean;
  /** A symbolic link: its bytes are where it points to. */
  readonly isLink: boolean;
  /** Others have the same path. `find` gives the first of them; each is had by its index. */
  readonly isDuplicate: boolean;
  /** Where its local header begins. */
  readonly offset: number;
}

const encryptedFlag = 1;
const madeOnUnix = new Set([3, 19]);
const fileTypeMask = 0o170000;
const linkFileType = 0o120000;
/** Deflate makes at most 258 bytes out of two bits. */
const maxDeflateRatio = 1032;

export function isEncrypted(flags: number): boolean {
  return (flags & encryptedFlag) !== 0;
}

export function toZipMember(
  record: CentralRecord,
  view: DataView,
  name: MemberName,
  place: { index: number; prefix: number; isDuplicate: boolean },
): ZipMember {
  const { start, size, compressedSize } = record;
  const flags = view.getUint16(start + 8, true);
  const method = view.getUint16(start + 10, true);
  const fileType = (view.getUint32(start + 38, true) >>> 16) & fileTypeMask;
  const stated = { isEncrypted: isEncrypted(flags), method, size, compressedSize };
  return {
    index: place.index,
    path: name.path,
    rawName: name.raw,
    problem: name.problem ?? findObstacle(stated)?.reason ?? null,
    size,
    compressedSize,
    method,
    isEncrypted: stated.isEncrypted,
    crc32: view.getUint32(start + 16, true),
    modified:
      readExtendedTime(view, record.nameEnd, record.extraEnd) ??
      fromDosTime(view.getUint32(start + 12, true)),
    isFolder: (name.path ?? name.raw).endsWith('/'),
    isLink: madeOnUnix.has(view.getUint8(start + 5)) && fileType === linkFileType,
    isDuplicate: place.isDuplicate,
    offset: record.offset + place.prefix,
  };
}

export interface Obstacle {
  readonly code: 'zip_encrypted' | 'unsupported' | 'zip_damaged';
  readonly reason: string;
}

/** Why its bytes cannot be had, as far as the directory tells. */
export function findObstacle(
  stated: Pick<ZipMember, 'isEncrypted' | 'method' | 'size' | 'compressedSize'>,
): Obstacle | null {
  const { method, size, compressedSize } = stated;
  if (stated.isEncrypted) return { code: 'zip_encrypted', reason: 'it is encrypted' };
  if (method !== storedCode && method !== deflatedCode)
    return { code: 'unsupported', reason: `it is compressed by method ${method}, not by deflate` };
  if (method === storedCode ? size !== compressedSize : size > compressedSize * maxDeflateRatio)
    return { code: 'zip_damaged', reason: 'its two sizes contradict each other' };
  return null;
}

const slashByte = 0x2f;
const backslashByte = 0x5c;
const dotByte = 0x2e;
const colonByte = 0x3a;

/** As much as a system takes as a path; a longer one could be unpacked nowhere. */
const maxMemberPathBytes = 4096;
const maxPathParts = 255;

/** Whether a path is one that others can take. */
export function isShortPath(path: string): boolean {
  if (path.length > maxMemberPathBytes || Buffer.byteLength(path) > maxMemberPathBytes) return false;
  let parts = path.endsWith('/') ? 0 : 1;
  for (let at = path.indexOf('/'); at >= 0; at = path.indexOf('/', at + 1)) parts++;
  return parts <= maxPathParts;
}

/** What a member is called, and under which path it may be had. */
export interface MemberName {
  readonly raw: string;
  /** Relative, with `/` between parts and none of them `.`, `..` or empty; ends in `/` for a folder. */
  readonly path: string | null;
  readonly problem: string | null;
}

/** Whether the name is its own path, byte for byte. Most are, and need not be looked at any further. */
export function isPlainMemberName(buffer: Buffer, start: number, end: number): boolean {
  if (end - start > maxMemberPathBytes) return false;
  let previous = slashByte;
  let slashes = 0;
  for (let at = start; at < end; at++) {
    const byte = buffer[at] as number;
    if (byte < 0x20 || byte > 0x7e || byte === backslashByte) return false;
    if (previous === slashByte && (byte === slashByte || byte === dotByte)) return false;
    if (byte === colonByte && at === start + 1) return false;
    if (byte === slashByte && ++slashes === maxPathParts) return false;
    previous = byte;
  }
  return end > start;
}

/**
 * The flag that says UTF-8 is often missing where the name is, and sometimes there where it is not. So what is UTF-8
 * is read as that, and all else as what the format was made with, which knows a character for every byte.
 */
export function readMemberName(name: Buffer, second: { crc32: number; name: Buffer } | null): MemberName {
  const bytes = decodeUnicodeName(name, second) ?? name;
  // The rest of a long one is not even decoded: there may be 64 KiB of it, of every member.
  if (bytes.length > maxMemberPathBytes)
    return { raw: bytes.toString('latin1', 0, 200), path: null, problem: tooLongProblem };
  const raw = isUtf8(bytes) ? bytes.toString('utf8') : fromCp437(bytes);
  const problem = findNameProblem(raw);
  return { raw, path: problem === null ? normalizeMemberName(raw) : null, problem };
}

/** A second name counts as long as the first is the one that it was made for. */
function decodeUnicodeName(name: Buffer, second: { crc32: number; name: Buffer } | null): Buffer | null {
  if (second === null || second.crc32 !== crc32(name) || !isUtf8(second.name)) return null;
  return second.name;
}

const tooLongProblem = `its name has more than ${maxMemberPathBytes} bytes or ${maxPathParts} parts`;

function findNameProblem(name: string): string | null {
  // oxlint-disable-next-line no-control-regex
  if (/[\u0000-\u001f\u007f-\u009f]/.test(name))
    return 'its name contains a NUL or another control character';
  if (name.includes('\\')) return 'its name contains a backslash';
  if (name.startsWith('/')) return 'its name is an absolute path';
  if (name.split('/').includes('..')) return 'its name leads out of the archive by ..';
  const path = normalizeMemberName(name);
  if (/^[a-z]:/i.test(path)) return 'its name begins with a drive letter';
  if (path === '') return 'its name is empty';
  return isShortPath(path) ? null : tooLongProblem;
}

function normalizeMemberName(name: string): string {
  const parts = name.split('/').filter((part) => part !== '' && part !== '.');
  return parts.length > 0 && /\/\.?$/.test(name) ? `${parts.join('/')}/` : parts.join('/');
}

/** What bytes from 128 on mean in names of old tools, code page 437; those below are ASCII. */
const upperCp437 =
  'ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒ' +
  'áíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐' +
  '└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀' +
  'αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u00a0';

function fromCp437(bytes: Uint8Array): string {
  let text = '';
  for (const byte of bytes) text += byte < 128 ? String.fromCharCode(byte) : upperCp437.charAt(byte - 128);
  return text;
}
