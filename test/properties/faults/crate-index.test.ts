import assert from 'node:assert/strict';
import { readdirSync, rmSync, statSync, writeFileSync, openSync, writeSync, closeSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { eventually } from '../../../src/platform/eventually.testing.ts';
import { startServer, upload, type TestServer } from '../../server.testing.ts';

const settings = { sandbox: 'off', database: null } as const;

async function pack(server: TestServer, title: string): Promise<string> {
  const id = await upload(server, 'a.txt', title);
  const reply = await server.call('pack_crate', { file_ids: [id], title });
  assert.equal(reply.failed, false, reply.text);
  const link = await fetch(reply.data.downloadUrl);
  assert.equal(link.status, 200);
  await link.arrayBuffer();
  return reply.data.crate_id as string;
}

async function found(server: TestServer, title: string): Promise<string[]> {
  const reply = await server.call('search_index', { query: `"${title}"`, mode: 'keyword' });
  assert.equal(reply.failed, false, reply.text);
  return reply.data.results.map((one: { crate_id: string }) => one.crate_id);
}

/** Found again without anybody asking for it. */
async function demandFound(server: TestServer, title: string, crateId: string): Promise<void> {
  await eventually(async () => (await found(server, title)).join() === crateId);
}

const renewals = (server: TestServer): string[] =>
  server.logged.filter((line) => line.includes('crates.index_renewed'));

/** Spoils all but the first page, in place. */
function damage(file: string): void {
  const { size } = statSync(file);
  const handle = openSync(file, 'r+');
  writeSync(handle, Buffer.alloc(size - 4096, 0xa5), 0, size - 4096, 4096);
  closeSync(handle);
}

for (const ends of [[''], ['', '-wal', '-shm']])
  it(`an index that is deleted under a running server (${ends.length} files) is made anew`, async () => {
    await using server = await startServer(settings);
    const first = await pack(server, 'Glaciers before');
    assert.deepEqual(await found(server, 'Glaciers before'), [first]);
    for (const end of ends) rmSync(join(server.data, `crates.db${end}`), { force: true });
    const second = await pack(server, 'Glaciers after');
    assert.deepEqual(await found(server, 'Glaciers after'), [second]);
    await demandFound(server, 'Glaciers before', first);
    assert.equal((await server.call('get_crate', { crate_id: first })).failed, false);
    assert.equal(renewals(server).length, 1);
    // Without a pack, a search notices it.
    for (const end of ends) rmSync(join(server.data, `crates.db${end}`), { force: true });
    await demandFound(server, 'Glaciers after', second);
  });

it('an index that is no database at the start is set aside and made anew', async (t) => {
  const data = await mkdtemp(join(tmpdir(), 'workcrate-index-'));
  t.after(() => rm(data, { recursive: true, force: true }));
  let crate = '';
  {
    await using server = await startServer({ ...settings, data });
    crate = await pack(server, 'Rivers of ice');
  }
  for (const content of ['no database', Buffer.alloc(100_000, 7), Buffer.alloc(0)]) {
    writeFileSync(join(data, 'crates.db'), content);
    await using server = await startServer({ ...settings, data });
    await demandFound(server, 'Rivers of ice', crate);
    assert.equal((await server.call('index_status', {})).failed, false);
  }
  const aside = readdirSync(data).filter((name) => name.startsWith('crates.db.damaged-'));
  assert.equal(aside.length, 2, aside.join());
});

it('an index that is found malformed while the server runs is made anew, and a crate can be packed', async () => {
  await using server = await startServer(settings);
  const crate = await pack(server, 'Lakes in winter');
  await server.restart({ crateInterval: 0 });
  damage(join(server.data, 'crates.db'));
  await demandFound(server, 'Lakes in winter', crate);
  await server.restart({ crateInterval: 0 });
  damage(join(server.data, 'crates.db'));
  const other = await pack(server, 'Lakes in summer');
  assert.deepEqual(await found(server, 'Lakes in summer'), [other]);
  await demandFound(server, 'Lakes in winter', crate);
  assert.ok(renewals(server).some((line) => line.includes('damaged')));
});
