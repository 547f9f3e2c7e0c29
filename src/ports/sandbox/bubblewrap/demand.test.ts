import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createDemand, createSpareMemory } from './demand.ts';

const countMisses = (demand: { noteMiss(): void; readonly extra: number }, misses: number): number => {
  for (let count = 0; count < misses; count++) demand.noteMiss();
  return demand.extra;
};

test('each further run that finds none asks for one more, up to a bound', () => {
  const demand = createDemand('bash', createSpareMemory(), () => {});
  assert.equal(countMisses(demand, 1), 0);
  assert.equal(countMisses(demand, 3), 3);
  assert.equal(countMisses(demand, 100), 8);
  demand.close();
});

test('all pools together take no more than the memory that is for them', () => {
  const memory = createSpareMemory();
  const pools = Array.from({ length: 4 }, () => createDemand('node', memory, () => {}));
  const extra = pools.map((demand) => countMisses(demand, 100));
  assert.deepEqual(extra, [6, 0, 0, 0]);
  // What is left is enough for smaller ones.
  const small = createDemand('python', memory, () => {});
  assert.equal(countMisses(small, 100), 4);
  pools[0]!.close();
  assert.equal(countMisses(pools[3]!, 100), 6);
  for (const demand of [...pools, small]) demand.close();
});
