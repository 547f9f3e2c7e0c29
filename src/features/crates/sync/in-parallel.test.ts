import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import { test } from 'node:test';
import { mapConcurrently } from './in-parallel.ts';

async function* numbers(count: number): AsyncGenerator<number> {
  for (let at = 0; at < count; at++) yield at;
}

test('everything is done once, and never more at a time than allowed', async () => {
  let [now, most] = [0, 0];
  const work = async (item: number): Promise<number> => {
    most = Math.max(most, ++now);
    await pause(item % 3);
    now--;
    return item;
  };
  const results = await Array.fromAsync(mapConcurrently(numbers(50), 4, work));
  assert.deepEqual(
    results.toSorted((a, b) => a - b),
    Array.from({ length: 50 }, (_, at) => at),
  );
  assert.equal(most, 4);
});

test('a failure ends it after what was under way, and nothing more is begun', async () => {
  const [begun, ended] = [new Set<number>(), new Set<number>()];
  const work = async (item: number): Promise<number> => {
    begun.add(item);
    await pause(1);
    ended.add(item);
    if (item === 5) throw new Error('five');
    return item;
  };
  await assert.rejects(Array.fromAsync(mapConcurrently(numbers(1000), 4, work)), /five/);
  assert.deepEqual(begun, ended);
  assert.ok(begun.size < 20);
});

test('a failure while the next item is waited for is no unhandled one', async () => {
  async function* slowly(): AsyncGenerator<number> {
    yield 1;
    await pause(20);
    yield 2;
  }
  const work = async (): Promise<never> => {
    throw new Error('at once');
  };
  await assert.rejects(Array.fromAsync(mapConcurrently(slowly(), 4, work)), /at once/);
});

test('one that takes long does not hold up the others, and whoever leaves waits for what is under way', async () => {
  const ended: number[] = [];
  const slow = Promise.withResolvers<void>();
  const work = async (item: number): Promise<number> => {
    if (item === 0) await slow.promise;
    ended.push(item);
    return item;
  };
  const seen: number[] = [];
  for await (const item of mapConcurrently(numbers(100), 2, work)) {
    seen.push(item);
    if (seen.length < 50) continue;
    slow.resolve();
    break;
  }
  assert.deepEqual([seen[0], seen.length, ended.includes(0)], [1, 50, true]);
});

test('where what comes breaks off, the results of what has come are given before that is told', async () => {
  async function* broken(): AsyncGenerator<number> {
    yield* numbers(3);
    throw new Error('no more');
  }
  const results: number[] = [];
  const all = async (): Promise<void> => {
    for await (const result of mapConcurrently(broken(), 8, async (item) => pause(5, item)))
      results.push(result);
  };
  await assert.rejects(all, /no more/);
  assert.deepEqual(results, [0, 1, 2]);
});
