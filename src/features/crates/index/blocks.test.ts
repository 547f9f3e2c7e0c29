import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { blockFor, BlockWriter, entriesOf, findInBlock, readFences } from './blocks.ts';
import { afterPrefix, asKey, fromKey } from './postings.ts';

const key = fc.oneof(
  fc.string({ unit: fc.constantFrom('a', 'b', '\0'), minLength: 1, maxLength: 6 }).map((text) => `w${text}`),
  fc.string({ minLength: 1, maxLength: 30 }).map((text) => `w${asKey(text)}`),
);

describe('blocks', () => {
  test('every key is found with what was put under it, and no other key', () => {
    const entries = fc.uniqueArray(fc.tuple(key, fc.integer({ min: 0, max: 6000 })), {
      selector: ([one]) => one,
      maxLength: 60,
    });
    fc.assert(
      fc.property(entries, key, (some, other) => {
        const sorted = some.toSorted(([one], [two]) => (one < two ? -1 : 1));
        const writer = new BlockWriter();
        for (const [one, size] of sorted) writer.add(one, new Uint8Array(size).fill(size & 255));
        const { fences: bytes, count } = writer.end();
        const [blocks, fences] = [writer.take(), readFences(bytes)];
        assert.deepEqual([blocks.length, fences.length], [count, count]);
        const find = (wanted: string) => {
          const block = blocks[blockFor(fences, wanted)];
          return block === undefined ? null : findInBlock(block.bytes, wanted);
        };
        for (const [one, size] of sorted) assert.equal(find(one)?.length, size);
        if (!sorted.some(([one]) => one === other)) assert.equal(find(other), null);
        const all = blocks.flatMap((block) => Array.from(entriesOf(block.bytes), (entry) => entry.key));
        assert.deepEqual(
          all,
          sorted.map(([one]) => one),
        );
      }),
      { numRuns: 200 },
    );
  });

  test('keys are ordered as the bytes of their text, and give it back', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'grapheme' }), (one, other) => {
        const plain = one.replaceAll('\0', '\ufffd').toWellFormed();
        assert.equal(fromKey(asKey(one)), plain);
        const order = Buffer.compare(
          Buffer.from(plain),
          Buffer.from(other.replaceAll('\0', '\ufffd').toWellFormed()),
        );
        assert.equal(asKey(one) < asKey(other), order < 0);
      }),
    );
    assert.equal(afterPrefix('ab\u00ff'), 'ac');
  });
});
