import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listingFrom } from './listing-text.ts';

async function parsed(text: string, size = text.length): Promise<unknown[]> {
  const bytes = Buffer.from(text);
  async function* chunks() {
    for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
  }
  return (await Array.fromAsync(listingFrom(chunks()))).filter((entry) => entry !== null);
}

test('E1: records of find hold any name, wherever the pieces end', async () => {
  const text =
    'f\t12\t1790000000.5000000000\ta\nb\tc.md\0d\t4096\t1790000000.0\tsub\0l\t3\t-5.5\tlink\0s\t0\t1.0\tsocket\0';
  const expected = [
    { path: 'a\nb\tc.md', type: 'file', size: 12, mtime: 1_790_000_000_500 },
    { path: 'sub', type: 'folder', size: 4096, mtime: 1_790_000_000_000 },
    { path: 'link', type: 'link', size: 3, mtime: -5500 },
    { path: 'socket', type: 'other', size: 0, mtime: 1000 },
  ];
  for (const size of [text.length, 41, 7, 1]) assert.deepEqual(await parsed(text, size), expected);
});

test('E1: lines are JSON, words or plain paths, and what is none of these is passed over', async () => {
  const text = [
    '{"path":"a.md","type":"file","size":1,"mtime":2.5}',
    '{"path":7}',
    '{"broken',
    '[]',
    'file 3 2026-01-31T12:00:00Z b c.md',
    'folder - - more',
    '  plain.md\r',
    'folder/',
    '',
    'last',
  ].join('\n');
  assert.deepEqual(await parsed(text, 5), [
    { path: 'a.md', type: 'file', size: 1, mtime: 2 },
    { path: '[]', type: null, size: null, mtime: null },
    { path: 'b c.md', type: 'file', size: 3, mtime: Date.parse('2026-01-31T12:00:00Z') },
    { path: 'more', type: 'folder', size: null, mtime: null },
    { path: 'plain.md', type: null, size: null, mtime: null },
    { path: 'folder', type: 'folder', size: null, mtime: null },
    { path: 'last', type: null, size: null, mtime: null },
  ]);
  await assert.rejects(parsed('x'.repeat(40_000)), { code: 'invalid_input' });
  assert.deepEqual(await parsed(''), []);
});
