import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runQueue } from './queue.ts';

const { signal } = new AbortController();

test('as many as allowed go in, the others in the order of asking', async () => {
  const queue = runQueue(2);
  const order: number[] = [];
  const leave = [await queue.enter(signal), await queue.enter(signal)];
  const waiting = [0, 1, 2].map(async (number) => {
    const out = await queue.enter(signal);
    order.push(number);
    out();
  });
  assert.deepEqual([queue.running(), queue.queued(), order.length], [2, 3, 0]);
  leave[0]!();
  await Promise.all(waiting);
  assert.deepEqual(order, [0, 1, 2]);
  leave[1]!();
  assert.deepEqual([queue.running(), queue.queued()], [0, 0]);
});

test('a place that is given back twice is one place', async () => {
  const queue = runQueue(1);
  const leave = await queue.enter(signal);
  leave();
  leave();
  assert.equal(queue.running(), 0);
});

test('ten times as many may wait, the next is told that it is busy', async () => {
  const queue = runQueue(1);
  const leave = await queue.enter(signal);
  const waiting = Array.from({ length: 10 }, () => queue.enter(signal));
  await assert.rejects(queue.enter(signal), { code: 'sandbox_busy', details: { running: 1, queued: 10 } });
  leave();
  for (const entered of waiting) (await entered)();
  assert.equal(queue.running(), 0);
});

test('who is cancelled leaves the queue, and does not take a turn', async () => {
  const queue = runQueue(1);
  const leave = await queue.enter(signal);
  const cancelled = new AbortController();
  const gone = queue.enter(cancelled.signal);
  const next = queue.enter(signal);
  cancelled.abort();
  await assert.rejects(gone, { code: 'cancelled' });
  assert.equal(queue.queued(), 1);
  leave();
  (await next)();
  await assert.rejects(queue.enter(AbortSignal.abort()), { code: 'cancelled' });
});

test('a queue that is closed sends everybody away', async () => {
  const queue = runQueue(1);
  await queue.enter(signal);
  const waiting = queue.enter(signal);
  queue.close();
  await assert.rejects(waiting, { code: 'sandbox_unavailable' });
  await assert.rejects(queue.enter(signal), { code: 'sandbox_unavailable' });
});
