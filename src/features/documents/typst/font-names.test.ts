import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { readFontFamilies, type ReadFontAt } from './fonts.ts';

interface Entry {
  readonly id: number;
  readonly text: string;
  readonly platform?: number;
  readonly language?: number;
}

const words = (...numbers: number[]): Buffer => {
  const bytes = Buffer.alloc(numbers.length * 2);
  for (const [at, number] of numbers.entries()) bytes.writeUInt16BE(number, at * 2);
  return bytes;
};

const long = (number: number): number[] => [Math.floor(number / 0x1_00_00), number % 0x1_00_00];

/** A font that is nothing but names, at `start` of its file. */
function font(entries: readonly Entry[], start = 0): Buffer {
  const texts = entries.map(({ text, platform = 3 }) =>
    platform === 1 ? Buffer.from(text, 'latin1') : Buffer.from(text, 'utf16le').swap16(),
  );
  let offset = 0;
  const records = entries.map(({ id, platform = 3, language = platform === 3 ? 0x409 : 0 }, at) => {
    const { length } = texts[at]!;
    offset += length;
    return words(platform, platform === 1 ? 0 : 1, language, id, length, offset - length);
  });
  const table = Buffer.concat([words(0, records.length, 6 + records.length * 12), ...records, ...texts]);
  const directory = words(
    ...long(0x1_00_00),
    1,
    0,
    0,
    0,
    0x6e61,
    0x6d65,
    0,
    0,
    ...long(start + 28),
    ...long(table.length),
  );
  return Buffer.concat([directory, table]);
}

const reading =
  (bytes: Buffer): ReadFontAt =>
  (offset, length) =>
    bytes.subarray(offset, offset + length);

it('the typographic family goes before the plain one, and English before other languages', () => {
  const bytes = font([
    { id: 1, text: '某字体', language: 0x804 },
    { id: 1, text: 'Some Sans Extra Light' },
    { id: 16, text: 'Some Sans' },
    { id: 4, text: 'Some Sans Regular' },
  ]);
  assert.deepEqual(readFontFamilies(reading(bytes)), ['Some Sans']);
});

it('styles at the end of a name are no part of the family, as Typst sees it', () => {
  assert.deepEqual(readFontFamilies(reading(font([{ id: 1, text: 'Some Sans SemiBold Italic' }]))), [
    'Some Sans',
  ]);
  assert.deepEqual(readFontFamilies(reading(font([{ id: 1, text: 'Old', platform: 1 }]))), ['Old']);
});

it('all the families of a collection are told, each once', () => {
  const head = Buffer.concat([Buffer.from('ttcf'), words(1, 0, ...long(3))]);
  const first = font([{ id: 1, text: 'One' }], 24);
  const second = font([{ id: 1, text: 'Two' }], 24 + first.length);
  const offsets = words(...long(24), ...long(24 + first.length), ...long(24));
  assert.deepEqual(readFontFamilies(reading(Buffer.concat([head, offsets, first, second]))), ['One', 'Two']);
});

it('names that could be code are none', () => {
  for (const text of ['"); #read("x', '$body$', 'a\nb', '', 'x'.repeat(65)])
    assert.deepEqual(readFontFamilies(reading(font([{ id: 1, text }]))), []);
});

it('what is no font has no families', () => {
  for (const bytes of [Buffer.alloc(0), Buffer.from('hello'), Buffer.from('OTTO'), Buffer.from('ttcf')])
    assert.deepEqual(readFontFamilies(reading(bytes)), []);
});

it('whatever the bytes, nothing is thrown and names are plain', () => {
  const whole = font([{ id: 16, text: 'Some Sans' }]);
  const broken = fc.array(fc.tuple(fc.nat(whole.length - 1), fc.nat(255)), { maxLength: 12 });
  fc.assert(
    fc.property(broken, fc.nat(whole.length), (changes, length) => {
      const bytes = Buffer.from(whole);
      for (const [at, value] of changes) bytes[at] = value;
      for (const name of readFontFamilies(reading(bytes.subarray(0, length))))
        assert.match(name, /^[^"\\#$\n]+$/);
    }),
  );
});
