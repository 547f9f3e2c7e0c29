import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { recordProof } from '../../../test/requirements/requirements.testing.ts';
import type { ByteRange } from './download-response.ts';
import { createCoverage } from './single-use.ts';

const size = 40;
const range = fc
  .tuple(fc.nat(size), fc.nat(size))
  .map(([a, b]) => ({ start: Math.min(a, b), end: Math.max(a, b) }));

it('a download is complete exactly when every byte was given since the last one was', () => {
  const answers = fc.array(fc.array(range, { minLength: 1, maxLength: 3 }), { maxLength: 60 });
  fc.assert(
    fc.property(answers, (all) => {
      const coverage = createCoverage();
      let given = new Set<number>();
      for (const answer of all) {
        const now = new Set(answer.flatMap(bytesOf));
        if (now.size < size) for (const byte of now) given.add(byte);
        const isWhole = now.size === size || given.size === size;
        assert.equal(coverage.completes('link', answer, size), isWhole);
        if (given.size === size) given = new Set();
      }
    }),
  );
  recordProof('C9:only-every-byte-is-complete');
});

const bytesOf = ({ start, end }: ByteRange): number[] =>
  Array.from({ length: end - start }, (_, offset) => start + offset);

it('an empty file is complete when it is sent, and not when nothing is', () => {
  const { completes } = createCoverage();
  assert.equal(completes('link', [{ start: 0, end: 0 }], 0), true);
  assert.equal(completes('link', [], 0), false);
});

it('what is kept of pieces is bounded, and forgetting never counts one too many', () => {
  const { completes } = createCoverage();
  const half = { start: 0, end: 500 };
  const rest = { start: 500, end: 1000 };
  completes('first', [half], 1000);
  for (let link = 0; link < 1000; link++) completes(`other ${link}`, [half], 1000);
  assert.equal(completes('first', [rest], 1000), false, 'it was forgotten');
  for (let at = 0; at < 999; at += 2)
    assert.equal(completes('sieve', [{ start: at, end: at + 1 }], 1000), false);
  for (let at = 1; at < 999; at += 2)
    assert.equal(completes('sieve', [{ start: at, end: at + 1 }], 1000), false);
});
