import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers/promises';
import { it } from 'node:test';
import { createMemoryBudget } from './memory.ts';

const limits = { bytes: 100, small: 5, mostWaiting: 3, mostMs: 60_000 };

it('what finds no room waits for what is there, in order, and small things do not', async () => {
  const memory = createMemoryBudget(limits);
  const told: string[] = [];
  const take = async (name: string, bytes: number) => {
    const share = await memory.take(bytes);
    told.push(name);
    return share;
  };
  const first = await take('first', 60);
  const second = take('second', 60);
  const third = take('third', 10);
  await take('small', 5);
  await setImmediate();
  assert.deepEqual([told, memory.free], [['first', 'small'], 40]);
  first.shrinkTo(35);
  (await second)[Symbol.dispose]();
  (await third)[Symbol.dispose]();
  first[Symbol.dispose]();
  first[Symbol.dispose]();
  assert.deepEqual([told, memory.free], [['first', 'small', 'second', 'third'], 100]);
});

it('what is larger than all there is comes in alone', async () => {
  const memory = createMemoryBudget(limits);
  const small = await memory.take(10);
  const huge = memory.take(1e9);
  small[Symbol.dispose]();
  using held = await huge;
  assert.equal(memory.free, 0);
  held.shrinkTo(20);
  assert.equal(memory.free, 80);
});

it('whoever gives up waiting, or waits too long, makes way for those behind', async () => {
  const memory = createMemoryBudget({ ...limits, mostMs: 1 });
  using _held = await memory.take(90);
  await assert.rejects(memory.take(50), { code: 'index_busy' });
  const patient = createMemoryBudget(limits);
  using _large = await patient.take(90);
  const ending = new AbortController();
  const given = patient.take(50, ending.signal);
  const behind = patient.take(10);
  ending.abort(new Error('enough'));
  await assert.rejects(given, /enough/);
  (await behind)[Symbol.dispose]();
  assert.equal(patient.free, 10);
});

it('no more wait than may', async () => {
  const memory = createMemoryBudget(limits);
  const held = await memory.take(100);
  const waiting = [memory.take(10), memory.take(10), memory.take(10)];
  await setImmediate();
  await assert.rejects(memory.take(10), { code: 'index_busy' });
  held[Symbol.dispose]();
  for (const share of await Promise.all(waiting)) share[Symbol.dispose]();
  assert.equal(memory.free, 100);
});
