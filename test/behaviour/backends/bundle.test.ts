import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { recordProof } from '../../requirements/requirements.testing.ts';
import { getFilesFolder } from '../../../src/core/store-options.ts';
import { backends, startServer, upload, type TestServer } from '../../server.testing.ts';
import { inStorage } from './upload.testing.ts';

describe(`bundles (${backends})`, () => {
  let server: TestServer;
  before(async () => void (server = await startServer()));
  after(async () => server[Symbol.asyncDispose]());

  it('many files come as one ZIP of known length and hash, with ranges, and unpack to the same bytes', async (t) => {
    const contents = [randomBytes(700_000), Buffer.from(''), Buffer.from('zwei'), Buffer.from('drei')];
    const names = ['a.bin', 'leer.txt', 'größe.txt', 'größe.txt'];
    const ids: string[] = [];
    for (const [at, name] of names.entries()) ids.push(await upload(server, name, contents[at]!));
    const { data } = await server.call('bundle_files', { file_ids: ids, filename: 'all' });
    assert.deepEqual([data.filename, data.mediaType], ['all.zip', 'application/zip']);
    const got = await fetch(data.downloadUrl);
    const zip = Buffer.from(await got.arrayBuffer());
    assert.equal(got.headers.get('content-length'), String(zip.length));
    assert.equal(data.size, zip.length);
    assert.equal(data.sha256, createHash('sha256').update(zip).digest('hex'));
    const part = await fetch(data.downloadUrl, { headers: { Range: 'bytes=699990-700200' } });
    assert.equal(part.status, 206);
    assert.ok(Buffer.from(await part.arrayBuffer()).equals(zip.subarray(699_990, 700_201)));
    const python = pythonPath();
    if (python === null) return t.skip('python3 is not installed, which unpacks the archive independently');
    const folder = await mkdtemp(join(tmpdir(), 'workcrate-zip-'));
    await writeFile(join(folder, 'all.zip'), zip);
    execFileSync(python, [
      '-c',
      'import sys,zipfile; z=zipfile.ZipFile(sys.argv[1]); assert z.testzip() is None; z.extractall(sys.argv[2])',
      join(folder, 'all.zip'),
      join(folder, 'out'),
    ]);
    const unpacked = (await readdir(join(folder, 'out'))).sort();
    assert.deepEqual(unpacked, ['a.bin', 'größe (2).txt', 'größe.txt', 'leer.txt']);
    assert.ok((await readFile(join(folder, 'out', 'a.bin'))).equals(contents[0]!));
    assert.equal(await readFile(join(folder, 'out', 'größe (2).txt'), 'utf8'), 'drei');
    await rm(folder, { recursive: true });
    recordProof('C9:one-zip-of-known-length', 'C10:bundle-files');
  });

  it('a bundle that is made and fetched leaves nothing in the store but the files in it', async () => {
    const ids = [await upload(server, 'one', randomBytes(300_000)), await upload(server, 'two', 'two')];
    const before = await inStorage(server);
    const { data } = await server.call('bundle_files', { file_ids: ids });
    assert.equal((await (await fetch(data.downloadUrl)).arrayBuffer()).byteLength, data.size);
    assert.deepEqual(await inStorage(server), before);
  });

  it('a bundle whose file was deleted answers 410', async () => {
    const id = await upload(server, 'x', 'x');
    const { data } = await server.call('bundle_files', { file_ids: [id, await upload(server, 'y', 'y')] });
    await server.call('delete_file', { file_id: id });
    assert.equal((await fetch(data.downloadUrl)).status, 410);
    assert.equal((await server.call('link_status', { token: data.token })).data.state, 'gone');
  });

  it('a file whose stored bytes were changed is named, and no bundle is made of it', async (t) => {
    if (server.config.storage !== 'disk')
      return t.skip('only on disk can a stored byte be changed from here');
    const ids = [await upload(server, 'empty', ''), await upload(server, 'good.txt', 'good')];
    const damaged = await upload(server, 'damaged.txt', 'damaged');
    const digits = damaged.slice('file_'.length);
    const path = `objects/files/${digits.slice(0, 2)}/${digits}.bin`;
    await writeFile(join(getFilesFolder(server.config), path), 'Damaged');
    const refused = await server.call('bundle_files', { file_ids: [...ids, damaged] });
    assert.equal(refused.code, 'file_damaged');
    assert.match(refused.text, /damaged\.txt/);
    assert.equal((await server.call('bundle_files', { file_ids: ids })).failed, false);
  });

  it('a bundle can be single use', async () => {
    const { data } = await server.call('bundle_files', {
      file_ids: [await upload(server, 'x', 'x')],
      single_use: true,
    });
    assert.equal((await fetch(data.downloadUrl).then((got) => got.arrayBuffer())).byteLength, data.size);
    assert.equal((await fetch(data.downloadUrl)).status, 404);
  });

  it('a bundle of nothing, of too much, or of what is not there is refused', async () => {
    assert.equal((await server.call('bundle_files', { file_ids: [] })).failed, true);
    assert.equal(
      (await server.call('bundle_files', { file_ids: [`file_${'0'.repeat(24)}`] })).code,
      'not_found',
    );
    assert.equal((await server.call('bundle_files', { file_ids: ['../x'] })).failed, true);
    await using small = await startServer({ maxBundleFiles: 1 });
    const ids = [await upload(small, 'x', 'x'), await upload(small, 'y', 'y')];
    assert.equal((await small.call('bundle_files', { file_ids: ids })).code, 'too_large');
  });
});

function pythonPath(): string | null {
  try {
    execFileSync('python3', ['-c', ''], { stdio: 'ignore' });
    return 'python3';
  } catch {
    return null;
  }
}
