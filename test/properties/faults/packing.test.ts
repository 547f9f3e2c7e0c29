import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { it } from 'node:test';
import { run } from '../../behaviour/cli/program.testing.ts';
import { startServer, upload, type TestServer } from '../../server.testing.ts';
import { smallDisk } from './small-disk.testing.ts';

const archivesOf = async (server: TestServer): Promise<string[]> =>
  (await readdir(join(server.config.data, 'crates'), { recursive: true })).filter((name) =>
    /\.(zip|part)$/.test(name),
  );

it('a crate leaves the reserve of its disk free', async (t) => {
  await using disk = await smallDisk(t, '100m');
  if (disk === null) return;
  await using server = await startServer({ sandbox: 'off', packTo: pathToFileURL(disk.path).href });
  const file = await upload(server, 'large.bin', randomBytes(40 * 1024 ** 2));
  const pack = () => server.call('pack_crate', { file_ids: [file] });
  for (const reply of [await pack(), await pack()]) assert.equal(reply.failed, false, reply.text);
  const third = await pack();
  assert.equal(third.code, 'storage_full', third.text);
  assert.match(third.text, /reserve.*Free some space/);
  assert.equal(third.text.includes(disk.path), false, 'users are not told where it is');
  const small = await upload(server, 'small.txt', 'small');
  assert.equal((await server.call('pack_crate', { file_ids: [small] })).failed, false);
});

it('a crate that cannot be indexed is not left behind, and can be packed again', async () => {
  await using server = await startServer({ sandbox: 'off', database: null, maxMetadata: 1 });
  const file = await upload(server, 'a.txt', 'A');
  const refused = await server.call('pack_crate', { file_ids: [file], title: 'Packed twice' });
  assert.equal(refused.failed, true, 'metadata of more than a byte are not taken');
  assert.deepEqual(await archivesOf(server), []);
  await server.restart({ maxMetadata: 10 ** 6 });
  const packed = await server.call('pack_crate', { file_ids: [file], title: 'Packed twice' });
  assert.equal(packed.failed, false, packed.text);
  const found = await server.call('search_index', { query: 'packed twice', mode: 'keyword' });
  assert.equal(found.data.total, 1);
  assert.equal((await archivesOf(server)).length, 1);
});

it('a stored file whose bytes are damaged is told as that, and not as one that changes', async () => {
  await using server = await startServer({ sandbox: 'off', storage: 'disk' });
  const file = await upload(server, 'table.csv', 'year,metres\n2020,1200\n');
  const objects = await readdir(join(server.data, 'files'), { recursive: true, withFileTypes: true });
  const stored = objects
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));
  for (const path of stored) {
    const bytes = await readFile(path);
    if (bytes.includes('metres')) await writeFile(path, bytes.toString().replace('1200', '1300'));
  }
  const reply = await server.call('pack_crate', { file_ids: [file] });
  assert.equal(reply.code, 'file_damaged', reply.text);
  assert.match(reply.text, /table\.csv.*Send the file again/);
  assert.deepEqual(await archivesOf(server), []);
});

it('what a killed packing has left is named by check, and removed by the next start', async (t) => {
  const data = await mkdtemp(join(tmpdir(), 'workcrate-parts-'));
  t.after(() => rm(data, { recursive: true, force: true }));
  const settings = { sandbox: 'off', database: null, data } as const;
  const part = join(data, 'crates/users/local', `.workcrate-${'a'.repeat(24)}.part`);
  {
    await using server = await startServer(settings);
    const file = await upload(server, 'a.txt', 'A');
    assert.equal((await server.call('pack_crate', { file_ids: [file] })).failed, false);
  }
  await writeFile(part, 'half a crate');
  const checked = await run(['check', '--data', data]);
  assert.match(checked.stdout, /1 unfinished crates .* the next start removes them/);
  await using server = await startServer(settings);
  assert.equal((await archivesOf(server)).length, 1);
  assert.ok(server.logged.some((line) => line.includes('start.cut_off_packings_removed')));
});
