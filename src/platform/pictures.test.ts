import assert from 'node:assert/strict';
import { test } from 'node:test';
import { detectPictureType } from './pictures.ts';

const starts: readonly [string, string | null][] = [
  ['\x89PNG\r\n\x1a\n....', 'image/png'],
  ['\xff\xd8\xff\xe0', 'image/jpeg'],
  ['GIF87a', 'image/gif'],
  ['GIF89a', 'image/gif'],
  ['RIFF\x01\x02\x03\x04WEBP', 'image/webp'],
  ['RIFF\x01\x02\x03\x04WAVE', null],
  ['<svg xmlns', null],
  ['\x89PN', null],
  ['', null],
];

for (const [start, type] of starts)
  test(`bytes that begin with ${JSON.stringify(start)} are ${type ?? 'no picture'}`, () => {
    assert.equal(detectPictureType(Buffer.from(start, 'latin1')), type);
  });
