import assert from 'node:assert/strict';
import { it } from 'node:test';
import { madeUp } from '../index/crate.testing.ts';
import { acquireSyncLease } from './lease.ts';
import { newSync } from './sync.testing.ts';

const { signal } = new AbortController();

it('crates that are packed one by one do not make a segment each for every search to look into', async (t) => {
  const { options, database, reader } = await newSync(t);
  const segments = async (): Promise<number> => {
    const [row] = await database.query<{ n: number }>(
      "SELECT COUNT(*) AS n FROM crate_segments WHERE state = 'live'",
    );
    return row!.n;
  };
  for (let n = 0; n < 100; n++) {
    await options.updater.takeAtOnce(madeUp({ id: String(n), title: `Salt ${n}` }), signal);
    assert.ok((await segments()) <= 24, `after ${n}`);
  }
  const request = { query: 'salt', mode: 'keyword', filters: [], limit: 10, offset: 0 } as const;
  assert.equal((await reader.search('ann', request)).total, 100);
});

it('while another process merges, crates are put in all the same', async (t) => {
  const { options, database, reader } = await newSync(t);
  await using lease = await acquireSyncLease(database, 'merge', options.clock);
  assert.ok(lease !== null);
  for (let n = 0; n < 20; n++)
    await options.updater.takeAtOnce(madeUp({ id: String(n), title: `Salt ${n}` }), signal);
  const request = { query: 'salt', mode: 'keyword', filters: [], limit: 10, offset: 0 } as const;
  assert.equal((await reader.search('ann', request)).total, 20);
});
