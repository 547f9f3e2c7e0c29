import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import fc from 'fast-check';
import type { MessageHeading } from './requests.ts';
import { createLineSplitter } from './transport.ts';

/** What is passed on of a text that comes in pieces, and what is told of the rest. */
async function linesOf(text: string, mostBytes: number, pieceBytes: number) {
  const all = Buffer.from(text);
  const pieces = Array.from({ length: Math.ceil(all.length / pieceBytes) }, (_, index) =>
    all.subarray(index * pieceBytes, (index + 1) * pieceBytes),
  );
  const dropped: (MessageHeading & { bytes: number })[] = [];
  const tooLarge = (heading: MessageHeading, bytes: number) => void dropped.push({ ...heading, bytes });
  const passed: string[] = [];
  const lines = Readable.from(pieces, { objectMode: false }).pipe(
    createLineSplitter({ mostBytes, tooLarge }),
  );
  for await (const line of lines) passed.push(String(line));
  return { passed, dropped };
}

test('lines up to the bound are passed on, each whole; a longer one is dropped and told of', async () => {
  const long = JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'tools/call', params: 'x'.repeat(60) });
  const text = `{"a":1}\n${'b'.repeat(39)}\n${long}\n\n{"c":"é"}\nnever ended`;
  for (const pieceBytes of [1, 2, 7, 64, 1000]) {
    const { passed, dropped } = await linesOf(text, 40, pieceBytes);
    assert.equal(passed.join(''), `{"a":1}\n${'b'.repeat(39)}\n\n{"c":"é"}\n`);
    assert.deepEqual(dropped, [{ id: 7, hasMethod: true, bytes: long.length + 1 }]);
  }
});

const unreadable: Record<string, string> = {
  'a batch': JSON.stringify([{ id: 1, method: 'x' }]),
  'a notification': JSON.stringify({ method: 'x', params: { id: 3 } }),
  'an id that is an object': JSON.stringify({ id: { id: 3 } }),
  'an id that is no whole number': JSON.stringify({ id: 1.5 }),
  'an id that is longer than any': JSON.stringify({ id: 'x'.repeat(5000) }),
  'an id within a text': JSON.stringify({ a: '","id":3,"b":"' }),
  'no JSON': 'no JSON, "id": 3}}}, at all',
};

for (const [what, line] of Object.entries(unreadable))
  test(`${what} has no id to answer to`, async () => {
    const { dropped } = await linesOf(`${line}\n`, 1, 5);
    assert.equal(dropped[0]!.id, null);
  });

test('the id of a message is found wherever it stands, whatever else is in it', async () => {
  const id = fc.oneof(fc.maxSafeInteger(), fc.string({ unit: 'binary' }));
  const rest = fc.dictionary(fc.string(), fc.jsonValue());
  const cases = fc.record({
    before: rest,
    id,
    after: rest,
    hasMethod: fc.boolean(),
    piece: fc.integer({ min: 3, max: 60 }),
  });
  await fc.assert(
    fc.asyncProperty(cases, async ({ before, id, after, hasMethod, piece }) => {
      const { id: _id, method: _method, ...others } = { ...before, ...after };
      const first = Object.keys(others).slice(0, Object.keys(before).length);
      const message = {
        ...Object.fromEntries(first.map((key) => [key, others[key]])),
        id,
        ...(hasMethod && { method: 'tools/call' }),
        ...others,
      };
      const { dropped } = await linesOf(`${JSON.stringify(message)}\r\n`, 1, piece);
      assert.deepEqual([dropped[0]!.id, dropped[0]!.hasMethod], [id, hasMethod]);
    }),
  );
});
