import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createByUser } from './by-user.ts';

test('who has too many loses the oldest of their own, and nobody else does', () => {
  const things = createByUser<string>({ each: 2, users: 10 });
  things.set('anna', 'a', 'anna a');
  things.set('ben', 'a', 'ben a');
  things.set('ben', 'b', 'ben b');
  things.set('ben', 'a', 'ben a again');
  things.set('ben', 'c', 'ben c');
  assert.equal(things.get('anna', 'a'), 'anna a');
  assert.equal(things.get('ben', 'a'), 'ben a again');
  assert.equal(things.get('ben', 'b'), undefined);
  assert.equal(things.get('ben', 'c'), 'ben c');
});

test('of too many users, the one seen first goes', () => {
  const things = createByUser<number>({ each: 5, users: 2 });
  things.set('anna', 'a', 1);
  things.set('anna', 'b', 2);
  things.set('ben', 'a', 3);
  things.set('cleo', 'a', 4);
  assert.deepEqual(
    [things.get('anna', 'a'), things.get('anna', 'b'), things.get('ben', 'a'), things.get('cleo', 'a')],
    [undefined, undefined, 3, 4],
  );
});

test('one that is alone and replaced stays, also at the bound', () => {
  const things = createByUser<number>({ each: 1, users: 1 });
  things.set('anna', 'a', 1);
  things.set('anna', 'a', 2);
  assert.equal(things.get('anna', 'a'), 2);
  assert.equal(things.remove('anna', 'a'), true);
  assert.equal(things.remove('anna', 'a'), false);
});

test('what is over goes, whosever it is, and the rest stays', () => {
  const things = createByUser<number>({ each: 5, users: 2 });
  things.set('anna', 'a', 1);
  things.set('anna', 'b', 2);
  things.set('ben', 'a', 1);
  things.removeWhere((value) => value < 2);
  things.set('cleo', 'a', 3);
  assert.deepEqual(
    [things.get('anna', 'a'), things.get('anna', 'b'), things.get('ben', 'a'), things.get('cleo', 'a')],
    [undefined, 2, undefined, 3],
  );
});
