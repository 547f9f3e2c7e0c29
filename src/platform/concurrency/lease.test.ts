import assert from 'node:assert/strict';
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import { describe, test, type TestContext } from 'node:test';
import { acquireLease, toIdleCondition, type LeasedRow, type Renewal } from './lease.ts';
import { yieldToEventLoop } from './yield.ts';

const leaseMs = 1000;
const free = { holder: null, until: null };
const row: LeasedRow = {
  table: 'things',
  key: ['id', 'a'],
  holderColumn: 'holder',
  untilColumn: 'until',
  free,
};

/** A table with one row, a clock that stands still, and a way to make queries fail. */
function newTable(t: TestContext) {
  const connection = new DatabaseSync(':memory:');
  t.after(() => connection.close());
  connection.exec('CREATE TABLE things (id TEXT PRIMARY KEY, holder TEXT, until INTEGER, progress INTEGER)');
  connection.exec("INSERT INTO things (id, progress) VALUES ('a', 0)");
  const state = { now: 5000, failure: null as Error | null };
  const database = {
    async query(sql: string, ...values: (string | number | Uint8Array | null)[]) {
      if (state.failure !== null) throw state.failure;
      return connection.prepare(sql).all(...(values as SQLInputValue[]));
    },
  };
  const time = { clock: () => state.now, sharedClock: null };
  const acquire = (holder: string, renewal?: Renewal, leased: LeasedRow = row) =>
    acquireLease({ database, row: leased, holder, time, leaseMs, ...(renewal && { renewal }) });
  const read = (id = 'a') => ({ ...connection.prepare('SELECT * FROM things WHERE id = ?').get(id) });
  return { state, database, time, acquire, read };
}

describe('a lease', () => {
  test('one has it at a time, until it is given back or runs out', async (t) => {
    const { state, acquire, read } = newTable(t);
    const first = (await acquire('first'))!;
    assert.deepEqual(read(), { id: 'a', holder: 'first', until: 6000, progress: 0 });
    assert.equal(await acquire('second'), null);
    assert.equal(await first.release(), true);
    assert.deepEqual(read(), { id: 'a', holder: null, until: null, progress: 0 });
    assert.notEqual(await acquire('second'), null);
    state.now += leaseMs - 1;
    assert.equal(await acquire('third'), null);
    state.now++;
    assert.notEqual(await acquire('third'), null);
  });

  test('one that has run out can be renewed and given back, unless another has taken it', async (t) => {
    const { state, acquire, read } = newTable(t);
    const first = (await acquire('first'))!;
    state.now += 2 * leaseMs;
    assert.equal(await first.renew(), true);
    assert.equal(read()['until'], 8000);
    state.now += 2 * leaseMs;
    const second = (await acquire('second'))!;
    assert.deepEqual([await first.renew(), await first.release({ progress: 7 })], [false, false]);
    assert.deepEqual(read(), { id: 'a', holder: 'second', until: 10_000, progress: 0 });
    assert.equal(await second.release({ progress: 9 }), true);
    assert.deepEqual(read(), { id: 'a', holder: null, until: null, progress: 9 });
  });

  test('a row that is not there is inserted if so wished, and can be removed', async (t) => {
    const { acquire, read } = newTable(t);
    const absent: LeasedRow = { ...row, key: ['id', 'b'] };
    assert.equal(await acquire('first', undefined, absent), null);
    const first = await acquire('first', undefined, { ...absent, isInserted: true });
    assert.equal(await acquire('second', undefined, { ...absent, isInserted: true }), null);
    assert.equal(read('b')['holder'], 'first');
    assert.equal(await first!.remove(), true);
    assert.deepEqual([read('b'), await first!.remove()], [{}, false]);
  });

  test('it is judged by the clock of the database where there is one', async (t) => {
    const { database, time, read } = newTable(t);
    const shared = { ...time, sharedClock: '70000' };
    await acquireLease({ database, row, holder: 'first', time: shared, leaseMs });
    assert.equal(read()['until'], 71_000);
    assert.deepEqual(toIdleCondition('until', shared), {
      sql: '(until IS NULL OR until <= 70000)',
      values: [],
    });
  });
});

describe('a lease that renews itself', () => {
  const everyMs = 100;

  test('is renewed with its columns until it is given back', async (t) => {
    t.mock.timers.enable({ apis: ['setInterval'] });
    const { state, acquire, read } = newTable(t);
    let progress = 0;
    const lease = (await acquire('first', { everyMs, columns: () => ({ progress }) }))!;
    state.now += 500;
    progress = 3;
    t.mock.timers.tick(everyMs);
    await yieldToEventLoop();
    assert.deepEqual(read(), { id: 'a', holder: 'first', until: 6500, progress: 3 });
    await lease.release();
    progress = 4;
    t.mock.timers.tick(everyMs);
    await yieldToEventLoop();
    assert.deepEqual(read(), { id: 'a', holder: null, until: null, progress: 3 });
  });

  test('tells that it was lost, and that nobody knows', async (t) => {
    t.mock.timers.enable({ apis: ['setInterval'] });
    const { state, acquire } = newTable(t);
    const told: string[] = [];
    const onError = (error: unknown): void => void told.push((error as Error).message);
    await acquire('first', { everyMs, onError, onLost: () => void told.push('lost') });
    state.failure = new Error('the database is away');
    t.mock.timers.tick(everyMs);
    await yieldToEventLoop();
    state.failure = null;
    t.mock.timers.tick(everyMs);
    await yieldToEventLoop();
    assert.deepEqual(told, ['the database is away']);
    state.now += leaseMs;
    await acquire('second');
    t.mock.timers.tick(everyMs);
    await yieldToEventLoop();
    assert.deepEqual(told, ['the database is away', 'lost']);
  });
});
