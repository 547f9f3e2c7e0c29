import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtemp, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';

/** A small disk that only the child sees, so that nothing stays mounted whatever happens. */
const UNSHARE = [
  '--map-root-user',
  '--mount',
  'sh',
  '-c',
  'mount -t tmpfs -o size=2m none "$0" && exec "$@"',
];

const FILL = `
  import { rmSync, writeFileSync } from 'node:fs';
  import { openDatabase } from './open.ts';
  const folder = process.argv[1];
  writeFileSync(folder + '/ballast', Buffer.alloc(500_000));
  const database = await openDatabase(folder + '/test.sqlite');
  const insert = 'INSERT INTO usage (owner) VALUES (?)';
  const count = async () => (await database.query('SELECT COUNT(*) AS n FROM usage'))[0].n;
  const fill = async (write) => {
    for (let n = await count(); ; n++) {
      try { await write(n + 'x'.repeat(10_000)); } catch (error) { return { code: error.code, acknowledged: n }; }
    }
  };
  const byQuery = await fill((owner) => database.query(insert, owner));
  const inTransaction = await fill((owner) => database.transaction((tx) => tx.query(insert, owner)));
  const counted = await count();
  rmSync(folder + '/ballast');
  await database.query(insert, 'after');
  await database.transaction((tx) => tx.query(insert, 'after too'));
  console.log(JSON.stringify({ byQuery, inTransaction, counted, after: await count() }));
  await database.close();`;

test('SQLite on a full disk is storage_full, keeps what it acknowledged, and goes on when there is space', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'workcrate-full-'));
  t.after(() => rmdir(folder));
  if (spawnSync('unshare', [...UNSHARE, folder, 'true']).status !== 0) {
    return t.skip('no tmpfs can be mounted here: unshare --map-root-user --mount is refused');
  }
  const node = [process.execPath, '--input-type=module', '--eval', FILL, '--', folder];
  const child = spawnSync('unshare', [...UNSHARE, folder, ...node], {
    cwd: import.meta.dirname,
    encoding: 'utf8',
  });
  assert.equal(child.status, 0, child.stderr);
  const { byQuery, inTransaction, counted, after } = JSON.parse(child.stdout);
  assert.equal(byQuery.code, 'storage_full');
  assert.ok(byQuery.acknowledged > 10);
  assert.equal(inTransaction.code, 'storage_full');
  assert.equal(counted, inTransaction.acknowledged);
  assert.equal(after, counted + 2);
});
