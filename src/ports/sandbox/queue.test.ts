import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FairQueue } from '../../platform/concurrency/fair-queue.ts';
import type { WorkcrateError } from '../../platform/errors.ts';
import { createRunQueue } from './sandbox.ts';

const { signal } = new AbortController();
const ada = { user: 'ada', signal };
const bob = { user: 'bob', signal };
const carl = { user: 'carl', signal };
const queueOf = (mostRuns: number, mostRunsOfUser = mostRuns) => createRunQueue({ mostRuns, mostRunsOfUser });

test('as many as allowed go in, the others in the order of asking, where they are of one user', async () => {
  const queue = queueOf(2);
  const order: number[] = [];
  const leave = [await queue.enter(ada), await queue.enter(ada)];
  const waiting = [0, 1, 2].map(async (number) => {
    const out = await queue.enter(ada);
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
  const queue = queueOf(1);
  const leave = await queue.enter(ada);
  leave();
  leave();
  assert.equal(queue.running(), 0);
});

test('ten times as many may wait, the next is told that it is busy', async () => {
  const queue = queueOf(1);
  const leave = await queue.enter(ada);
  const waiting = Array.from({ length: 10 }, () => queue.enter(ada));
  await assert.rejects(queue.enter(ada), { code: 'sandbox_busy', details: { running: 1, queued: 10 } });
  leave();
  for (const entered of waiting) (await entered)();
  assert.equal(queue.running(), 0);
});

test('who is cancelled leaves the queue, and does not take a turn', async () => {
  const queue = queueOf(1);
  const leave = await queue.enter(ada);
  const cancelled = new AbortController();
  const gone = queue.enter({ ...ada, signal: cancelled.signal });
  const next = queue.enter(ada);
  cancelled.abort();
  await assert.rejects(gone, { code: 'cancelled' });
  assert.equal(queue.queued(), 1);
  leave();
  (await next)();
  await assert.rejects(queue.enter({ ...ada, signal: AbortSignal.abort() }), { code: 'cancelled' });
});

test('a queue that is closed sends everybody away', async () => {
  const queue = queueOf(1);
  await queue.enter(ada);
  const waiting = queue.enter(ada);
  queue.close();
  await assert.rejects(waiting, { code: 'sandbox_unavailable' });
  await assert.rejects(queue.enter(ada), { code: 'sandbox_unavailable' });
});

/** Notes who comes in, each of whom leaves at once. */
function passing(queue: FairQueue, asking: (typeof ada)[]): { order: string[]; all: Promise<unknown> } {
  const order: string[] = [];
  const all = asking.map(async (one) => {
    const leave = await queue.enter(one);
    order.push(one.user);
    leave();
  });
  return { order, all: Promise.all(all) };
}

test('users take turns, however many runs of one wait', async () => {
  const queue = queueOf(1);
  const leave = await queue.enter(carl);
  const { order, all } = passing(queue, [ada, ada, ada, bob, carl, bob]);
  leave();
  await all;
  assert.deepEqual(order, ['ada', 'bob', 'carl', 'ada', 'bob', 'ada']);
});

test('a place that is free goes to a user who has fewer', async () => {
  const queue = queueOf(2);
  const leave = await queue.enter(ada);
  await queue.enter(ada);
  const { order, all } = passing(queue, [ada, bob]);
  leave();
  await all;
  assert.deepEqual(order, ['bob', 'ada']);
});

test('no user holds the last place: another who comes later need not wait', async () => {
  const queue = queueOf(3, 2);
  const leave = [await queue.enter(ada), await queue.enter(ada)];
  const third = queue.enter(ada);
  assert.deepEqual([queue.running(), queue.queued()], [2, 1]);
  const his = await queue.enter(bob);
  assert.deepEqual([queue.running(), queue.queued()], [3, 1]);
  his();
  assert.deepEqual([queue.running(), queue.queued()], [2, 1]);
  leave[0]!();
  (await third)();
  leave[1]!();
  assert.deepEqual([queue.running(), queue.queued()], [0, 0]);
});

test('who finds all places to wait taken by another gets one of them, up to a fair share', async () => {
  const queue = queueOf(1);
  const leave = await queue.enter(ada);
  const hers = Array.from({ length: 10 }, () => queue.enter(ada).then((out) => out(), codeOf));
  const his = Array.from({ length: 6 }, () => queue.enter(bob).then((out) => out(), codeOf));
  assert.equal(queue.queued(), 10);
  leave();
  assert.deepEqual(await Promise.all(hers), [
    ...Array.from({ length: 5 }),
    ...Array.from({ length: 5 }, () => 'sandbox_busy'),
  ]);
  assert.deepEqual(await Promise.all(his), [...Array.from({ length: 5 }), 'sandbox_busy']);
  assert.deepEqual([queue.running(), queue.queued()], [0, 0]);
});

test('who is told that it is busy learns nothing of the runs of others', async () => {
  const queue = queueOf(1);
  await queue.enter(ada);
  const first = queue.enter(ada);
  const users = Array.from({ length: 9 }, (_, number) => ({ user: `user${number}`, signal }));
  for (const one of users) queue.enter(one).catch(() => {});
  await assert.rejects(queue.enter(bob), {
    code: 'sandbox_busy',
    details: { running: 0, queued: 0 },
    message: /^\D*0\D*0\D*$/,
  });
  await assert.rejects(queue.enter(ada), {
    code: 'sandbox_busy',
    details: { running: 1, queued: 1 },
    message: /^\D*1\D*1\D*$/,
  });
  queue.close();
  await assert.rejects(first, { code: 'sandbox_unavailable' });
});

const codeOf = (error: unknown): string => (error as WorkcrateError).code;
