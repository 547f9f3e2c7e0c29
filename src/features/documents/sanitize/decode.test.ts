import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeUtf8Text } from './text.ts';

const bytes = (...parts: (string | number[])[]): Uint8Array =>
  Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.from(part))));

test('a text in UTF-8 is read, without its byte order mark', () => {
  assert.equal(decodeUtf8Text(bytes([0xef, 0xbb, 0xbf], 'Grüße, 世界 🎉'), 'a.md'), 'Grüße, 世界 🎉');
  assert.equal(decodeUtf8Text(bytes(), 'a.md'), '');
});

const wrong: [what: string, given: Uint8Array, offset: number, line: number][] = [
  ['Latin-1', bytes('a\nGr', [0xfc], 'e'), 4, 2],
  ['a byte that never stands in UTF-8', bytes([0xff]), 0, 1],
  ['an overlong slash', bytes('a\n\n', [0xc0, 0xaf]), 3, 3],
  ['a surrogate', bytes('a', [0xed, 0xa0, 0x80], 'b'), 2, 1],
  ['a character that is cut off', bytes('abc', [0xe4, 0xb8]), 4, 1],
  ['UTF-16', bytes([0xff, 0xfe, 0x61, 0x00]), 0, 1],
];

for (const [what, given, offset, line] of wrong)
  test(`a text with ${what} is refused, and the place is named`, () => {
    assert.throws(() => decodeUtf8Text(given, 'a.md'), {
      code: 'document_invalid',
      message: new RegExp(`^a\\.md is not UTF-8: byte ${offset}, in line ${line},`),
      details: { offset, line },
    });
  });
