import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { cutCode } from './text.ts';

test('the parts of long code are the whole, in order, and no part ends in half a character', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'grapheme', maxLength: 200 }),
      fc.integer({ min: 2, max: 50 }),
      (code, most) => {
        let [read, from] = ['', 0 as number | null];
        while (from !== null) {
          const part = cutCode(code, from, most);
          assert.ok(part.text.length <= most && part.text.isWellFormed());
          read += part.text;
          from = part.next;
        }
        assert.equal(read, code);
      },
    ),
  );
  assert.deepEqual(cutCode('abc', 99, 10), { text: '', from: 3, next: null });
});
