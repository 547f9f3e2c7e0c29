import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { numberEqualNames } from './zip.ts';

const cases: [given: string[], expected: string[]][] = [
  [
    ['a.txt', 'b.txt'],
    ['a.txt', 'b.txt'],
  ],
  [
    ['a.txt', 'a.txt', 'a.txt'],
    ['a.txt', 'a (2).txt', 'a (3).txt'],
  ],
  [
    ['a.txt', 'a.txt', 'a (2).txt'],
    ['a.txt', 'a (3).txt', 'a (2).txt'],
  ],
  [
    ['Plot.PNG', 'plot.png'],
    ['Plot.PNG', 'plot (2).png'],
  ],
  [
    ['\u00e9', 'e\u0301'],
    ['\u00e9', 'e\u0301 (2)'],
  ],
  [
    ['STRASSE', 'straße', 'STRAẞE'],
    ['STRASSE', 'straße (2)', 'STRAẞE (3)'],
  ],
  [
    ['.gitignore', '.gitignore'],
    ['.gitignore', '.gitignore (2)'],
  ],
  [
    ['v1.2/readme', 'v1.2/readme'],
    ['v1.2/readme', 'v1.2/readme (2)'],
  ],
  [
    ['a/x.txt', 'b/x.txt', 'A/x.txt'],
    ['a/x.txt', 'b/x.txt', 'A/x (2).txt'],
  ],
  [[], []],
];

for (const [given, expected] of cases) {
  test(`unique names of ${JSON.stringify(given)}`, () => assert.deepEqual(numberEqualNames(given), expected));
}

const name = fc.string({
  unit: fc.constantFrom('a', 'A', '.', ' ', '(2)', ' (2)', ' (3)', 'é', 'e\u0301', 'ß', 'ss', '/'),
});

test('names become distinct on any disk, and the first use of each stays as it is', () => {
  fc.assert(
    fc.property(fc.array(name, { maxLength: 30 }), (names) => {
      const unique = numberEqualNames(names);
      const folded = unique.map((text) => text.normalize('NFC').toLowerCase());
      assert.equal(new Set(folded).size, names.length);
      names.forEach((text, i) => {
        assert.ok(unique[i] === text || names.slice(0, i).some((earlier) => same(earlier, text)));
      });
    }),
  );
});

function same(a: string, b: string): boolean {
  return a.normalize('NFC').toUpperCase() === b.normalize('NFC').toUpperCase();
}

test('names of 255 bytes stay within 255 bytes, their extension kept', () => {
  const long = `${'ü'.repeat(125)}a.txt`;
  for (const text of numberEqualNames(Array.from({ length: 10_000 }, () => long))) {
    assert.ok(Buffer.byteLength(text) <= 255);
    assert.ok(text.endsWith('.txt'));
  }
});

const hostile: [what: string, names: string[]][] = [
  ['equal names', Array.from({ length: 10_000 }, () => 'a.txt')],
  ['pairs of long names alike', Array.from({ length: 10_000 }, (_, i) => 'x'.repeat(250) + (i >> 1))],
  ['names that use up the numbers', Array.from({ length: 20_000 }, (_, i) => (i % 2 ? 'a' : `a (${i})`))],
];

for (const [what, names] of hostile) {
  test(`10,000 ${what} take no quadratic time`, { timeout: 60_000 }, () => {
    assert.equal(new Set(numberEqualNames(names)).size, names.length);
  });
}
