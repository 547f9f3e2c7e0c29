import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { rm, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { it } from 'node:test';
import { eventually } from '../../../src/platform/eventually.testing.ts';
import { share, startServer, timeOf, upload, type TestServer } from '../../server.testing.ts';
import {
  offsetOf,
  onDisk,
  patch,
  pieces,
  problems,
  send,
  sha256,
  uploadUrl,
} from '../../behaviour/backends/upload.testing.ts';
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

it('an upload that does not fit on the disk is answered 507 storage_full, and nothing of it stays', async (t) => {
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

it('uploads that fill the disk together: each is taken whole or refused', async (t) => {
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
  it(`with the data folder full${apart ? ' and the files elsewhere' : ''}, nothing is taken in, all can be shared, revoked and deleted, and with space all works`, async (t) => {
    await using disk = await smallDisk(t, '8m');
    if (disk === null) return;
    await using files = apart ? await smallDisk(t) : null;
    await using server = await startServer({ ...onThisDisk, data: disk.path, filesDir: files?.path ?? null });
    const kept = await share(server, 'kept');
    const others = await Promise.all(Array.from({ length: 5 }, () => share(server, randomBytes(10))));
    const url = await uploadUrl(server);
    await disk.fill();
    const asked = await server.call('request_upload', { filename: 'x' });
    assert.equal(asked.code, 'storage_full');
    assert.ok(!asked.text.includes(disk.path), asked.text);
    const put = await send('PUT', url, randomBytes(50_000));
    assert.deepEqual([put.status, put.json.code], [507, 'storage_full']);
    assert.ok(!put.json.error.includes(disk.path), put.json.error);
    for (const { fileId, token } of others) {
      assert.equal((await server.call('share_file', { file_id: fileId })).failed, false);
      assert.equal((await server.call('revoke_link', { token })).failed, false);
      assert.equal((await server.call('delete_file', { file_id: fileId })).failed, false);
    }
    assert.equal(await (await fetch(kept.downloadUrl)).text(), 'kept');
    await server.restart();
    assert.equal((await server.call('share_file', { file_id: kept.fileId })).failed, false);
    await disk.free();
    assert.equal((await send('PUT', url, 'at last')).status, 201);
    assert.equal(await (await fetch(kept.downloadUrl)).text(), 'kept');
    await assertWorks(server);
    await server.restart();
    await assertWorks(server);
  });

it('a disk that uploads have filled keeps a reserve, however often more are tried: files can be shared, revoked, deleted', async (t) => {
  await using disk = await smallDisk(t, '64m');
  if (disk === null) return;
  await using server = await startServer({ ...onThisDisk, data: disk.path });
  const [first, second] = [await share(server, randomBytes(1_000_000)), await share(server, 'small')];
  const spare = await uploadUrl(server);
  let taken = 0;
  for (; (await tryUpload(server, randomBytes(2_000_000))) === 201; taken++);
  assert.ok(taken > 20, `${taken} files of 2 MB were taken`);
  for (let round = 0; round < 500; round++) {
    assert.equal(await tryUpload(server, randomBytes(2_000_000)), 507);
    assert.equal((await send('PUT', spare, randomBytes(2_000_000))).status, 507);
  }
  const { bavail, blocks } = await statfs(disk.path);
  assert.ok(bavail > blocks * 0.01, `${bavail} of ${blocks} blocks are free`);
  assert.equal((await server.call('share_file', { file_id: second.fileId })).failed, false);
  assert.equal((await server.call('revoke_link', { token: first.token })).failed, false);
  assert.equal((await server.call('delete_file', { file_id: first.fileId })).failed, false);
  assert.equal((await fetch(first.downloadUrl)).status, 404);
});

it('expired files are swept from a disk that is full to the last byte, and then there is space', async (t) => {
  const pass = timeOf(t);
  await using disk = await smallDisk(t, '16m');
  if (disk === null) return;
  await using server = await startServer({ ...onThisDisk, data: disk.path, fileTtl: 60, sweepInterval: 1 });
  const kept = await upload(server, 'a.bin', randomBytes(1_000_000));
  for (let n = 0; n < 5; n++) await upload(server, 'a.bin', randomBytes(500_000));
  await rm(join(disk.path, 'ballast'));
  await disk.fill();
  assert.equal((await onDisk(server)).objects.length, 6);
  pass(30 * 60);
  await eventually(async () => (await onDisk(server)).objects.length === 0);
  assert.equal((await server.call('delete_file', { file_id: kept })).code, 'not_found');
  assert.equal(await tryUpload(server, randomBytes(500_000)), 201);
});

it('a disk without inodes says so, since space is not what is missing', async (t) => {
  await using disk = await smallDisk(t, '16m,nr_inodes=400');
  if (disk === null) return;
  await using server = await startServer({ ...onThisDisk, data: disk.path });
  const url = await uploadUrl(server);
  const { ffree } = await statfs(disk.path);
  for (let n = 0; n < ffree; n++) await writeFile(join(disk.path, `empty-${n}`), '');
  const { status, json } = await send('PUT', url, 'x');
  assert.deepEqual([status, json.code], [507, 'storage_full']);
  assert.match(json.error, /inodes/);
});

/** The status that it ends with, whether it is refused when it is asked for or when it is sent. */
async function tryUpload(server: TestServer, bytes: Uint8Array): Promise<number> {
  const { code, data } = await server.call('request_upload', { filename: 'x', size: bytes.length });
  if (code === 'storage_full') return 507;
  return (await send('PUT', data.uploadUrl, bytes)).status;
}
