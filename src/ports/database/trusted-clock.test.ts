import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openDatabase } from './open.ts';
import { updateBelief, readTrustedTime, type Belief } from './trusted-clock.ts';

const hour = 3_600_000;
const day = 24 * hour;

const after = (...times: number[]): Belief | null =>
  times.reduce<Belief | null>((belief, now) => updateBelief(belief, now), null);

test('a clock that is far ahead is believed an hour later, and not before', () => {
  assert.deepEqual(after(0, hour, 2 * hour), { believedAt: 2 * hour, doubtedSince: null });
  assert.deepEqual(after(0, 2 * hour), { believedAt: 0, doubtedSince: 2 * hour });
  assert.deepEqual(after(0, 100 * day), { believedAt: 0, doubtedSince: 100 * day });
  assert.deepEqual(after(0, 100 * day, 100 * day + hour - 1)!.believedAt, 0);
  assert.deepEqual(after(0, 100 * day, 100 * day + hour), {
    believedAt: 100 * day + hour,
    doubtedSince: null,
  });
});

test('a clock that is set right again is believed at once, and the doubt is gone', () => {
  assert.deepEqual(after(0, 100 * day, hour), { believedAt: hour, doubtedSince: null });
  assert.deepEqual(after(0, 100 * day, 50 * day), { believedAt: 0, doubtedSince: 50 * day });
  assert.deepEqual(after(10 * day, 0), { believedAt: 0, doubtedSince: null });
});

test('a server that runs for an hour a month goes on by a month each time', () => {
  assert.equal(after(0, 30 * day, 60 * day)!.believedAt, 30 * day);
  assert.equal(after(0, 30 * day, 60 * day, 90 * day)!.believedAt, 60 * day);
});

test('what is believed is kept in the database', async () => {
  const database = await openDatabase(':memory:');
  try {
    const later = 101 * day + hour;
    const times = [day, 101 * day, later - 1, day + 60_000, 101 * day, later];
    const believed: number[] = [];
    for (const now of times) believed.push(await readTrustedTime(database, now));
    assert.deepEqual(believed, [day, day, day, day + 60_000, day + 60_000, later]);
  } finally {
    await database.close();
  }
});
