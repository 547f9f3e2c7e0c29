import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inTurns } from './in-turns.ts';

test('every step is taken, and the end is given', async () => {
  const taken: number[] = [];
  const work = (function* () {
    for (let step = 0; step < 100; step++) yield step;
    return 'end';
  })();
  assert.equal(await inTurns(work, (step) => void taken.push(step)), 'end');
  assert.equal(taken.length, 100);
});

test('others have their turn during long work', async () => {
  const stop = new AbortController();
  setImmediate(() => stop.abort());
  const work = (function* () {
    while (!stop.signal.aborted) yield;
  })();
  await inTurns(work, () => {});
  assert.ok(stop.signal.aborted);
});

test('work is let go of when a step cannot be taken', async () => {
  let isClosed = false;
  const work = (function* () {
    try {
      yield 1;
    } finally {
      isClosed = true;
    }
  })();
  const taking = inTurns(work, () => {
    throw new Error('full');
  });
  await assert.rejects(taking, /full/);
  assert.ok(isClosed);
});
