import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { collectBytes } from '../../platform/streams.ts';
import { readBoundary, readFormFiles } from './form-files.ts';

/** The bytes of a form as the platform writes it, cut into pieces of these lengths. */
async function* cut(bytes: Buffer, lengths: readonly number[]): AsyncGenerator<Buffer> {
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const length = lengths[turn % lengths.length]!;
    yield bytes.subarray(at, at + length);
    at += length;
  }
}

async function encode(files: readonly (readonly [string, Uint8Array])[]) {
  const form = new FormData();
  form.append('other', 'field');
  for (const [name, bytes] of files) form.append('file', new Blob([Buffer.from(bytes)]), name);
  const answer = new Response(form);
  return {
    boundary: readBoundary(answer.headers.get('content-type')!)!,
    bytes: Buffer.from(await answer.arrayBuffer()),
  };
}

async function readAll(bytes: AsyncIterable<Uint8Array>, boundary: string) {
  const found: [string, Buffer][] = [];
  for await (const file of readFormFiles(bytes, boundary))
    found.push([file.filename, await collectBytes(file.bytes)]);
  return found;
}

const names = fc
  .string({ minLength: 1, maxLength: 20, unit: 'grapheme' })
  .map((name) => name.toWellFormed())
  // The platform writes every line end as CRLF, and a name that has %22 cannot be told from one with a quote.
  .filter((name) => !/[\r\n%]/.test(name));

test('gives the files of a form as they were sent, however the bytes are cut', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(names, fc.uint8Array({ maxLength: 300 })), { maxLength: 4 }),
      fc.array(fc.integer({ min: 1, max: 200 }), { minLength: 1, maxLength: 5 }),
      async (files, lengths) => {
        const { boundary, bytes } = await encode(files);
        const found = await readAll(cut(bytes, lengths), boundary);
        assert.deepEqual(
          found,
          files.map(([name, content]) => [name, Buffer.from(content)]),
        );
      },
    ),
  );
});

test('a file may contain what looks like a boundary, and be left unread', async () => {
  const content = Buffer.from('a\r\n--almost\r\n--\r\n\r\n----formdata');
  const { boundary, bytes } = await encode([
    ['one', content],
    ['two', Buffer.from('b')],
  ]);
  assert.deepEqual(await readAll(cut(bytes, [1]), boundary), [
    ['one', content],
    ['two', Buffer.from('b')],
  ]);
  const seen: string[] = [];
  for await (const { filename } of readFormFiles(cut(bytes, [7]), boundary)) seen.push(filename);
  assert.deepEqual(seen, ['one', 'two']);
});

test('refuses what is cut off, has no end, or has a head without end', async () => {
  const { boundary, bytes } = await encode([['one', Buffer.from('abc')]]);
  for (const length of [0, 10, bytes.length - boundary.length, bytes.length - 4])
    await assert.rejects(readAll(cut(bytes.subarray(0, length), [5]), boundary), { code: 'invalid_input' });
  const long = Buffer.from(`--x\r\nContent-Disposition: ${'a'.repeat(20_000)}`);
  await assert.rejects(readAll(cut(long, [1000]), 'x'), { code: 'invalid_input' });
  const many = Buffer.from(`${'--x\r\na: b\r\n\r\n\r\n'.repeat(1500)}--x--`);
  await assert.rejects(readAll(cut(many, [1000]), 'x'), { code: 'invalid_input' });
  for (const type of [
    undefined,
    'text/plain',
    'multipart/form-data',
    `multipart/form-data; boundary=${'a'.repeat(71)}`,
  ])
    assert.equal(readBoundary(type), null);
});
