import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isWorkcrateError } from '../errors.ts';
import { parseName, parsePath, type PathRefusalKind } from './paths.ts';
import { refusedAs } from './playground.testing.ts';

const refused: Record<string, PathRefusalKind> = {
  '': 'empty',
  'a\0b': 'nul',
  '\ud800': 'not_unicode',
  '/': 'absolute',
  '/etc/passwd': 'absolute',
  '//server/share': 'unc',
  '\\\\server\\share': 'unc',
  '\\\\?\\C:\\x': 'unc',
  '..': 'traversal',
  '../x': 'traversal',
  'a/..': 'traversal',
  'a/../../x': 'traversal',
  './..//x': 'traversal',
  '.. /x': 'traversal',
  'a\\b': 'backslash',
  '..\\x': 'backslash',
  'C:': 'drive',
  'c:/x': 'drive',
  'C:x': 'drive',
  './C:/x': 'drive',
  'C:\\x': 'drive',
  '%2e%2e/x': 'encoded',
  '%2E%2e%2Fx': 'encoded',
  '..%2fx': 'encoded',
  'a%2fb': 'encoded',
  '%2fetc': 'encoded',
  '%5c%5cserver': 'encoded',
  'C%3a/x': 'encoded',
  'a%00.txt': 'encoded',
  '%252e%252e%252fx': 'encoded',
  '%25252e%25252e/x': 'encoded',
  '%%32%65%%32%65/x': 'encoded',
  '%c0%ae%c0%ae/x': 'encoded',
  '..%c0%afx': 'encoded',
  '..%e0%80%afx': 'encoded',
  '..%c1%9cx': 'encoded',
  '%u002e%u002e/x': 'encoded',
  '..%u2215x': 'encoded',
  '%ef%bc%8e%ef%bc%8e/x': 'encoded',
  '％2e％2e/x': 'encoded',
  '%\u200b2e./x': 'encoded',
  [`%${'25'.repeat(20)}41`]: 'encoded',
  '．．/x': 'look_alike',
  '․․/x': 'look_alike',
  '‥/x': 'look_alike',
  '.\u200b./x': 'look_alike',
  '..∕x': 'look_alike',
  'a∕b': 'look_alike',
  'a⁄b': 'look_alike',
  'a⧸b': 'look_alike',
  'a／b': 'look_alike',
  'a＼b': 'look_alike',
  'a∖b': 'look_alike',
  '／etc': 'look_alike',
  '\u200e/etc': 'look_alike',
  'C：/x': 'look_alike',
  'C∶x': 'look_alike',
  '\u212a\ua789/x': 'look_alike',
  '℀': 'look_alike',
  ['n'.repeat(256)]: 'too_long',
  ['ü'.repeat(128)]: 'too_long',
  ['n/'.repeat(2049)]: 'too_long',
  ['n/'.repeat(257)]: 'too_deep',
};

for (const [path, kind] of Object.entries(refused)) {
  test(`the path ${JSON.stringify(path).slice(0, 40)} is refused as ${kind}`, () => {
    assert.throws(() => parsePath(path), refusedAs(kind));
  });
}

const allowed: Record<string, string[]> = {
  '.': [],
  './a//b/./c/': ['a', 'b', 'c'],
  '100%25.txt': ['100%25.txt'],
  '100%': ['100%'],
  '%2e': ['%2e'],
  '...': ['...'],
  '..a/b..': ['..a', 'b..'],
  '-rf': ['-rf'],
  'a\nb': ['a\nb'],
  'a\u202eb\u200f': ['a\u202eb\u200f'],
  '½ cup…': ['½ cup…'],
  'e\u0301 and é': ['e\u0301 and é'],
  '日本。': ['日本。'],
  '12:30': ['12:30'],
  '~/x': ['~', 'x'],
  [`a b's "$(x)".txt`]: [`a b's "$(x)".txt`],
  [`${'n'.repeat(255)}/x`]: ['n'.repeat(255), 'x'],
};

for (const [path, names] of Object.entries(allowed)) {
  test(`the path ${JSON.stringify(path).slice(0, 40)} is taken literally`, () => {
    assert.deepEqual(parsePath(path), names);
  });
}

test('a single name is taken literally, whatever it would mean when decoded', () => {
  for (const name of [
    '%2e%2e',
    '..%2f..',
    '．．',
    'a∕b',
    'C:',
    'a\\b',
    '...',
    '-',
    ' ',
    '\u202e',
    'ü'.repeat(127),
  ]) {
    assert.deepEqual(parseName(name), [name]);
  }
});

test('a single name that is none is refused', () => {
  assert.throws(() => parseName(''), refusedAs('empty'));
  assert.throws(() => parseName('.'), refusedAs('traversal'));
  assert.throws(() => parseName('..'), refusedAs('traversal'));
  assert.throws(() => parseName('a/b'), refusedAs('separator'));
  assert.throws(() => parseName('a\0'), refusedAs('nul'));
  assert.throws(() => parseName('a\udfff'), refusedAs('not_unicode'));
  assert.throws(() => parseName('ü'.repeat(128)), refusedAs('too_long'));
});

test('any string at all is either refused or made of names that cannot lead elsewhere', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (text) => {
      for (const parse of [parsePath, parseName]) {
        try {
          for (const name of parse(text)) assert.ok(!/^\.{0,2}$|[/\0]/.test(name));
        } catch (error) {
          assert.ok(isWorkcrateError(error, 'path_refused'), String(error));
        }
      }
    }),
    { numRuns: 5_000 },
  );
});

test('a refusal shows a hostile path escaped and cut', () => {
  const path = `a\n\u202e\u2028${'x'.repeat(5_000)}`;
  assert.throws(
    () => parsePath(path),
    ({ message }: Error) => {
      return message.length < 400 && message.includes('a\\n\\u202e\\u2028x');
    },
  );
});
