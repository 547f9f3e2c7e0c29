import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Database } from '../../ports/database/database.ts';
import { openDatabase } from '../../ports/database/open.ts';
import { recordProof } from '../../../test/requirements/requirements.testing.ts';
import { listStoredFiles } from './list.ts';

const ann = { user: 'ann' };
const count = 100_000;
const toName = (at: number): string => (at % 30_000 === 7 ? `Größe ${at}.csv` : `file ${at}.txt`);

/** Many files of one user, several of each moment, written in a few statements. */
async function fill(database: Database): Promise<void> {
  await database.transaction(async (tx) => {
    for (let from = 0; from < count; from += 500) {
      const rows = Array.from({ length: 500 }, (_, step) => {
        const at = from + step;
        const id = `file_${at.toString(16).padStart(24, '0')}`;
        return [id, toName(at), Math.floor(at / 3)];
      });
      await tx.query(
        `INSERT INTO files (id, owner, name, media_type, size, sha256, crc32, origin, storage_key, created_at, expires_at)
         VALUES ${rows.map(() => `(?, 'ann', ?, 'text/plain', 1, '', 0, 'upload', '', ?, 1000000)`).join(', ')}`,
        ...rows.flat(),
      );
    }
  });
}

test('100,000 files are listed once each, and each page reads the rows of that page alone', async () => {
  const database = await openDatabase(':memory:');
  await fill(database);
  let rows = 0;
  const plans = new Set<string>();
  const watched: Database = {
    ...database,
    async query(sql: string, ...values: never[]) {
      const found = await database.query<never>(sql, ...values);
      rows += found.length;
      for (const { detail } of await database.query<{ detail: string }>(
        `EXPLAIN QUERY PLAN ${sql}`,
        ...values,
      ))
        plans.add(detail);
      return found;
    },
  };
  const options = { database: watched, clock: () => 0 };
  const seen = new Set<string>();
  let [after, pages]: [string | null, number] = [null, 0];
  do {
    const page = await listStoredFiles(options, ann, { limit: 200, after });
    for (const { id } of page.files) seen.add(id);
    [after, pages] = [page.next, pages + 1];
  } while (after !== null);
  assert.deepEqual([seen.size, pages], [count, 500]);
  assert.ok(rows <= count + pages, `${rows} rows were read`);
  // By the index from its place on, and not by sorting.
  for (const plan of plans) assert.match(plan, /^SEARCH files USING INDEX files_by_owner/);
  rows = 0;
  const found: string[] = [];
  let searched = 0;
  do {
    const page = await listStoredFiles(options, ann, { limit: 200, after, text: 'GRÖßE' });
    found.push(...page.files.map(({ name }) => name));
    after = page.next;
    searched++;
    assert.ok(rows <= 20_000 * searched, 'a page of a search looks at so many rows');
  } while (after !== null);
  assert.deepEqual(found, [90_007, 60_007, 30_007, 7].map(toName));
  await database.close();
  recordProof('G1:files-of-any-number-in-pages');
});

test('a place in the list stays good when its file is gone, and no other text is a place', async () => {
  const database = await openDatabase(':memory:');
  await fill(database);
  const options = { database, clock: () => 0 };
  const first = await listStoredFiles(options, ann, { limit: 2, after: null });
  await database.query('DELETE FROM files WHERE id = ?', first.files[1]!.id);
  const second = await listStoredFiles(options, ann, { limit: 1, after: first.next });
  assert.equal(second.files[0]!.name, `file ${count - 3}.txt`);
  for (const after of ['', 'x', '1-2', first.files[0]!.id])
    await assert.rejects(listStoredFiles(options, ann, { limit: 1, after }), { code: 'invalid_input' });
  await database.close();
});
