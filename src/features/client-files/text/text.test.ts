import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isWorkcrateError } from '../../../platform/errors.ts';
import { recordProof } from '../../../../test/requirements/requirements.testing.ts';
import { decodeFileText, encodeText, parseBase64, toBase64 } from './text.ts';

const hex = (text: string): Uint8Array => Buffer.from(text.replaceAll(' ', ''), 'hex');
const refused = (error: unknown): boolean => isWorkcrateError(error, 'invalid_input');

interface Case {
  readonly bytes: Uint8Array;
  readonly wanted: string | null;
  readonly text: string;
  readonly used: string;
  readonly fellBack?: boolean;
}

const cases: Record<string, Case> = {
  'nothing at all': { bytes: hex(''), wanted: null, text: '', used: 'utf-8' },
  'plain UTF-8': { bytes: hex('c3 a9'), wanted: null, text: 'é', used: 'utf-8' },
  'UTF-8 with a mark': { bytes: hex('ef bb bf c3 a9'), wanted: 'utf-8', text: 'é', used: 'utf-8' },
  'UTF-8 by a name of Python': { bytes: hex('c3 a9'), wanted: 'UTF_8', text: 'é', used: 'utf-8' },
  'UTF-16 LE by its mark': { bytes: hex('ff fe e9 00'), wanted: null, text: 'é', used: 'utf-16le' },
  'UTF-16 BE by its mark': { bytes: hex('fe ff 00 e9'), wanted: 'utf-16', text: 'é', used: 'utf-16be' },
  'UTF-16 LE by wish': { bytes: hex('e5 65 2c 67'), wanted: 'utf-16', text: '日本', used: 'utf-16le' },
  'UTF-16 LE by its looks': {
    bytes: encodeText('a,b\n1,2\n', 'utf-16le'),
    wanted: null,
    text: 'a,b\n1,2\n',
    used: 'utf-16le',
  },
  'UTF-16 BE by its looks': {
    bytes: encodeText('a,b\n1,2\n', 'utf-16be'),
    wanted: 'utf-16',
    text: 'a,b\n1,2\n',
    used: 'utf-16be',
  },
  'UTF-16 by one line break': {
    bytes: encodeText('日本語日本語日本語\n', 'utf-16le'),
    wanted: null,
    text: '日本語日本語日本語\n',
    used: 'utf-16le',
  },
  'the other byte order than the mark': {
    bytes: hex('fe ff 00 e9'),
    wanted: 'utf-16le',
    text: 'é',
    used: 'utf-16be',
    fellBack: true,
  },
  'UTF-8 wanted, UTF-16 given': {
    bytes: hex('ff fe e9 00'),
    wanted: 'utf-8',
    text: 'é',
    used: 'utf-16le',
    fellBack: true,
  },
  'UTF-8 wanted, windows-1252 given': {
    bytes: hex('80 e9'),
    wanted: 'utf-8',
    text: '€é',
    used: 'windows-1252',
    fellBack: true,
  },
  'UTF-16 wanted, of an odd length': {
    bytes: hex('c3 a9 21'),
    wanted: 'utf-16',
    text: 'é!',
    used: 'utf-8',
    fellBack: true,
  },
  'ASCII wanted, UTF-8 given': {
    bytes: hex('c3 a9'),
    wanted: 'ascii',
    text: 'é',
    used: 'utf-8',
    fellBack: true,
  },
  'what windows-1252 does not define': {
    bytes: hex('81 e9'),
    wanted: null,
    text: '\u0081é',
    used: 'iso-8859-1',
  },
  'latin-1 is not windows-1252': {
    bytes: hex('80 e9'),
    wanted: 'latin-1',
    text: '\u0080é',
    used: 'iso-8859-1',
  },
  'windows-1252 by wish': { bytes: hex('80 e9'), wanted: 'cp1252', text: '€é', used: 'windows-1252' },
  'a name that only TextDecoder knows': {
    bytes: hex('93 fa'),
    wanted: 'Shift_JIS',
    text: '日',
    used: 'shift_jis',
  },
  'a NUL in UTF-8 stays UTF-8': { bytes: hex('61 62 63 00'), wanted: null, text: 'abc\0', used: 'utf-8' },
};

for (const [name, { bytes, wanted, text, used, fellBack = false }] of Object.entries(cases))
  test(`decoding ${name} says which encoding was used`, () => {
    const { bom: _, ...got } = decodeFileText(bytes, wanted);
    assert.deepEqual(got, { text, encoding: used, fellBack });
    recordProof('E2:encoding-falls-back-and-is-told');
  });

test('an encoding that does not exist is refused, with those that do', () => {
  for (const name of ['utf-9', '', 'replacement', 'constructor', 'x'.repeat(10_000)])
    assert.throws(
      () => decodeFileText(hex('61'), name),
      (error) =>
        refused(error) &&
        /utf-8, utf-16/.test((error as Error).message) &&
        (error as Error).message.length < 500,
    );
});

test('every byte string comes back exactly as base64, and has some text in any encoding', () => {
  const names = fc.constantFrom(
    null,
    'utf-8',
    'utf-16',
    'utf-16be',
    'latin-1',
    'windows-1252',
    'ascii',
    'gb18030',
    'euc-jp',
  );
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), names, (bytes, wanted) => {
      assert.deepEqual(parseBase64(toBase64(bytes)), bytes);
      assert.equal(typeof decodeFileText(bytes, wanted).text, 'string');
    }),
    { numRuns: 300 },
  );
});

test('what is decoded as UTF-8, UTF-16, latin-1 or windows-1252 gives the same bytes again', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => {
      for (const wanted of ['utf-8', 'utf-16', 'latin-1', 'windows-1252', 'ascii', null]) {
        const { text, encoding, bom } = decodeFileText(bytes, wanted);
        assert.deepEqual(Buffer.from(encodeText((bom ? '\ufeff' : '') + text, encoding)), Buffer.from(bytes));
      }
    }),
    { numRuns: 300 },
  );
});

test('every text comes back from UTF-8 and UTF-16, with a mark and without', () => {
  const text = fc
    .string({ unit: 'binary', maxLength: 100 })
    .filter((it) => !it.startsWith('\ufeff') && !it.startsWith('\ufffe'));
  const encodings = fc.constantFrom('utf-8', 'utf-16le', 'utf-16be');
  fc.assert(
    fc.property(text, encodings, fc.boolean(), (text, encoding, bom) => {
      const bytes = encodeText((bom ? '\ufeff' : '') + text, encoding);
      assert.deepEqual(decodeFileText(bytes, encoding), { text, encoding, bom, fellBack: false });
    }),
    { numRuns: 300 },
  );
});

test('text that an encoding cannot tell is refused, not replaced', () => {
  const bad = [
    ['€', 'latin-1'],
    ['\u0080', 'windows-1252'],
    ['é', 'ascii'],
    ['日', 'windows-1252'],
    ['\ud800', 'utf-8'],
    ['\udc00', 'utf-16'],
    ['a', 'big5'],
  ] as const;
  for (const [text, encoding] of bad) assert.throws(() => encodeText(text, encoding), refused, encoding);
});

test('base64 that is cut, padded wrongly or no base64 is refused', () => {
  for (const text of ['YQ', 'YQ=', 'YR==', 'Y Q = = =', 'Y-_=', 'data:;base64,YQ==', 'é'])
    assert.throws(() => parseBase64(text), refused, text);
  assert.deepEqual(parseBase64('YWJj\nZGVm\r\n'), new Uint8Array(Buffer.from('abcdef')));
});
