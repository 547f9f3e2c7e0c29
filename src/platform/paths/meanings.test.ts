import assert from 'node:assert/strict';
import { posix, win32 } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { isWorkcrateError } from '../errors.ts';
import { parsePath } from './paths.ts';

/** What careless programs do to a path before they open it, written without our own decoder. */
const misreadings: ((path: string) => string)[] = [
  (path) => path.normalize('NFKC'),
  (path) => path.normalize('NFKD'),
  (path) => path.toLowerCase(),
  (path) => path.toUpperCase(),
  (path) => path.replaceAll('\\', '/'),
  (path) => path.replace(/[∕⁄⧸]/g, '/'),
  (path) => path.replace(/[\u200b-\u200f]/g, ''),
  (path) => path.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(parseInt(hex, 16))),
  (path) => {
    try {
      return decodeURIComponent(path);
    } catch {
      return path;
    }
  },
];

const pieces = [
  '.',
  '..',
  '/',
  '\\',
  '%',
  '%2e',
  '%2F',
  '%5c',
  '25',
  '2e',
  '2f',
  '5C',
  '%00',
  ':',
  'C',
  'a',
  ' ',
];
const alike = [
  '．',
  '․',
  '‥',
  '／',
  '＼',
  '∕',
  '⁄',
  '⧸',
  '％',
  '：',
  '２',
  'ｅ',
  '\u200b',
  '\u212a',
  '℀',
  'ſ',
  'İ',
];
const hostilePath = fc.array(fc.constantFrom(...pieces, ...alike), { minLength: 1, maxLength: 12 });
const misreading = fc.array(fc.constantFrom(...misreadings), { maxLength: 4 });

test('no accepted path leads outside when it is decoded, normalised or case-folded afterwards', () => {
  let accepted = 0;
  fc.assert(
    fc.property(hostilePath, misreading, (parts, steps) => {
      const path = parts.join('');
      if (!isAccepted(path)) return;
      accepted++;
      const form = steps.reduce((text, step) => step(text), path);
      assert.ok(isBelow(posix.resolve('/root/x', form), '/root/x', '/'), `${path} means ${form}`);
      assert.ok(
        isBelow(win32.resolve('Q:\\root', form), 'Q:\\root', '\\'),
        `${path} means ${form} on Windows`,
      );
    }),
    { numRuns: 50_000 },
  );
  assert.ok(accepted > 1_000, `only ${accepted} paths were accepted`);
});

function isAccepted(path: string): boolean {
  try {
    parsePath(path);
    return true;
  } catch (error) {
    if (isWorkcrateError(error, 'path_refused')) return false;
    throw error;
  }
}

function isBelow(path: string, root: string, separator: string): boolean {
  return path === root || path.startsWith(`${root}${separator}`);
}
