import { isAscii } from 'node:buffer';
import { WorkcrateError } from '../../errors.ts';
import { encodingNamed } from './names.ts';

/** The bytes of a text in an encoding. Refused where a character of it cannot be told in that: nothing is replaced. */
export function encode(text: string, encoding: string): Uint8Array {
  const name = encodingNamed(encoding);
  switch (name) {
    case 'utf-8':
      return Buffer.from(wellFormed(text), 'utf8');
    case 'utf-16':
    case 'utf-16le':
      return Buffer.from(wellFormed(text), 'utf16le');
    case 'utf-16be':
      return Buffer.from(wellFormed(text), 'utf16le').swap16();
    case 'windows-1252':
    case 'iso-8859-1':
    case 'us-ascii':
      return oneByteEach(text, name);
    default:
      throw new WorkcrateError(
        'invalid_input',
        `This server can read ${name}, but cannot write it. Give the bytes as base64 and set binary.`,
      );
  }
}

function wellFormed(text: string): string {
  if (text.isWellFormed()) return text;
  throw new WorkcrateError(
    'invalid_input',
    'The text contains half of a surrogate pair, which no encoding can represent. Give the bytes as base64 and set binary.',
  );
}

/** Characters of windows-1252 that stand elsewhere in Unicode, at 0x80 to 0x9f. */
const elsewhere = new TextDecoder('windows-1252').decode(
  Uint8Array.from({ length: 32 }, (_, at) => 0x80 + at),
);

function oneByteEach(text: string, name: string): Uint8Array {
  const bytes = Buffer.alloc(text.length);
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    const moved = name === 'windows-1252' && (code > 0xff || (code >= 0x80 && code < 0xa0));
    const byte = moved ? 0x80 + elsewhere.indexOf(text[at]!) : code;
    if (byte > 0xff || (moved && byte < 0x80)) throw doesNotFit(at, name);
    bytes[at] = byte;
  }
  if (name === 'us-ascii' && !isAscii(bytes))
    throw doesNotFit(
      bytes.findIndex((byte) => byte > 0x7f),
      name,
    );
  return bytes;
}

function doesNotFit(at: number, name: string): WorkcrateError {
  return new WorkcrateError(
    'invalid_input',
    `Character ${at + 1} of the text does not exist in ${name}. Use utf-8.`,
  );
}
