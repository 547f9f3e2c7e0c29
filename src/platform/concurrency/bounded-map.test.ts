import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { BoundedMap, memoize } from './bounded-map.ts';

describe('a bounded map', () => {
  test('the oldest goes; one that is set or used is young again, one that is only read is not', () => {
    const map = new BoundedMap<string, number>({ mostEntries: 3 });
    for (const [at, key] of ['a', 'b', 'c', 'd'].entries()) map.set(key, at);
    assert.deepEqual([...map.keys()], ['b', 'c', 'd']);
    assert.equal(map.get('b'), 1);
    assert.equal(map.use('c'), 2);
    map.set('e', 4);
    assert.deepEqual(
      [...map],
      [
        ['d', 3],
        ['c', 2],
        ['e', 4],
      ],
    );
    map.set('d', 5);
    assert.deepEqual([...map.values()], [2, 4, 5]);
    assert.deepEqual(
      [map.use('z'), map.get('z'), map.has('z'), map.delete('z')],
      [undefined, undefined, false, false],
    );
  });

  test('as many go as are too heavy together, and what is too heavy by itself is not kept', () => {
    const map = new BoundedMap<string, string>({
      mostWeight: 10,
      heaviest: 6,
      weigh: (value) => value.length,
    });
    map.set('a', 'xxxx');
    map.set('b', 'xxxx');
    map.set('c', 'xxxxxx');
    assert.deepEqual([[...map.keys()], map.weight], [['b', 'c'], 10]);
    map.set('b', 'xxxxxxx');
    assert.deepEqual([[...map.keys()], map.weight], [['c'], 6]);
    assert.equal(map.delete('c'), true);
    assert.equal(map.weight, 0);
  });

  test('who is evicted is told, who is replaced, deleted or cleared is not', () => {
    const told: string[] = [];
    const map = new BoundedMap<string, number>({
      mostEntries: 2,
      onEvict: (value, key) => told.push(`${key}${value}`),
    });
    for (const [at, key] of ['a', 'b', 'b', 'c', 'd'].entries()) map.set(key, at);
    map.delete('c');
    assert.deepEqual(told, ['a0', 'b2']);
    map.set('e', 5);
    map.evictAll();
    assert.deepEqual([told, map.size], [['a0', 'b2', 'd4', 'e5'], 0]);
    map.set('f', 6);
    map.clear();
    assert.equal(told.length, 4);
  });

  test('one that clears when it is full begins anew, unless a key is only replaced', () => {
    const map = new BoundedMap<string, number>({ mostEntries: 2, whenFull: 'clear' });
    for (const [at, key] of ['a', 'b', 'a'].entries()) map.set(key, at);
    assert.deepEqual([...map.keys()], ['b', 'a']);
    map.set('c', 3);
    assert.deepEqual([...map.keys()], ['c']);
  });

  test('whatever is done with it, it is within its bounds, and its weight is that of its entries', () => {
    const step = fc.tuple(
      fc.constantFrom('set', 'use', 'delete'),
      fc.integer({ max: 9, min: 0 }),
      fc.nat(20),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const map = new BoundedMap<number, number>({
          mostEntries: 5,
          mostWeight: 40,
          heaviest: 15,
          weigh: (value) => value,
        });
        for (const [what, key, value] of steps) {
          if (what === 'set') map.set(key, value);
          else if (what === 'use') map.use(key);
          else map.delete(key);
          const sum = [...map.values()].reduce((all, one) => all + one, 0);
          assert.ok(map.size <= 5 && sum <= 40, `${map.size} entries of ${sum}`);
          assert.equal(map.weight, sum);
          if (what === 'set') assert.equal(map.get(key), value > 15 ? undefined : value);
        }
      }),
    );
  });
});

test('what is memoized is made once, until it is forgotten', () => {
  const made: string[] = [];
  const length = memoize(2, (text: string) => made.push(text));
  for (const text of ['a', 'a', 'b', 'c', 'b', 'a']) length(text);
  assert.deepEqual(made, ['a', 'b', 'c', 'a']);
});
