import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseListing } from './commands.ts';

async function* inPieces(bytes: Uint8Array, size: number) {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function parsed(text: string, size = text.length): Promise<unknown[]> {
  const entries = parseListing(inPieces(Buffer.from(text), size), { isWhole: true, folder: 'docs' });
  return (await Array.fromAsync(entries)).filter((entry) => entry !== null);
}

/** Its paths, and null for each that has none; whether it was cut comes last. */
async function sent(bytes: Uint8Array | string, size = 1000): Promise<(string | boolean | null)[]> {
  const entries = parseListing(inPieces(Buffer.from(bytes as string), size), {
    isWhole: false,
    folder: 'docs',
  });
  const seen: (string | boolean | null)[] = [];
  for (let step = await entries.next(); ; step = await entries.next()) {
    if (step.done) return [...seen, step.value.end !== 'whole'];
    seen.push(step.value?.path ?? null);
  }
}

test('records of find hold any name, wherever the pieces end', async () => {
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

test('lines are JSON, words or plain paths, and what is none of these is passed over', async () => {
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

test('what is sent is whole only if it says so by its last record', async () => {
  const [record, end] = ['f\t1\t1.0\ta\nb\0', '{"end":true}'];
  const itself = 'd\t4096\t1.0\t';
  for (const size of [1000, 5, 1]) {
    assert.deepEqual(await sent(`${record}${itself}\0`, size), ['a\nb', false]);
    assert.deepEqual(await sent(`${itself}\0`, size), [false], 'an empty folder');
    assert.deepEqual(await sent(`{"path":"a"}\n{"end": true}\r\n`, size), ['a', false]);
    assert.deepEqual(await sent(`end\n${end}`, size), ['end', false], 'a file may be called so');
    assert.deepEqual(await sent(record, size), ['a\nb', true]);
    assert.deepEqual(await sent('a\nb', size), ['a', 'b', true]);
    assert.deepEqual(await sent('', size), [true]);
    assert.deepEqual(await sent(`${record}${itself}`, size), ['a\nb', true], 'cut within the end itself');
  }
});

test('lines of BSD stat name paths from the project, and the folder itself last', async () => {
  const lines = [
    '-rw-r--r--\t4\t1790000000\t./docs/a.md',
    'drwxr-xr-x\t64\t1790000000\t./docs/sub dir',
    'lrwxr-xr-x \t4\t1790000000\t./docs/link',
    'prw-r--r--\t0\t1790000000\t./docs/pipe',
    '-rw-r--r--\t4\t1790000000\t./docs-secret/x',
    'drwxr-xr-x\t96\t1790000000\t./docs',
  ];
  const text = `${lines.join('\n')}\n`;
  const mtime = 1_790_000_000_000;
  for (const size of [text.length, 7])
    assert.deepEqual(await parsed(text, size), [
      { path: 'a.md', type: 'file', size: 4, mtime },
      { path: 'sub dir', type: 'folder', size: 64, mtime },
      { path: 'link', type: 'link', size: 4, mtime },
      { path: 'pipe', type: 'other', size: 0, mtime },
      { path: './docs-secret/x', type: 'file', size: 4, mtime },
    ]);
  assert.equal((await sent(text)).at(-1), false);
  assert.equal((await sent(lines.slice(0, -1).join('\n'))).at(-1), true, 'cut off');
});

test('of a record of find that was cut off nothing is believed', async () => {
  for (const size of [1000, 3]) {
    assert.deepEqual(await sent('f\t1\t1.0\ta\0f\t1\t1.0\tlong-nam', size), ['a', true]);
    assert.deepEqual(await sent('f\t1\t1.0\tlong-nam', size), [true]);
  }
});

test('the mark of UTF-8 is no part of a path, and UTF-16 is told as that', async () => {
  for (const size of [1000, 1]) {
    assert.deepEqual(await sent('\ufeff{"path":"a"}\r\n{"path":"b"}\r\n', size), ['a', 'b', true]);
    assert.deepEqual(await sent('\ufeffa', size), ['a', true]);
    const windows = Buffer.from('\ufeffdocs\\a.md\r\n', 'utf16le');
    await assert.rejects(sent(windows, size), { code: 'invalid_input', message: /UTF-8/ });
  }
});

test('names that are not UTF-8 are no entries, so that no two of them pass for one', async () => {
  const names = Buffer.from('f\t1\t1.0\ta\xff\0f\t1\t1.0\tb\xfe\0d\t1\t1.0\t\0', 'latin1');
  assert.deepEqual(await sent(names), [null, null, false]);
});
