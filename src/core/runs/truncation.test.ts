import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { shownBounds } from './room.testing.ts';
import { createTruncation, truncateText } from './output.ts';
import { recordProof } from '../../../test/requirements/requirements.testing.ts';

const bounds = { most: 100, head: 40, tail: 40 };
const marker = /^([^]{0,40})\n\[\.\.\. truncated (\d+) chars \.\.\.\]\n([^]{0,40})$/;

/** Texts around the bound, with characters of one and of two units. */
const text = fc
  .array(fc.constantFrom('a', '\n', 'é', '東', '🧪', '𝄞'), { maxLength: 300 })
  .map((characters) => characters.join(''));

/** The same text in pieces that may part a character. */
const pieces = fc.tuple(text, fc.array(fc.nat(400), { maxLength: 20 })).map(([whole, places]) => {
  const cuts = [0, ...places.toSorted((a, b) => a - b), whole.length];
  return { whole, parts: cuts.slice(1).map((cut, at) => whole.slice(cuts[at], cut)) };
});

test('a text up to the bound is shown whole, a longer one by its head and tail', () => {
  fc.assert(
    fc.property(text, (whole) => {
      const shown = truncateText(whole, bounds);
      if (whole.length <= bounds.most) return assert.equal(shown, whole);
      const [, head = '', count, tail = ''] = marker.exec(shown) ?? [];
      assert.ok(whole.startsWith(head) && whole.endsWith(tail));
      assert.equal(head.length + Number(count) + tail.length, whole.length);
      assert.ok(head.length >= 39 && tail.length >= 39);
    }),
  );
});

test('no character is broken at the cut', () => {
  fc.assert(fc.property(text, (whole) => assert.ok(truncateText(whole, bounds).isWellFormed())));
  recordProof('D7:no-broken-utf8');
});

test('in which pieces a text comes makes no difference', () => {
  fc.assert(
    fc.property(pieces, ({ whole, parts }) => {
      const truncation = createTruncation(bounds);
      parts.forEach(truncation.add);
      assert.equal(truncation.text(), truncateText(whole, bounds));
      assert.equal(truncation.total(), whole.length);
    }),
  );
});

test('10,000 characters are shown, of 10,001 the first and last 4,000', () => {
  assert.equal(truncateText('x'.repeat(10_000), shownBounds), 'x'.repeat(10_000));
  const shown = truncateText(`${'a'.repeat(5000)}b${'c'.repeat(5000)}`, shownBounds);
  assert.equal(shown, `${'a'.repeat(4000)}\n[... truncated 2001 chars ...]\n${'c'.repeat(4000)}`);
  recordProof('D7:default-bounds');
});
