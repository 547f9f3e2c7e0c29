import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { openDatabase } from '../../../ports/database/open.ts';
import { findPostgres, NO_POSTGRES } from '../../../ports/database/postgres.testing.ts';
import { madeUp } from './crate.testing.ts';
import { createCrateRows, measureSource } from './rows.ts';

const server = await findPostgres();
after(() => server?.[Symbol.asyncDispose]());

const packs = 'file:///packs/';
const backends = [
  { name: 'SQLite', skip: false as const, location: async () => ':memory:' },
  { name: 'PostgreSQL', skip: server === null && NO_POSTGRES, location: () => server!.url() },
];

for (const { name, skip, location } of backends)
  describe(`what the index counts on ${name}`, { skip }, () => {
    test('crates of a source are counted by owner, for everybody, and in all, broken ones too', async () => {
      await using opened = new AsyncDisposableStack();
      const database = opened.adopt(await openDatabase(await location(), 'crates'), (it) => it.close());
      assert.deepEqual(await measureSource(database, packs, undefined), { bytes: 0, crates: 0 });

      const rows = createCrateRows(database, { clock: () => 1 });
      await rows.put([
        sized('one', 'ann', 2 ** 40),
        sized('two', 'ann', 5),
        sized('three', 'bob', 7),
        sized('four', null, 11),
        madeUp({ id: 'elsewhere', owner: 'ann', source: 'file:///others/' }),
      ]);
      const broken = sized('five', 'bob', 13).place;
      await rows.putBroken([{ place: broken, code: 'not_a_zip', reason: 'No zip.' }]);

      assert.deepEqual(await measureSource(database, packs, 'ann'), { bytes: 2 ** 40 + 5, crates: 2 });
      assert.deepEqual(await measureSource(database, packs, 'bob'), { bytes: 20, crates: 2 });
      assert.deepEqual(await measureSource(database, packs, null), { bytes: 11, crates: 1 });
      assert.deepEqual(await measureSource(database, packs, undefined), { bytes: 2 ** 40 + 36, crates: 5 });
      assert.deepEqual(await measureSource(database, packs, "' OR 1=1"), { bytes: 0, crates: 0 });
    });
  });

function sized(id: string, owner: string | null, size: number) {
  const crate = madeUp({ id, owner, source: packs });
  return { ...crate, place: { ...crate.place, size } };
}
