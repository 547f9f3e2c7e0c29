import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { eventually } from '../../platform/eventually.testing.ts';
import { createProcessPool } from './pool.ts';

const never = new AbortController().signal;

function newPool(t: TestContext, { most = 2, idleMs = 60_000 } = {}) {
  const events: string[] = [];
  let opened = 0;
  const open = () => {
    const name = ++opened;
    events.push(`open ${name}`);
    return {
      name,
      kill: (cause: unknown) => void events.push(`kill ${name}: ${String(cause)}`),
      [Symbol.asyncDispose]: async () => void events.push(`close ${name}`),
    };
  };
  const pool = createProcessPool({ most, idleMs, open });
  t.after(() => pool[Symbol.asyncDispose]());
  return { pool, events };
}

/** Work that ends when it is told to, and says who did it. */
function work() {
  const { promise, resolve } = Promise.withResolvers<void>();
  const by: number[] = [];
  const run = async ({ name }: { name: number }): Promise<void> => {
    by.push(name);
    await promise;
  };
  return { run, end: resolve, by };
}

it('one after the other stays on one process, and no more are opened than may be', async (t) => {
  const { pool, events } = newPool(t);
  for (const _ of [1, 2, 3]) await pool.use(async () => {}, never);
  assert.deepEqual(events, ['open 1']);
  const works = [work(), work(), work(), work()];
  const all = works.map(({ run }) => pool.use(run, never));
  await pause(0);
  assert.deepEqual(
    works.map(({ by }) => by),
    [[1], [2], [], []],
  );
  works[1]!.end();
  await all[1];
  works[0]!.end();
  await all[0];
  await pause(0);
  assert.deepEqual(
    works.map(({ by }) => by),
    [[1], [2], [2], [1]],
  );
  for (const { end } of works) end();
  await Promise.all(all);
  assert.deepEqual(events, ['open 1', 'open 2']);
});

it('one that is idle is closed, at once if so wished', async (t) => {
  for (const idleMs of [0, 10]) {
    const { pool, events } = newPool(t, { idleMs });
    await pool.use(async () => {}, never);
    await eventually(() => events.length >= 2);
    assert.deepEqual(events, ['open 1', 'close 1']);
  }
});

it('a signal kills the process of its work; one that waits goes away, and its turn to the next', async (t) => {
  const { pool, events } = newPool(t, { most: 1 });
  const [first, third] = [work(), work()];
  const [stopFirst, stopSecond] = [new AbortController(), new AbortController()];
  const atWork = pool.use(first.run, stopFirst.signal);
  const waits = assert.rejects(pool.use(work().run, stopSecond.signal), /second/);
  const last = pool.use(third.run, never);
  stopSecond.abort(new Error('second'));
  await waits;
  stopFirst.abort('first');
  assert.deepEqual(events, ['open 1', 'kill 1: first']);
  first.end();
  third.end();
  await Promise.all([atWork, last]);
  assert.deepEqual(third.by, [1]);
});

it('one that is closed sends away who waits, and who comes', async (t) => {
  const { pool } = newPool(t, { most: 1 });
  const first = work();
  const atWork = pool.use(first.run, never);
  const waits = assert.rejects(pool.use(work().run, never), { code: 'stopping' });
  await pool[Symbol.asyncDispose]();
  await waits;
  await assert.rejects(pool.use(work().run, never), { code: 'stopping' });
  first.end();
  await atWork;
});

it('more than a thousand do not wait', async (t) => {
  const { pool } = newPool(t, { most: 1 });
  const first = work();
  first.end();
  const all = Array.from({ length: 1001 }, () => pool.use(first.run, never));
  await assert.rejects(pool.use(first.run, never), { code: 'documents_busy' });
  await Promise.all(all);
});
