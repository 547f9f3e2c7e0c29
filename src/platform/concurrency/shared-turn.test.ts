import assert from 'node:assert/strict';
import { test } from 'node:test';
import { shareNextTurn } from './shared-turn.ts';

test('whoever asks while it is under way shares the next turn, which sees what has changed since', async () => {
  let [turns, value] = [0, 'old'];
  const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const ask = shareNextTurn(async () => {
    const [seen, gate] = [value, gates[turns++]];
    await gate?.promise;
    return seen;
  });
  const first = ask();
  await new Promise((resolve) => void setImmediate(resolve));
  value = 'new';
  const later = [ask(), ask(), ask()];
  gates[0]!.resolve();
  gates[1]!.resolve();
  assert.equal(await first, 'old');
  assert.deepEqual(await Promise.all(later), ['new', 'new', 'new']);
  assert.equal(turns, 2);
});

test('a turn that fails is told to those who share it, and the next one is tried', async () => {
  let turns = 0;
  const ask = shareNextTurn(async () => {
    if (++turns === 1) throw new Error('no');
    return turns;
  });
  const [one, two] = [ask(), ask()];
  await assert.rejects(one, /no/);
  await assert.rejects(two, /no/);
  assert.equal(await ask(), 2);
});
