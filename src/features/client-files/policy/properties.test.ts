import assert from 'node:assert/strict';
import { posix, win32 } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { isWorkcrateError } from '../../../platform/errors.ts';
import { createPathPolicy, type PathPolicy } from './policy.ts';
import { recordProof } from '../../../../test/requirements/requirements.testing.ts';

const pieces = [
  'docs',
  'src',
  '.guide',
  'a',
  'b.md',
  '/',
  '/',
  '/',
  '.',
  '..',
  '\\',
  '%2e',
  '%2F',
  '%',
  '25',
  ':',
  'C',
  '~1',
];
const odd = [
  '．',
  '‥',
  '／',
  '∕',
  '％',
  '：',
  '\u200b',
  '\u202e',
  ' ',
  '$',
  '~',
  '*',
  '\0',
  'NUL',
  '?',
  '"',
  '|',
  '`',
  '{a,b}',
  'ENV~1',
  '%2e',
  'a:',
  'İ',
  '/p/q/',
  'Q:\\r\\',
  '\ud800',
];
const hostile = fc
  .array(fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...pieces) }, fc.constantFrom(...odd)), {
    maxLength: 10,
  })
  .map((parts) => parts.join(''));
const anyPath = fc.oneof(
  hostile,
  hostile.map((rest) => `docs/${rest}`),
  fc.string({ unit: 'binary', maxLength: 60 }),
  fc.string({ unit: 'grapheme', maxLength: 60 }).map((rest) => `src/${rest}`),
);

const onPosix = createPathPolicy({ root: '/p/q', read: null, list: ['.'] });
const onWindows = createPathPolicy({ root: 'Q:\\r', read: null, list: ['.'] });
const somewhere = createPathPolicy({ root: null, read: null, list: ['.'] });
const purpose = fc.constantFrom('read', 'list');
const below = ['docs', 'src', 'tests', '.guide', '.todo'];

test('whatever passes stays below the project and an allowed folder, on POSIX and on Windows', () => {
  let passed = 0;
  fc.assert(
    fc.property(anyPath, purpose, (path, what) => {
      const judged = accepted(onPosix, path, what);
      if (judged === null) return;
      passed++;
      const [there, onDrive] = [posix.join('/p/q', judged.relative), win32.join('Q:\\r', judged.relative)];
      assert.equal(there, judged.absolute);
      const folders = what === 'list' ? [''] : below;
      assert.ok(
        folders.some((folder) => isBelow(there, posix.join('/p/q', folder), '/')),
        path,
      );
      assert.ok(
        folders.some((folder) => isBelow(onDrive, win32.join('Q:\\r', folder), '\\')),
        path,
      );
    }),
    { numRuns: 10_000 },
  );
  assert.ok(passed > 500, `only ${passed} passed`);
  recordProof('E4:hostile-forms-never-lead-outside');
});

test('what passes once passes again as it came out, absolute or not, and is the same', () => {
  fc.assert(
    fc.property(anyPath, purpose, fc.constantFrom(onPosix, onWindows, somewhere), (path, what, policy) => {
      const judged = accepted(policy, path, what);
      if (judged === null) return;
      assert.deepEqual(policy.judge(judged.relative, what), judged);
      if (judged.absolute !== null) assert.deepEqual(policy.judge(judged.absolute, what), judged);
    }),
    { numRuns: 10_000 },
  );
});

test('no answer of a client passes that is not below what was asked for', () => {
  fc.assert(
    fc.property(anyPath, fc.constantFrom('root', 'folder'), (path, from) => {
      const asked = onPosix.judge('docs/a', 'list');
      const judged = onPosix.judgeAnswer(asked, path, 'list', from);
      if (judged !== null) assert.ok(isBelow(judged.absolute!, '/p/q/docs/a', '/'), path);
    }),
    { numRuns: 10_000 },
  );
});

test('long input of every hostile piece is refused or passes, and ends', () => {
  for (const piece of [...pieces, ...odd, '{', '{,', '$A', '%a', '\u0338', '~1.', 'con.', '/.'])
    for (const length of [250, 4000, 2_000_000]) {
      const path = piece.repeat(Math.ceil(length / piece.length));
      for (const policy of [onPosix, onWindows]) {
        accepted(policy, path, 'list');
        policy.judgeAnswer({ relative: '', absolute: null }, path, 'list', 'folder');
      }
    }
});

/** Anything but a refusal fails the test. */
function accepted(policy: PathPolicy, path: string, what: 'read' | 'list') {
  try {
    return policy.judge(path, what);
  } catch (error) {
    if (isWorkcrateError(error, 'path_refused') || isWorkcrateError(error, 'path_not_allowed')) return null;
    throw error;
  }
}

function isBelow(path: string, folder: string, separator: string): boolean {
  return path === folder || path.startsWith(`${folder}${separator}`);
}
