import { damaged, quoted } from './failures.ts';
import { FULL_32, LOCAL_HEADER, LOCAL_SIGNATURE, number64, viewOf, wideNumbersAt } from './fields.ts';
import { isEncrypted, type ZipMember } from './member.ts';

/** Sizes and CRC follow behind the bytes, and are not in the header. */
const SIZES_FOLLOW = 8;

/** How long the header is that begins here; null as long as too little of it is there to tell. */
export function localHeaderSize(bytes: Buffer): number | null {
  if (bytes.length < LOCAL_HEADER) return null;
  if (bytes.readUInt32LE(0) !== LOCAL_SIGNATURE) throw damaged('a member is not where its directory says');
  return LOCAL_HEADER + bytes.readUInt16LE(26) + bytes.readUInt16LE(28);
}

/** A member whose own header and the directory tell different things would be another one to other readers. */
export function checkLocalHeader(header: Buffer, nameBytes: Uint8Array, member: ZipMember): void {
  const nameEnd = LOCAL_HEADER + header.readUInt16LE(26);
  const flags = header.readUInt16LE(6);
  const agrees =
    nameEnd - LOCAL_HEADER === nameBytes.length &&
    header.subarray(LOCAL_HEADER, nameEnd).equals(nameBytes) &&
    header.readUInt16LE(8) === member.method &&
    isEncrypted(flags) === member.isEncrypted &&
    ((flags & SIZES_FOLLOW) !== 0 || sizesAgree(header, nameEnd, member));
  if (!agrees) throw damaged(`its directory and the header of ${quoted(member.rawName)} disagree`);
}

function sizesAgree(header: Buffer, nameEnd: number, member: ZipMember): boolean {
  let [size, compressedSize] = [header.readUInt32LE(22), header.readUInt32LE(18)];
  const wide = Number(size === FULL_32) + Number(compressedSize === FULL_32);
  if (wide > 0) {
    const at = wideNumbersAt(viewOf(header), nameEnd, header.length, wide);
    if (compressedSize === FULL_32) compressedSize = number64(viewOf(header), at + (wide - 1) * 8);
    if (size === FULL_32) size = number64(viewOf(header), at);
  }
  return (
    header.readUInt32LE(14) === member.crc32 &&
    size === member.size &&
    compressedSize === member.compressedSize
  );
}
