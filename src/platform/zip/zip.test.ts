import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isWorkcrateError } from '../errors.ts';
import { assemble, entriesOf } from './archive.testing.ts';
import { createZipLayout, type ZipEntry } from './zip.ts';
import { recordProof } from '../../../test/requirements/requirements.testing.ts';

const component = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 12 })
  .filter((text) => !/[\\/\0:]/.test(text) && !/^\.\.?$/.test(text));
const file = fc.record({
  name: fc.array(component, { minLength: 1, maxLength: 3 }).map((components) => components.join('/')),
  bytes: fc.uint8Array({ maxLength: 200 }),
  modified: fc.integer(),
});
const files = fc.uniqueArray(file, { minLength: 1, maxLength: 12, selector: ({ name }) => name });

test('the size of a ZIP is known before its bytes, and any range of it equals that slice', () => {
  fc.assert(
    fc.property(files, fc.nat(), fc.nat(), (contents, a, b) => {
      const layout = createZipLayout(entriesOf(contents));
      const whole = assemble(layout, contents);
      assert.equal(whole.length, layout.size);
      const [start, end] = [a % (layout.size + 1), b % (layout.size + 1)].sort((x, y) => x - y) as [
        number,
        number,
      ];
      assert.deepEqual(assemble(layout, contents, start, end), whole.subarray(start, end));
    }),
  );
  recordProof('C9:streamed');
});

test('every single byte of a small ZIP can be asked for', () => {
  const contents = [
    { name: 'empty', bytes: new Uint8Array() },
    { name: 'ü', bytes: Buffer.from('hello') },
  ];
  const layout = createZipLayout(entriesOf(contents));
  const bytes = Array.from({ length: layout.size }, (_, at) => assemble(layout, contents, at, at + 1));
  assert.deepEqual(Buffer.concat(bytes), assemble(layout, contents));
});

test('ranges that cross the chunks of a long directory equal that slice', () => {
  const contents = Array.from({ length: 3000 }, (_, i) => ({
    name: `${i}`.padEnd(60, '-'),
    bytes: Buffer.from('x'),
  }));
  const layout = createZipLayout(entriesOf(contents));
  const whole = assemble(layout, contents);
  fc.assert(
    fc.property(fc.nat(layout.size), fc.nat(200_000), (start, length) => {
      const end = Math.min(start + length, layout.size);
      assert.deepEqual(assemble(layout, contents, start, end), whole.subarray(start, end));
    }),
  );
});

test('the bytes of a ZIP depend on its entries alone', () => {
  const contents = [{ name: 'a.txt', bytes: Buffer.from('a'), modified: Date.UTC(2026, 0, 2, 3, 4, 6) }];
  const expected =
    '504b03041400000800008318225c43beb7e8010000000100000005000000612e747874' +
    '61' +
    '504b010214031400000800008318225c43beb7e80100000001000000050000000000000000000000a48100000000612e747874' +
    '504b0506000000000100010033000000240000000000';
  assert.equal(assemble(createZipLayout(entriesOf(contents)), contents).toString('hex'), expected);
});

test('no part of a ZIP of 100,000 files is held before it is asked for, or over 64 KB', () => {
  const layout = createZipLayout(
    Array.from({ length: 100_000 }, (_, i) => entry({ name: `folder/${i}.txt` })),
  );
  let size = 0;
  for (const part of layout.parts(0, layout.size)) {
    const length = 'bytes' in part ? part.bytes.length : part.end - part.start;
    assert.ok(length <= 65_536);
    size += length;
  }
  assert.equal(size, layout.size);
});

function entry(fields: Partial<ZipEntry>): ZipEntry {
  return { name: 'a.txt', size: 10, crc32: 0, modified: 0, ...fields };
}

const refusals: [reason: string, entries: ZipEntry[]][] = [
  ['no entries', []],
  ['the same name twice', [entry({}), entry({})]],
  ...[
    '',
    '/etc/passwd',
    'C:/x',
    'c:x',
    '..',
    '../x',
    'a/../b',
    'a/..',
    './a',
    'a//b',
    'a/',
    'a\\b',
    'a\0b',
    '\ud800',
  ].map((name): [string, ZipEntry[]] => [`the name ${JSON.stringify(name)}`, [entry({ name })]]),
  ['a name of 65,536 bytes', [entry({ name: 'ü'.repeat(32_768) })]],
  ...[-1, 1.5, Number.NaN, Infinity, 2 ** 53].map((size): [string, ZipEntry[]] => [
    `the size ${size}`,
    [entry({ size })],
  ]),
  ...[-1, 1.5, 2 ** 32].map((crc32): [string, ZipEntry[]] => [`the CRC-32 ${crc32}`, [entry({ crc32 })]]),
  ['files beyond 4 PiB', [entry({ size: 2 ** 53 - 1 }), entry({ name: 'b' })]],
];

for (const [reason, entries] of refusals) {
  test(`a ZIP is refused for ${reason}`, () => {
    assert.throws(
      () => createZipLayout(entries),
      (error) => isWorkcrateError(error, 'invalid_input'),
    );
  });
}

test('names that only look like climbing, and one of 65,535 bytes, are accepted', () => {
  for (const name of ['..a', 'a..', 'a/..b', '...', 'x'.repeat(65_535)])
    assert.ok(createZipLayout([entry({ name })]).size > 0);
});

test('a range outside the ZIP is refused at once', () => {
  const layout = createZipLayout([entry({})]);
  for (const [start, end] of [
    [-1, 1],
    [2, 1],
    [0, layout.size + 1],
    [0.5, 1],
    [0, Number.NaN],
  ] as const)
    assert.throws(
      () => layout.parts(start, end),
      (error) => isWorkcrateError(error, 'invalid_input'),
    );
});
