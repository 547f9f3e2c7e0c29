import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { deflateRawSync, gzipSync } from 'node:zlib';
import { encodeText, looksBinary } from './text.ts';

/** Bytes as even as compressed ones, the same each time, and without a NUL. */
const even = Buffer.concat(
  Array.from({ length: 200 }, (_, at) => createHash('sha256').update(String(at)).digest()),
).map((byte) => byte || 1);
const sentence = 'Zürich über Größe, naïve café.\n'.repeat(40);

const noTexts: Record<string, Uint8Array> = {
  'a PNG': Buffer.from(
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==',
    'base64',
  ),
  'a PDF of plain characters': Buffer.from('%PDF-1.4\n1 0 obj\n<< /Type /Catalog >>\nendobj\n'),
  'a PDF with a packed part': Buffer.concat([Buffer.from('%PDF-1.7\n%âãÏÓ\n'), deflateRawSync(sentence)]),
  gzip: gzipSync(sentence),
  'compressed bytes without a NUL': even,
  'a little-endian table of numbers': Uint8Array.from({ length: 400 }, (_, at) =>
    at % 2 ? 0 : 1 + (at % 30),
  ),
  'text and then NULs': Buffer.from('abc\0\0\0'),
};

for (const [name, bytes] of Object.entries(noTexts))
  test(`${name} looks like no text`, () => assert.equal(looksBinary(bytes), true));

const texts: Record<string, Uint8Array> = {
  nothing: Buffer.alloc(0),
  'UTF-8': Buffer.from(sentence),
  'UTF-8 that is cut in the middle of a character': Buffer.from('ü'.repeat(40_000)).subarray(1),
  'Latin-1': encodeText(sentence, 'iso-8859-1'),
  'windows-1252': encodeText('“Größe” – 3 €\r\n', 'windows-1252'),
  'UTF-16 LE without a mark': encodeText(sentence, 'utf-16le'),
  'UTF-16 BE without a mark': encodeText(sentence, 'utf-16be'),
  'UTF-16 with a mark': encodeText('\ufeff日本\u0001\u0002', 'utf-16le'),
  Shift_JIS: Buffer.from('93fa967b8cea0a', 'hex'),
  'a coloured log': Buffer.from('\x1b[32mok\x1b[0m\r\n\x1b[1;31mfailed\x1b[0m \x07\b\b|\r\n'.repeat(50)),
  'a coloured log in Latin-1': encodeText('\x1b[31mé\x1b[0m\n'.repeat(50), 'iso-8859-1'),
  'a table whose fields are parted by control characters': Buffer.from('name\x01size\x01é\n'),
};

for (const [name, bytes] of Object.entries(texts))
  test(`${name} looks like text`, () => assert.equal(looksBinary(bytes), false));
