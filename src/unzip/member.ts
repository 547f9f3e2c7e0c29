import { DEFLATED, STORED, extendedTime, momentOf } from './fields.ts';
import type { MemberName } from './names.ts';
import type { CentralRecord } from './record.ts';

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

const ENCRYPTED = 1;
const MADE_ON_UNIX = new Set([3, 19]);
const FILE_TYPE = 0o170000;
const LINK = 0o120000;
/** Deflate makes at most 258 bytes out of two bits. */
const BEST_RATIO = 1032;

export function isEncrypted(flags: number): boolean {
  return (flags & ENCRYPTED) !== 0;
}

export function memberOf(
  record: CentralRecord,
  view: DataView,
  name: MemberName,
  place: { index: number; prefix: number; isDuplicate: boolean },
): ZipMember {
  const { start, size, compressedSize } = record;
  const flags = view.getUint16(start + 8, true);
  const method = view.getUint16(start + 10, true);
  const fileType = (view.getUint32(start + 38, true) >>> 16) & FILE_TYPE;
  const stated = { isEncrypted: isEncrypted(flags), method, size, compressedSize };
  return {
    index: place.index,
    path: name.path,
    rawName: name.raw,
    problem: name.problem ?? obstacle(stated)?.reason ?? null,
    size,
    compressedSize,
    method,
    isEncrypted: stated.isEncrypted,
    crc32: view.getUint32(start + 16, true),
    modified:
      extendedTime(view, record.nameEnd, record.extraEnd) ?? momentOf(view.getUint32(start + 12, true)),
    isFolder: (name.path ?? name.raw).endsWith('/'),
    isLink: MADE_ON_UNIX.has(view.getUint8(start + 5)) && fileType === LINK,
    isDuplicate: place.isDuplicate,
    offset: record.offset + place.prefix,
  };
}

export interface Obstacle {
  readonly code: 'zip_encrypted' | 'unsupported' | 'zip_damaged';
  readonly reason: string;
}

/** Why its bytes cannot be had, as far as the directory tells. */
export function obstacle(
  stated: Pick<ZipMember, 'isEncrypted' | 'method' | 'size' | 'compressedSize'>,
): Obstacle | null {
  const { method, size, compressedSize } = stated;
  if (stated.isEncrypted) return { code: 'zip_encrypted', reason: 'it is encrypted' };
  if (method !== STORED && method !== DEFLATED)
    return { code: 'unsupported', reason: `it is compressed by method ${method}, not by deflate` };
  if (method === STORED ? size !== compressedSize : size > compressedSize * BEST_RATIO)
    return { code: 'zip_damaged', reason: 'its two sizes do not go together' };
  return null;
}
