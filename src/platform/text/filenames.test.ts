import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { cleanFilename, portableFilename } from './filenames.ts';

const cases: [given: string, expected: string][] = [
  ['report.pdf', 'report.pdf'],
  ['Grüße & 日本語 – отчёт (1).txt', 'Grüße & 日本語 – отчёт (1).txt'],
  ["it's $(touch x); `id` %41 #1.txt", "it's $(touch x); `id` %41 #1.txt"],
  ['-rf', '-rf'],
  ['👩‍👩‍👧.png', '👩‍👩‍👧.png'],
  ['می‌خواهم.txt', 'می‌خواهم.txt'],
  ['../../etc/passwd', 'passwd'],
  ['C:\\x\\y.txt', 'y.txt'],
  ['C:y.txt', 'C_y.txt'],
  ['a/b\\c/', 'c'],
  ['a.txt\r\nSet-Cookie: x=1', 'a.txtSet-Cookie_ x=1'],
  ['a"; filename="b.exe', 'a_; filename=_b.exe'],
  ['<a>|b?*.txt', '_a__b__.txt'],
  ['a\0b\t\x7f\x85\u2028\u2029c', 'abc'],
  ['invoice\u202efdp.exe', 'invoicefdp.exe'],
  ['\u200e\u200f\u061c\u2066a\u2069\u00ad\u200b\ufeff\u{e0041}.txt', 'a.txt'],
  ['\ud800a\udc00', '\ufffda\ufffd'],
  ['\ud83d\u200b\ude00', '\ufffd\ufffd'],
  ['e\u200b\u0301', '\u00e9'],
  ['e\u0301.txt', '\u00e9.txt'],
  [' a.txt. . ', 'a.txt'],
  ['.gitignore', '.gitignore'],
  ['con', '_con'],
  ['con.txt', '_con.txt'],
  ['NUL .tar.gz', '_NUL .tar.gz'],
  ['com1', '_com1'],
  ['LPT².log', '_LPT².log'],
  ['CONIN$', '_CONIN$'],
  ['c\u200bon', '_con'],
  ['con\u200d', '_con'],
  ['console.txt', 'console.txt'],
  ['con artist.txt', 'con artist.txt'],
  [`con${' '.repeat(300)}x`, '_con'],
  ['.', 'file'],
  ['..', 'file'],
  ['a/..', 'file'],
  ['. .', 'file'],
  ['', 'file'],
  ['///', 'file'],
  ['\u200b\u200d\u00a0', 'file'],
  ['x'.repeat(4000), 'x'.repeat(255)],
  [`${'x'.repeat(4000)}.tar.gz`, `${'x'.repeat(252)}.gz`],
  [`${'ü'.repeat(4000)}.txt`, `${'ü'.repeat(125)}.txt`],
  ['😀'.repeat(100), '😀'.repeat(63)],
  [`a.${'x'.repeat(400)}`, `a.${'x'.repeat(253)}`],
  [`con.${'x'.repeat(400)}`, `_con.${'x'.repeat(250)}`],
  [`${'a'.repeat(250)}${' '.repeat(50)}b`, 'a'.repeat(250)],
];

const faithful: [given: string, expected: string][] = [
  ['a "b" <c>: d|e?*.txt', 'a "b" <c>: d|e?*.txt'],
  ['con.txt', 'con.txt'],
  ['../../etc/passwd', 'passwd'],
  ['C:\\x\\y.txt', 'y.txt'],
  ['a.txt\r\nSet-Cookie: x=1', 'a.txtSet-Cookie: x=1'],
  ['invoice\u202efdp.exe', 'invoicefdp.exe'],
  ['x'.repeat(4000), 'x'.repeat(255)],
  ['..', 'file'],
];

for (const [given, expected] of faithful)
  test(`a file's own name ${JSON.stringify(given.slice(0, 30))} stays as it is where that is safe`, () =>
    assert.equal(cleanFilename(given), expected));

for (const [given, expected] of cases) {
  const title = JSON.stringify(given.length > 60 ? `${given.slice(0, 20)}… (${given.length})` : given);
  test(`in an archive, the name ${title}`, () => assert.equal(portableFilename(given), expected));
}

const tricky = fc.constantFrom(
  ...Array.from('. /\\:"<_\r\n\0\u200b\u200d\u202e\ufeff\ud800e\udc00\u0301\u0338\u00a0\u212aü😀'),
  'con',
  'NUL',
  'com1',
  '..',
  '.txt',
  'x'.repeat(120),
  ' '.repeat(120),
);
const anyName = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 400 }),
  fc.string({
    unit: fc.oneof(tricky, fc.string({ unit: 'binary', minLength: 1, maxLength: 1 })),
    maxLength: 12,
  }),
);

test('any name becomes a safe one', () => {
  fc.assert(
    fc.property(anyName, (given) => {
      const name = portableFilename(given);
      assert.ok(name !== '' && Buffer.byteLength(name) <= 255 && name.isWellFormed());
      assert.doesNotMatch(name, /[\p{Cc}\u2028-\u202e\u2066-\u2069<>:"|?*/\\]|^\.{1,2}$|^\s|[\s.]$/u);
      assert.doesNotMatch(name, /^(con|prn|aux|nul|(com|lpt)\d) *(\.|$)/i);
      assert.equal(name, name.normalize('NFC'));
    }),
    { numRuns: 5000 },
  );
});

test('a name that has been cleaned stays as it is', () => {
  const twice = fc.property(anyName, (given) =>
    assert.equal(portableFilename(portableFilename(given)), portableFilename(given)),
  );
  fc.assert(twice, { numRuns: 5000 });
});

// In quadratic time it would take hours: the limit only keeps a failure from hanging the suite.
test('a hostile name of a million characters takes no quadratic time', { timeout: 60_000 }, () => {
  for (const text of [' ', '.', '/', '\u200b', 'x', ' .', '\ud800'])
    portableFilename(`${text.repeat(1_000_000)}x`);
});
