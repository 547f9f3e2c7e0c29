import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toZoteroAddress } from './library.ts';

const key = 'abc123';

test('the address of a library follows from its name, unless one is given', () => {
  const web = toZoteroAddress({ url: null, library: 'groups/77', key });
  assert.deepEqual(web, { base: 'https://api.zotero.org', library: 'groups/77', key, isLocal: false });
  const own = toZoteroAddress({ url: null, library: 'users/0', key });
  assert.deepEqual(own, { base: 'http://127.0.0.1:23119/api', library: 'users/0', key: null, isLocal: true });
  const group = toZoteroAddress({ url: 'http://localhost:23119/api/', library: 'groups/77', key: null });
  assert.deepEqual([group.base, group.isLocal], ['http://localhost:23119/api', true]);
});

test('what is no library, no URL or no key is refused at the start, and no key is told', () => {
  const wrong = [
    { library: '' },
    { library: 'users/' },
    { library: 'groups/0' },
    { library: 'users/1/items' },
    { library: 'users/../groups/1' },
    { url: 'ftp://example.org' },
    { url: 'nonsense' },
    { url: 'https://a:b@example.org' },
    { url: 'https://example.org/?key=1' },
    { url: 'http://example.org' },
    { key: 'two\nlines' },
    { key: '' },
  ];
  for (const one of wrong)
    assert.throws(
      () => toZoteroAddress({ url: null, library: 'users/1', key, ...one }),
      (error: { code: string; message: string }) =>
        error.code === 'config_invalid' && !error.message.includes(key) && !error.message.includes('two\n'),
      JSON.stringify(one),
    );
});
