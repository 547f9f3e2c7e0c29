/**
 * Encodings: bytes to text and back, base64, and whether bytes are text at all. It replaces no character: what an
 * encoding cannot represent is refused. It reads no files.
 */
import { isAscii } from 'node:buffer';
import { WorkcrateError } from '../../../platform/errors.ts';

export interface DecodedText {
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
export function decodeFileText(bytes: Uint8Array, wanted: string | null): DecodedText {
  const name = wanted === null ? null : normalizeEncoding(wanted);
  if (name !== null) {
    const asWanted = tryEncoding(bytes, name === 'utf-16' ? detectByteOrder(bytes) : name);
    if (asWanted !== null) return { ...asWanted, fellBack: false };
  }
  return { ...guessEncoding(bytes), fellBack: name !== null };
}

type DecodeAttempt = Omit<DecodedText, 'fellBack'>;

function guessEncoding(bytes: Uint8Array): DecodeAttempt {
  const marked = readByteOrderMark(bytes);
  // Plain text in UTF-16 is valid UTF-8 as well, with a NUL at every other place, so it is looked at first.
  const plain = looksLikeUtf16(bytes, 'surely');
  return (
    (marked === null ? null : tryEncoding(bytes, marked)) ??
    (plain === null ? null : tryEncoding(bytes, plain)) ??
    tryEncoding(bytes, 'utf-8') ??
    tryUtf16(bytes) ??
    tryEncoding(bytes, hasUndefinedBytes(bytes) ? 'iso-8859-1' : 'windows-1252')!
  );
}

function tryUtf16(bytes: Uint8Array): DecodeAttempt | null {
  const order = looksLikeUtf16(bytes, 'perhaps');
  const tried = order === null ? null : tryEncoding(bytes, order);
  return tried?.text.includes('\0') ? null : tried;
}

/** Null where the bytes are not valid in it. */
function tryEncoding(bytes: Uint8Array, encoding: string): DecodeAttempt | null {
  const mark = readByteOrderMark(bytes);
  if (encoding === 'us-ascii' && !isAscii(bytes)) return null;
  // The mark of the other byte order is a valid character in this one, though nobody means it.
  if (encoding.startsWith('utf-16') && mark?.startsWith('utf-16') && mark !== encoding) return null;
  const text = encoding === 'iso-8859-1' ? decodeLatin1(bytes) : decodeStrictly(bytes, encoding);
  return text === null ? null : { text, encoding, bom: mark === encoding };
}

function decodeLatin1(bytes: Uint8Array): string {
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

function readByteOrderMark(bytes: Uint8Array): 'utf-8' | 'utf-16le' | 'utf-16be' | null {
  const [first, second, third] = bytes;
  if (first === 0xef && second === 0xbb && third === 0xbf) return 'utf-8';
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  return first === 0xfe && second === 0xff ? 'utf-16be' : null;
}

/** Which byte order "UTF-16" means here: the mark tells, else the looks; little endian is by far the more usual. */
function detectByteOrder(bytes: Uint8Array): string {
  const mark = readByteOrderMark(bytes);
  if (mark !== null && mark !== 'utf-8') return mark;
  return looksLikeUtf16(bytes, 'surely') ?? looksLikeUtf16(bytes, 'perhaps') ?? 'utf-16le';
}

/** Bytes that windows-1252 leaves undefined, so that the text is not in it. */
const hasUndefinedBytes = (bytes: Uint8Array): boolean =>
  [0x81, 0x8d, 0x8f, 0x90, 0x9d].some((byte) => bytes.includes(byte));

/** The bytes of a text in an encoding. Refused if it cannot represent a character: nothing is replaced. */
export function encodeText(text: string, encoding: string): Uint8Array {
  const name = normalizeEncoding(encoding);
  switch (name) {
    case 'utf-8':
      return Buffer.from(checkWellFormed(text), 'utf8');
    case 'utf-16':
    case 'utf-16le':
      return Buffer.from(checkWellFormed(text), 'utf16le');
    case 'utf-16be':
      return Buffer.from(checkWellFormed(text), 'utf16le').swap16();
    case 'windows-1252':
    case 'iso-8859-1':
    case 'us-ascii':
      return encodeSingleBytes(text, name);
    default:
      throw new WorkcrateError(
        'invalid_input',
        `This server can read ${name}, but cannot write it. Give the bytes as base64 and set binary.`,
      );
  }
}

function checkWellFormed(text: string): string {
  if (text.isWellFormed()) return text;
  throw new WorkcrateError(
    'invalid_input',
    'The text contains half of a surrogate pair, which no encoding can represent. Give the bytes as base64 and set binary.',
  );
}

/** Characters of windows-1252 with another code in Unicode, at 0x80 to 0x9f. */
const windows1252Characters = new TextDecoder('windows-1252').decode(
  Uint8Array.from({ length: 32 }, (_, at) => 0x80 + at),
);

function encodeSingleBytes(text: string, name: string): Uint8Array {
  const bytes = Buffer.alloc(text.length);
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    const moved = name === 'windows-1252' && (code > 0xff || (code >= 0x80 && code < 0xa0));
    const byte = moved ? 0x80 + windows1252Characters.indexOf(text[at]!) : code;
    if (byte > 0xff || (moved && byte < 0x80)) throw characterDoesNotFitError(at, name);
    bytes[at] = byte;
  }
  if (name === 'us-ascii' && !isAscii(bytes))
    throw characterDoesNotFitError(
      bytes.findIndex((byte) => byte > 0x7f),
      name,
    );
  return bytes;
}

function characterDoesNotFitError(at: number, name: string): WorkcrateError {
  return new WorkcrateError(
    'invalid_input',
    `Character ${at + 1} of the text does not exist in ${name}. Use utf-8.`,
  );
}

export const toBase64 = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');

/** Exact: what is no base64, or was cut, is refused and not skipped. Line breaks are fine. */
export function parseBase64(text: string): Uint8Array {
  try {
    return Uint8Array.fromBase64(text, { lastChunkHandling: 'strict' });
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new WorkcrateError(
      'invalid_input',
      'The content is not valid base64: use A-Z, a-z, 0-9, + and /, padded with =. For plain text leave binary out.',
    );
  }
}

const sniffedUtf16Bytes = 4096;

/**
 * Whether bytes look like UTF-16 without a byte order mark, by where their NULs are: characters of most languages of
 * the West have one, all on the same side. `surely` asks for many, `perhaps` for one.
 */
function looksLikeUtf16(bytes: Uint8Array, how: 'surely' | 'perhaps'): 'utf-16le' | 'utf-16be' | null {
  if (bytes.length === 0 || bytes.length % 2 !== 0) return null;
  const [even, odd] = countNuls(bytes.subarray(0, sniffedUtf16Bytes));
  const units = Math.min(bytes.length, sniffedUtf16Bytes) / 2;
  const enough = how === 'surely' ? Math.max(2, units / 4) : 1;
  if (odd >= enough && even === 0) return 'utf-16le';
  return even >= enough && odd === 0 ? 'utf-16be' : null;
}

function countNuls(bytes: Uint8Array): [even: number, odd: number] {
  const counts: [number, number] = [0, 0];
  for (let at = bytes.indexOf(0); at !== -1; at = bytes.indexOf(0, at + 1)) counts[at % 2 === 0 ? 0 : 1]++;
  return counts;
}

/** Names that programs use and the Encoding standard does not know, or takes for windows-1252. */
const encodingAliases: Readonly<Record<string, string>> = {
  'utf-8-sig': 'utf-8',
  utf16: 'utf-16',
  'utf-16': 'utf-16',
  'ucs-2': 'utf-16',
  unicode: 'utf-16',
  utf16le: 'utf-16le',
  'utf-16-le': 'utf-16le',
  utf16be: 'utf-16be',
  'utf-16-be': 'utf-16be',
  l1: 'iso-8859-1',
  latin1: 'iso-8859-1',
  'latin-1': 'iso-8859-1',
  'iso8859-1': 'iso-8859-1',
  'iso-8859-1': 'iso-8859-1',
  ascii: 'us-ascii',
  'us-ascii': 'us-ascii',
};

/** Those that are asked for most; a TextDecoder knows some thirty more. */
const knownEncodings =
  'utf-8, utf-16, utf-16le, utf-16be, iso-8859-1 (latin-1), windows-1252, us-ascii, iso-8859-2 to -16, windows-1250 to -1258, koi8-r, macintosh, shift_jis, euc-jp, iso-2022-jp, gbk, gb18030, big5, euc-kr';

/** The one name of an encoding that goes by many, such as `UTF_8` and `decodeLatin1`. */
export function normalizeEncoding(name: string): string {
  const plain = name.trim().toLowerCase().replaceAll('_', '-').replaceAll(' ', '-');
  const found = Object.hasOwn(encodingAliases, plain)
    ? encodingAliases[plain]!
    : (findStandardEncoding(plain) ?? findStandardEncoding(name));
  if (found !== null) return found;
  throw new WorkcrateError(
    'invalid_input',
    `No encoding is called ${JSON.stringify(name.slice(0, 40))}. There are: ${knownEncodings}. For the exact bytes set binary.`,
  );
}

function findStandardEncoding(label: string): string | null {
  try {
    return new TextDecoder(label).encoding;
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

const sniffedBytes = 64 * 1024;
/** A document of nothing but plain characters at times, and no text for all that. */
const pdfSignature = Buffer.from('%PDF-');

/**
 * Whether bytes look like no text in any encoding: a picture, an archive, a program. To be asked where nobody named an
 * encoding, since in windows-1252 every byte means something. Whoever begins with a byte order mark means text.
 */
export function looksBinary(bytes: Uint8Array): boolean {
  const start = bytes.subarray(0, sniffedBytes);
  if (pdfSignature.equals(start.subarray(0, pdfSignature.length))) return true;
  const { text, encoding, bom } = decodeFileText(start, null);
  if (bom) return false;
  // Bytes of all kinds are hardly ever valid UTF-8, and some tables part their fields by control characters.
  const most = encoding === 'utf-8' ? text.length / 3 : text.length / 50;
  return text.includes('\0') || countControls(text) > most;
}

/** But for those that texts and terminals use: bell, backspace, tab, line breaks, the escape of colours, an end of DOS. */
// oxlint-disable-next-line no-control-regex -- it is about these
const countControls = (text: string): number => text.match(/[\x01-\x06\x0e-\x19\x1c-\x1f]/g)?.length ?? 0;
