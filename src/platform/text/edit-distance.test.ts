import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { editDistance, findNearest } from './edit-distance.ts';

it('an insertion, a deletion, a change and a swap of neighbours each count as one', () => {
  for (const [from, to, edits] of [
    ['port', 'port', 0],
    ['prot', 'port', 1],
    ['por', 'port', 1],
    ['sport', 'port', 1],
    ['pert', 'port', 1],
    ['', 'port', 4],
    ['kitten', 'sitting', 3],
  ] as const)
    assert.equal(editDistance(from, to, 9), edits, `${from} → ${to}`);
});

it('a distance above the limit is null, and any at or below it is found', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 9 });
  const property = fc.property(text, text, fc.nat(9), (from, to, most) => {
    const distance = editDistance(from, to, 9)!;
    assert.equal(editDistance(from, to, most), distance <= most ? distance : null);
    assert.equal(editDistance(to, from, 9), distance);
  });
  fc.assert(property, { numRuns: 500 });
});

it('the nearest name is found, and none where all are far', () => {
  const names = ['serve', 'status', 'to', 'user'];
  assert.equal(findNearest('sreve', names), 'serve');
  assert.equal(findNearest('users', names), 'user');
  assert.equal(findNearest('statsu', names), 'status');
  for (const far of ['x', '', 'ab', 'constructor', 'a'.repeat(1000)])
    assert.equal(findNearest(far, names), null);
});
