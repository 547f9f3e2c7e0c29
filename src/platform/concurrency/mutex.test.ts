import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createKeyedMutex, createMutex } from './mutex.ts';
import { yieldToEventLoop } from './yield.ts';

/** Work that ends when it is told to, and a note of what began and ended in which order. */
function newWork() {
  const order: string[] = [];
  const ends = new Map<string, () => void>();
  const work = (name: string) => async (): Promise<string> => {
    order.push(`${name} begins`);
    await new Promise<void>((resolve) => ends.set(name, resolve));
    order.push(`${name} ends`);
    return name;
  };
  const end = async (name: string): Promise<void> => {
    ends.get(name)!();
    await yieldToEventLoop();
  };
  return { order, work, end };
}

describe('a mutex', () => {
  test('work begins at once where it is free, and else in the order of asking', async () => {
    const { order, work, end } = newWork();
    const mutex = createMutex();
    const all = ['a', 'b', 'c'].map((name) => mutex.run(work(name)));
    assert.deepEqual(order, ['a begins']);
    assert.equal(mutex.isFree(), false);
    for (const name of ['a', 'b', 'c']) await end(name);
    assert.deepEqual(await Promise.all(all), ['a', 'b', 'c']);
    assert.deepEqual(order, ['a begins', 'a ends', 'b begins', 'b ends', 'c begins', 'c ends']);
    assert.equal(mutex.isFree(), true);
  });

  test('nobody who comes at the end of the work before slips in', async () => {
    const { order, work, end } = newWork();
    const mutex = createMutex();
    const all = [mutex.run(work('a')), mutex.run(work('b'))];
    void all[0]!.then(() => all.push(mutex.run(work('late'))));
    for (const name of ['a', 'b', 'late']) await end(name);
    await Promise.all(all);
    assert.deepEqual(
      order.filter((what) => what.endsWith('begins')),
      ['a begins', 'b begins', 'late begins'],
    );
  });

  test('work that fails, at once or later, hands it over', async () => {
    const mutex = createMutex();
    const failures = [
      mutex.run(() => {
        throw new Error('at once');
      }),
      mutex.run(() => Promise.reject(new Error('later'))),
    ];
    const third = mutex.run(() => 3);
    await assert.rejects(failures[0]!, /at once/);
    await assert.rejects(failures[1]!, /later/);
    assert.equal(await third, 3);
  });

  test('beyond the limit nobody waits', async () => {
    const { work, end } = newWork();
    const mutex = createMutex({ mostWaiting: 1, refuse: () => new Error('too many') });
    const both = [mutex.run(work('a')), mutex.run(work('b'))];
    await assert.rejects(
      mutex.run(() => 0),
      /too many/,
    );
    await end('a');
    await end('b');
    await Promise.all(both);
    assert.equal(await mutex.run(() => 4), 4);
  });
});

describe('a keyed mutex', () => {
  test('work of one key waits, and that of another does not', async () => {
    const { order, work, end } = newWork();
    const run = createKeyedMutex();
    const all = [run('x', work('x1')), run('x', work('x2')), run('y', work('y1'))];
    assert.deepEqual(order, ['x1 begins', 'y1 begins']);
    await end('x1');
    assert.deepEqual(order, ['x1 begins', 'y1 begins', 'x1 ends', 'x2 begins']);
    await end('x2');
    await end('y1');
    await Promise.all(all);
  });

  test('work that is asked for at the end of the work before never runs beside other work of its key', async () => {
    const run = createKeyedMutex();
    let [atOnce, most] = [0, 0];
    const work = async (): Promise<void> => {
      most = Math.max(most, ++atOnce);
      await Promise.resolve();
      atOnce--;
    };
    const chain = async (): Promise<void> => {
      for (let time = 0; time < 20; time++) await run('x', work);
    };
    await Promise.all([chain(), chain(), chain()]);
    assert.equal(most, 1);
  });
});
