import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import type { Database } from '../../ports/database/database.ts';
import { openDatabase } from '../../ports/database/open.ts';
import { findPostgres, NO_POSTGRES } from '../../ports/database/postgres.testing.ts';
import { isWorkcrateError } from '../../platform/errors.ts';
import { createLog } from '../../platform/observability/log.ts';
import { keep, openPacking } from './packing.testing.ts';
import { createPackQuota } from './quota.ts';

const quotas = { userBytes: 100, userFiles: 2, totalBytes: 150, totalFiles: 4 };
const nothing = { bytes: 0, crates: 0 };

const server = await findPostgres();
after(() => server?.[Symbol.asyncDispose]());

const databases = {
  SQLite: { skip: false, open: async () => [await openDatabase(':memory:')] },
  // Two servers, each with connections of its own.
  PostgreSQL: {
    skip: server === null && NO_POSTGRES,
    async open() {
      const url = await server!.url();
      return [await openDatabase(url), await openDatabase(url)];
    },
  },
} as const;

/** What each is said to hold; `all` is all of it. */
function quotaOn(database: Database, held: Record<string, typeof nothing> = {}, isForSeveral = true) {
  const keyOf = (owner?: string | null): string => (owner === undefined ? 'all' : (owner ?? 'shared'));
  const log = createLog('off');
  return createPackQuota({
    database,
    quotas,
    held: async (owner) => held[keyOf(owner)] ?? nothing,
    isForSeveral,
    clock: Date.now,
    log,
  });
}

const exceeded = (error: Error): boolean => {
  assert.match(error.message, /^Over quota\. .*--pack-to.*sync_index.*raise the quota\.$/);
  return isWorkcrateError(error, 'quota_exceeded');
};

for (const [name, { skip, open }] of Object.entries(databases))
  describe(`the quota of packed crates on ${name}`, { skip }, () => {
    async function opened(t: { after(work: () => unknown): void }): Promise<Database[]> {
      const all = await open();
      t.after(() => Promise.all(all.map((database) => database.close())));
      return all;
    }

    it('the last byte and the last crate of an owner may be taken, and not one more', async (t) => {
      const [database] = await opened(t);
      const reserve = quotaOn(database!, { ada: { bytes: 60, crates: 1 }, bob: { bytes: 0, crates: 2 } });
      await (await reserve('ada', 40))[Symbol.asyncDispose]();
      await assert.rejects(reserve('ada', 41), exceeded);
      await assert.rejects(reserve('bob', 1), exceeded);
      await reserve('eve', 100);
    });

    it('shared crates count together, as those of one owner', async (t) => {
      const [database] = await opened(t);
      const reserve = quotaOn(database!, { shared: { bytes: 60, crates: 1 } });
      const room = await reserve(null, 40);
      await assert.rejects(reserve(null, 1), (error: Error) => /Shared crates/.test(error.message));
      await room[Symbol.asyncDispose]();
      await assert.rejects(reserve(null, 41), (error: Error) => /Shared crates/.test(error.message));
    });

    it('what all hold is bounded too, and is told to nobody', async (t) => {
      const [database] = await opened(t);
      for (const all of [
        { bytes: 141, crates: 3 },
        { bytes: 0, crates: 4 },
      ])
        await assert.rejects(
          quotaOn(database!, { all })('ada', 10),
          (error: Error) => exceeded(error) && !error.message.includes('141'),
        );
      await quotaOn(database!, { all: { bytes: 140, crates: 3 } })('ada', 10);
    });

    it('of many who pack at once, on several servers, as many get room as there is', async (t) => {
      const all = await opened(t);
      const reserve = all.map((database) => quotaOn(database));
      const ends = await Promise.allSettled(
        Array.from({ length: 12 }, (_, at) => reserve[at % reserve.length]!('ada', 40)),
      );
      assert.equal(ends.filter(({ status }) => status === 'fulfilled').length, 2);
      for (const end of ends) if (end.status === 'rejected') assert.ok(exceeded(end.reason as Error));
      // Nobody else has any of it, and all together have more.
      const bob = await reserve[0]!('bob', 70);
      await assert.rejects(reserve[0]!('eve', 1), exceeded);
      await bob[Symbol.asyncDispose]();
      for (const end of ends) if (end.status === 'fulfilled') await end.value[Symbol.asyncDispose]();
      await reserve[0]!('ada', 100);
    });

    it('a crate is not missed that the index learns of while another looks', async (t) => {
      const [database] = await opened(t);
      const first = await quotaOn(database!)('ada', 60);
      let known = nothing;
      let asked = 0;
      const reserve = createPackQuota({
        database: database!,
        quotas,
        isForSeveral: true,
        clock: Date.now,
        log: createLog('off'),
        async held() {
          const answer = known;
          // Right after the index was asked, the first crate is known to it and no longer under way.
          if (asked++ === 1) {
            known = { bytes: 60, crates: 1 };
            await first[Symbol.asyncDispose]();
          }
          return answer;
        },
      });
      await assert.rejects(reserve('ada', 60), exceeded);
    });

    it('what a server that died had reserved counts no longer after a while', async (t) => {
      const [database] = await opened(t);
      await quotaOn(database!)('ada', 100);
      await assert.rejects(quotaOn(database!)('ada', 1), exceeded);
      await database!.query("UPDATE packings SET until = 1 WHERE id <> ''");
      await quotaOn(database!)('ada', 100);
    });
  });

it('where there is one user, shared crates and theirs count together', async (t) => {
  const database = await openDatabase(':memory:');
  t.after(() => database.close());
  const reserve = quotaOn(database, {}, false);
  await reserve('local', 60);
  await assert.rejects(reserve(null, 60), exceeded);
});

it('room is reserved for the archive to the byte until the index knows it, and nothing is written where there is none', async () => {
  const reserved: [string | null, number][] = [];
  let released = 0;
  const reserveRoom = async (owner: string | null, size: number): Promise<AsyncDisposable> => {
    reserved.push([owner, size]);
    return { [Symbol.asyncDispose]: async () => void released++ };
  };
  await using stage = await openPacking({ reserveRoom });
  const file = await keep(stage.room, 'a.txt', 'A');
  const mine = await stage.pack({ fileIds: [file.id] });
  const shared = await stage.pack({ fileIds: [file.id], shared: true });
  assert.deepEqual(reserved, [
    ['ada', stage.zipOf(mine).length],
    [null, stage.zipOf(shared).length],
  ]);
  assert.equal(released, 0);
  await mine[Symbol.asyncDispose]();
  assert.equal(released, 1);

  const database = await openDatabase(':memory:');
  await using full = await openPacking({ reserveRoom: quotaOn(database) });
  const other = await keep(full.room, 'a.txt', 'A');
  await assert.rejects(full.pack({ fileIds: [other.id] }), exceeded);
  assert.equal(full.target.held.size, 0);
  await database.close();
});
