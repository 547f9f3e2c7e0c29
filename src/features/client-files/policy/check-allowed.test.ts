import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkAllowedSetting } from './policy.ts';

const invalid = { code: 'config_invalid' };

test('allowed paths that can be right in no project are told at the start', () => {
  const relative = ['../x', 'C:docs', 'docs/../../src', '~/x', 'doc*', 'docs\\x', ''];
  for (const path of [...relative, '/', '/p/../etc', 'C:\\', '\\\\server\\share'])
    for (const root of [null, '/home/me/project']) {
      assert.throws(() => checkAllowedSetting({ root, read: ['docs', path], list: null }), invalid, path);
      assert.throws(() => checkAllowedSetting({ root, read: null, list: [path] }), invalid, path);
    }
  const below = { root: '/p', read: ['/p/docs/*'], list: null };
  assert.throws(() => checkAllowedSetting(below), invalid, 'below a known project, names are looked at');
});

test('absolute ones outside of the project that is known are warned of, once each', () => {
  assert.deepEqual(checkAllowedSetting({ root: null, read: null, list: null }), []);
  assert.deepEqual(checkAllowedSetting({ root: null, read: ['.', 'docs/a', '.github'], list: ['src'] }), []);
  assert.deepEqual(checkAllowedSetting({ root: '/p', read: ['/p/docs', '/p'], list: null }), []);
  for (const root of ['/p', null]) {
    const warnings = checkAllowedSetting({ root, read: ['/etc', 'docs'], list: ['/etc', 'C:\\x'] });
    assert.deepEqual(
      warnings.map((warning) => warning.split(' ')[0]),
      ['/etc', 'C:\\x'],
    );
    assert.match(warnings[0]!, /from the project's folder, such as docs/);
  }
});
