import { isAscii } from 'node:buffer';
import { looksLikeUtf16 } from './looks.ts';
import { encodingNamed } from './names.ts';

export interface Decoded {
  /** Without its byte order mark. */
  readonly text: string;
  /** The one that was used. */
  readonly encoding: string;
  /** Whether it began with a byte order mark. */
  readonly bom: boolean;
  /** Whether an encoding was wanted and another had to be used. */
  readonly fellBack: boolean;
}

/**
 * Text of bytes: in the encoding that is wanted, if they are valid in it, else in the one that their byte order mark
 * tells, else in UTF-8, else in UTF-16 if they look so, else in windows-1252, in which every byte means something.
 */
export function decode(bytes: Uint8Array, wanted: string | null): Decoded {
  const name = wanted === null ? null : encodingNamed(wanted);
  if (name !== null) {
    const asWanted = tryOne(bytes, name === 'utf-16' ? orderOf(bytes) : name);
    if (asWanted !== null) return { ...asWanted, fellBack: false };
  }
  return { ...guess(bytes), fellBack: name !== null };
}

type Tried = Omit<Decoded, 'fellBack'>;

function guess(bytes: Uint8Array): Tried {
  const marked = markOf(bytes);
  // Plain text in UTF-16 is valid UTF-8 as well, with a NUL at every other place, so it is looked at first.
  const plain = looksLikeUtf16(bytes, 'surely');
  return (
    (marked === null ? null : tryOne(bytes, marked)) ??
    (plain === null ? null : tryOne(bytes, plain)) ??
    tryOne(bytes, 'utf-8') ??
    perhapsUtf16(bytes) ??
    tryOne(bytes, hasUndefined(bytes) ? 'iso-8859-1' : 'windows-1252')!
  );
}

function perhapsUtf16(bytes: Uint8Array): Tried | null {
  const order = looksLikeUtf16(bytes, 'perhaps');
  const tried = order === null ? null : tryOne(bytes, order);
  return tried?.text.includes('\0') ? null : tried;
}

/** Null where the bytes are not valid in it. */
function tryOne(bytes: Uint8Array, encoding: string): Tried | null {
  const mark = markOf(bytes);
  if (encoding === 'us-ascii' && !isAscii(bytes)) return null;
  // The mark of the other byte order is a valid character in this one, though nobody means it.
  if (encoding.startsWith('utf-16') && mark?.startsWith('utf-16') && mark !== encoding) return null;
  const text = encoding === 'iso-8859-1' ? latin1(bytes) : decodeStrictly(bytes, encoding);
  return text === null ? null : { text, encoding, bom: mark === encoding };
}

function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
}

function decodeStrictly(bytes: Uint8Array, encoding: string): string | null {
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_ENCODING_INVALID_ENCODED_DATA') return null;
    throw error;
  }
}

function markOf(bytes: Uint8Array): 'utf-8' | 'utf-16le' | 'utf-16be' | null {
  const [first, second, third] = bytes;
  if (first === 0xef && second === 0xbb && third === 0xbf) return 'utf-8';
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  return first === 0xfe && second === 0xff ? 'utf-16be' : null;
}

/** Which byte order "UTF-16" means here: the mark tells, else the looks; little endian is by far the more usual. */
function orderOf(bytes: Uint8Array): string {
  const mark = markOf(bytes);
  if (mark !== null && mark !== 'utf-8') return mark;
  return looksLikeUtf16(bytes, 'surely') ?? looksLikeUtf16(bytes, 'perhaps') ?? 'utf-16le';
}

/** Bytes that windows-1252 leaves undefined, so that the text is not in it. */
const hasUndefined = (bytes: Uint8Array): boolean =>
  [0x81, 0x8d, 0x8f, 0x90, 0x9d].some((byte) => bytes.includes(byte));
