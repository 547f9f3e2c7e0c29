import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { awaitEndOfTurn, runInSlices, startTimeSlices, yieldToEventLoop } from './yield.ts';

test('what was queued for the event loop has run after a yield', async () => {
  let others = 0;
  setImmediate(() => void others++);
  await yieldToEventLoop();
  assert.equal(others, 1);
});

test('all who wait for the end of a turn go on together, and later ones wait for the next', async () => {
  const order: string[] = [];
  const wait = (name: string) => awaitEndOfTurn().then(() => order.push(name));
  const first = Promise.all([wait('a'), wait('b')]);
  setImmediate(() => order.push('others'));
  assert.deepEqual(order, []);
  await first;
  assert.deepEqual(order.slice(0, 2), ['a', 'b']);
  await wait('c');
  assert.deepEqual(order, ['a', 'b', 'others', 'c']);
});

describe('time slices', () => {
  test('a slice is over by time, and begins anew once others had theirs', async () => {
    let now = 100;
    const slices = startTimeSlices(undefined, () => now);
    assert.equal(slices.isOver(), false);
    now += 10;
    assert.equal(slices.isOver(), true);
    let others = 0;
    setImmediate(() => void others++);
    await slices.next();
    assert.deepEqual([others, slices.isOver()], [1, false]);
  });

  test('cancelled work has no further slice', async () => {
    const slices = startTimeSlices(AbortSignal.abort(new Error('enough')));
    await assert.rejects(slices.next(), /enough/);
  });
});

describe('a generator in slices', () => {
  test('every step is taken, and the end is given', async () => {
    const taken: number[] = [];
    const work = (function* () {
      for (let step = 0; step < 100; step++) yield step;
      return 'end';
    })();
    const take = (step: number): void => void taken.push(step);
    assert.equal(await runInSlices(work, { take }), 'end');
    assert.equal(taken.length, 100);
  });

  test('others have their turn during long work', async () => {
    const stop = new AbortController();
    setImmediate(() => stop.abort());
    const work = (function* () {
      while (!stop.signal.aborted) yield;
    })();
    await runInSlices(work, {});
    assert.ok(stop.signal.aborted);
  });

  /** A generator that yields for ever and notes that it was closed. */
  function endless() {
    const state = { isClosed: false };
    const work = (function* () {
      try {
        for (;;) yield 1;
      } finally {
        state.isClosed = true;
      }
    })();
    return { state, work };
  }

  test('it is closed when a step cannot be taken', async () => {
    const { state, work } = endless();
    const take = () => {
      throw new Error('full');
    };
    await assert.rejects(runInSlices(work, { take }), /full/);
    assert.ok(state.isClosed);
  });

  test('it is closed when the work is cancelled, after the next yield', async () => {
    const { state, work } = endless();
    const stop = new AbortController();
    setImmediate(() => stop.abort(new Error('enough')));
    await assert.rejects(runInSlices(work, { sliceMs: 2, signal: stop.signal }), /enough/);
    assert.ok(state.isClosed);
  });
});
