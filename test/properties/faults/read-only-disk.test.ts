import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { it } from 'node:test';
import { join } from 'node:path';
import { share, startServer } from '../../server.testing.ts';
import {
  offsetOf,
  onDisk,
  patch,
  problems,
  send,
  sha256,
  uploadUrl,
} from '../../behaviour/backends/upload.testing.ts';
import { readOnly } from './small-disk.testing.ts';

it('with the files folder read-only, uploads are answered 503 storage_read_only; what was sent before can be gone on with', async (t) => {
  await using server = await startServer({ database: null, storage: 'disk' });
  const folder = join(server.data, 'files');
  const kept = await share(server, 'kept');
  const [begun, fresh] = [await uploadUrl(server, { size: 10 }), await uploadUrl(server)];
  assert.equal((await patch(begun, 0, '01234')).status, 204);
  const before = await onDisk(server);
  {
    using frozen = readOnly(t, folder);
    if (frozen === null) return;
    for (const refused of [await send('PUT', fresh, randomBytes(5000)), await patch(begun, 5, '56789')])
      assert.deepEqual([refused.status, refused.json.code], [503, 'storage_read_only']);
    const ready = await fetch(`${server.url}/readyz`);
    assert.equal(ready.status, 503);
    assert.match(((await ready.json()) as { error: string }).error, /read-only/);
    assert.equal((await fetch(`${server.url}/livez`)).status, 200);
    assert.equal(await (await fetch(kept.downloadUrl)).text(), 'kept');
    assert.equal(await offsetOf(begun), 5);
    assert.deepEqual(await onDisk(server), before);
  }
  assert.equal((await fetch(`${server.url}/readyz`)).status, 200);
  const done = await patch(begun, 5, '56789');
  assert.equal(done.headers.get('workcrate-sha256'), sha256('0123456789'));
  assert.equal((await send('PUT', fresh, randomBytes(5000))).status, 201);
  assert.deepEqual(await problems(server), []);
});

it('bytes that could not be deleted while the files folder was read-only go with the next start', async (t) => {
  await using server = await startServer({ database: null, storage: 'disk' });
  const { fileId, downloadUrl } = await share(server, 'to be deleted');
  {
    using frozen = readOnly(t, join(server.data, 'files'));
    if (frozen === null) return;
    const reply = await server.call('delete_file', { file_id: fileId });
    assert.deepEqual([reply.failed, reply.code], [true, 'storage_read_only']);
    assert.equal((await fetch(downloadUrl)).status, 410);
  }
  await server.restart();
  assert.deepEqual(await onDisk(server), { staged: [], objects: [] });
  assert.deepEqual(await problems(server), []);
});
