import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { it } from 'node:test';
import { share, startServer, type TestServer } from '../server.testing.ts';
import {
  offsetOf,
  onDisk,
  patch,
  pieces,
  problems,
  send,
  sha256,
  uploadUrl,
} from '../behaviour/upload.testing.ts';
import { smallDisk } from './small-disk.testing.ts';

const onThisDisk = { database: null, storage: 'disk' } as const;

async function assertWorks(server: TestServer): Promise<void> {
  assert.equal((await fetch(`${server.url}/readyz`)).status, 200);
  const bytes = randomBytes(100_000);
  const { downloadUrl, fileId } = await share(server, bytes);
  assert.ok(Buffer.from(await (await fetch(downloadUrl)).arrayBuffer()).equals(bytes));
  assert.equal((await server.call('delete_file', { file_id: fileId })).failed, false);
  assert.deepEqual(await problems(server), []);
  assert.deepEqual((await onDisk(server)).staged, []);
}

it('C10: an upload that does not fit on the disk is answered 507 storage_full, and nothing of it stays', async (t) => {
  await using disk = await smallDisk(t);
  if (disk === null) return;
  await using server = await startServer({ ...onThisDisk, filesDir: disk.path });
  for (const body of [randomBytes(3_000_000), pieces(randomBytes(3_000_000))]) {
    const url = await uploadUrl(server);
    const { status, json } = await send('PUT', url, body);
    assert.deepEqual([status, json.code], [507, 'storage_full']);
    assert.match(json.error, /free some space/i);
    assert.deepEqual(await onDisk(server), { staged: [], objects: [] });
    assert.equal((await send('PUT', url, randomBytes(1_000_000))).status, 201);
    const { files } = (await server.call('list_files', {})).data;
    assert.equal((await server.call('delete_file', { file_id: files[0].file_id })).failed, false);
  }
  await assertWorks(server);
});

it('C10: uploads that fill the disk together: each is taken whole or refused', async (t) => {
  await using disk = await smallDisk(t);
  if (disk === null) return;
  await using server = await startServer({ ...onThisDisk, filesDir: disk.path });
  const urls = await Promise.all(Array.from({ length: 8 }, () => uploadUrl(server)));
  const bodies = urls.map(() => randomBytes(400_000));
  const answers = await Promise.all(urls.map((url, n) => send('PUT', url, pieces(bodies[n]!, 50_000))));
  for (const [n, { status, json }] of answers.entries())
    if (status === 201) assert.equal(json.sha256, sha256(bodies[n]!));
    else assert.deepEqual([status, json.code], [507, 'storage_full']);
  assert.ok(answers.some(({ status }) => status === 507));
  assert.deepEqual(await problems(server), []);
  assert.deepEqual((await onDisk(server)).staged, []);
});

it('readyz tells that the files folder is full; files can still be fetched and deleted, and with space all works', async (t) => {
  await using disk = await smallDisk(t);
  if (disk === null) return;
  await using server = await startServer({ ...onThisDisk, filesDir: disk.path });
  const kept = await share(server, 'kept');
  const [half, whole] = [await uploadUrl(server, { size: 8 }), await uploadUrl(server)];
  assert.equal((await patch(half, 0, 'half')).status, 204);
  await disk.fill();
  const ready = await fetch(`${server.url}/readyz`);
  assert.equal(ready.status, 503);
  assert.match(((await ready.json()) as { error: string }).error, /disk is full/);
  assert.equal((await fetch(`${server.url}/livez`)).status, 200);
  const refused = await send('PUT', whole, randomBytes(5000));
  assert.deepEqual([refused.status, refused.json.code], [507, 'storage_full']);
  assert.equal(await (await fetch(kept.downloadUrl)).text(), 'kept');
  assert.equal((await server.call('delete_file', { file_id: kept.fileId })).failed, false);
  assert.equal((await onDisk(server)).staged.length, 1);
  await disk.free();
  assert.equal(await offsetOf(half), 4);
  assert.equal((await patch(half, 4, 'half')).status, 204);
  assert.equal((await send('PUT', whole, randomBytes(5000))).status, 201);
  await assertWorks(server);
});

it('an upload that fills the disk of the database too is dropped, and gives that room again', async (t) => {
  await using disk = await smallDisk(t, '4m');
  if (disk === null) return;
  await using server = await startServer({ ...onThisDisk, data: disk.path });
  const { status, json } = await send('PUT', await uploadUrl(server), randomBytes(5_000_000));
  assert.deepEqual([status, json.code], [507, 'storage_full']);
  assert.deepEqual(await onDisk(server), { staged: [], objects: [] });
  await assertWorks(server);
});

for (const apart of [false, true])
  it(`with the data folder full${apart ? ' and the files elsewhere' : ''}, all that writes is told storage_full; with space all works`, async (t) => {
    await using disk = await smallDisk(t, '4m');
    if (disk === null) return;
    await using files = apart ? await smallDisk(t) : null;
    await using server = await startServer({ ...onThisDisk, data: disk.path, filesDir: files?.path ?? null });
    const kept = await share(server, 'kept');
    const url = await uploadUrl(server);
    await disk.fill();
    const reply = await untilRefused(server);
    assert.equal(reply.code, 'storage_full');
    const put = await send('PUT', url, randomBytes(50_000));
    assert.deepEqual([put.status, put.json.code], [507, 'storage_full']);
    assert.equal((await server.call('share_file', { file_id: kept.fileId })).code, 'storage_full');
    assert.equal((await server.call('delete_file', { file_id: kept.fileId })).code, 'storage_full');
    assert.equal(await (await fetch(kept.downloadUrl)).text(), 'kept');
    assert.equal((await fetch(`${server.url}/livez`)).status, 200);
    if (!apart) assert.equal((await fetch(`${server.url}/readyz`)).status, 503);
    await disk.free();
    assert.equal((await send('PUT', url, 'at last')).status, 201);
    assert.equal(await (await fetch(kept.downloadUrl)).text(), 'kept');
    await assertWorks(server);
    await server.restart();
    await assertWorks(server);
  });

/** SQLite goes on for a while with space that it has already. */
async function untilRefused(server: TestServer) {
  for (;;) {
    const reply = await server.call('request_upload', { filename: 'x'.repeat(200) });
    if (reply.failed) return reply;
  }
}
