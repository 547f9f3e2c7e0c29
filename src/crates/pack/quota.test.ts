import assert from 'node:assert/strict';
import { it } from 'node:test';
import { isWorkcrateError } from '../../errors.ts';
import { keep, openPacking } from './packing.testing.ts';
import { packQuota } from './quota.ts';

const quotas = { userBytes: 100, userFiles: 2, totalBytes: 150, totalFiles: 4 };
const nothing = { bytes: 0, crates: 0 };

/** What each is said to hold; `all` is all of it. */
function quotaOf(held: Record<string, typeof nothing>) {
  const keyOf = (owner?: string | null): string => (owner === undefined ? 'all' : (owner ?? 'shared'));
  return packQuota({ quotas, held: async (owner) => held[keyOf(owner)] ?? nothing });
}

const exceeded = (error: Error): boolean => {
  assert.match(error.message, /^Over quota\. .*--pack-to.*sync_index.*raise the quota\.$/);
  return isWorkcrateError(error, 'quota_exceeded');
};

it('B12, C7: the last byte and the last crate of an owner may be taken, and not one more', async () => {
  const demandRoom = quotaOf({ ada: { bytes: 60, crates: 1 }, bob: { bytes: 0, crates: 2 } });
  await demandRoom('ada', 40);
  await assert.rejects(demandRoom('ada', 41), exceeded);
  await assert.rejects(demandRoom('bob', 1), exceeded);
  await demandRoom('eve', 100);
});

it('B12, C7: shared crates count together, as those of one owner', async () => {
  const demandRoom = quotaOf({ shared: { bytes: 60, crates: 1 } });
  await demandRoom(null, 40);
  await assert.rejects(demandRoom(null, 41), (error: Error) => /Shared crates/.test(error.message));
});

it('B12, C7: what all hold is bounded too, and is told to nobody', async () => {
  for (const all of [
    { bytes: 141, crates: 3 },
    { bytes: 0, crates: 4 },
  ])
    await assert.rejects(
      quotaOf({ all })('ada', 10),
      (error: Error) => exceeded(error) && !error.message.includes('141'),
    );
  await quotaOf({ all: { bytes: 140, crates: 3 } })('ada', 10);
});

it('B12, C7: room is demanded for the archive to the byte, and nothing is written where there is none', async () => {
  const demanded: [string | null, number][] = [];
  await using stage = await openPacking({
    demandRoom: async (owner, size) => void demanded.push([owner, size]),
  });
  const file = await keep(stage.room, 'a.txt', 'A');
  const mine = await stage.pack({ fileIds: [file.id] });
  const shared = await stage.pack({ fileIds: [file.id], shared: true });
  assert.deepEqual(demanded, [
    ['ada', stage.zipOf(mine).length],
    [null, stage.zipOf(shared).length],
  ]);

  await using full = await openPacking({ demandRoom: quotaOf({}) });
  const other = await keep(full.room, 'a.txt', 'A');
  await assert.rejects(full.pack({ fileIds: [other.id] }), exceeded);
  assert.equal(full.target.held.size, 0);
});
