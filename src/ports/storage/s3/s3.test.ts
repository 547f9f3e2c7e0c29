import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { after, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { inspect } from 'node:util';
import { chunksOf, contentOf } from '../bytes.testing.ts';
import { NO_CEPH, startCeph } from '../ceph.testing.ts';
import { createObjectNames, splitIntoParts } from '../remote/remote.ts';
import { storageContract } from '../storage.contract.ts';
import { openBucket, type Bucket } from './client.ts';
import { beginMultipart, maxS3Parts } from './multipart.ts';
import { s3Storage, type S3Options } from './s3.ts';
import { createStagedState, saveStagedState, writeParts } from './staged.ts';
import { behindProxy, MB, optionsFor, put } from './store.testing.ts';

const ceph = (await startCeph())!;
after(() => ceph?.[Symbol.asyncDispose]());

describe('S3', { skip: ceph ? false : NO_CEPH }, () => {
  storageContract('S3 on Ceph', async () => {
    const storage = await s3Storage(optionsFor(ceph));
    return { ...storage, [Symbol.asyncDispose]: storage.close };
  });

  it('another process goes on with what one that was killed had staged', async () => {
    const options = optionsFor(ceph);
    const storage = await s3Storage(options);
    await killedWhileAppending(options, 'x', 'a');
    const size = await storage.staging.size('x');
    assert.ok(size >= 8 * options.partBytes && size % options.partBytes === 0, `${size}`);
    // At least as much as the other had sent: see the next test.
    const rest = randomBytes(71 * MB);
    await storage.staging.append('x', size, chunksOf(rest), { key: 'a' });
    assert.equal((await storage.staging.commit('x', 'a')).size, size + rest.length);
    const got = (await contentOf(storage, 'a'))!;
    for (let at = 0; at < size; at += MB) assert.equal(got[at + 17], (at / MB) % 251);
    assert.ok(got.subarray(size).equals(rest));
    assert.deepEqual(await everything(options), ['objects/a']);
    await storage.remove('a');
    await storage.close();
  });

  it('parts that a crash left beyond the end never get into the object', async () => {
    const options = optionsFor(ceph);
    const storage = await s3Storage(options);
    await killedWhileAppending(options, 'x', 'a');
    const size = await storage.staging.size('x');
    await storage.staging.append('x', size, chunksOf(Buffer.from('the end')), { key: 'a' });
    const made = await storage.staging.commit('x', 'a').catch((error: Error) => error);
    // AWS takes the parts that it is told of. Ceph refuses, and it has to be begun anew.
    if (made instanceof Error) assert.match(made.message, /from its start/);
    else assert.equal(made.size, size + 7);
    await storage.staging.append('x', 0, chunksOf(Buffer.from('anew')), { key: 'b' });
    await storage.staging.commit('x', 'b');
    assert.equal((await contentOf(storage, 'b'))!.toString(), 'anew');
    await storage.close();
  });

  it('what was appended by one process is committed by another, also once more after its answer got lost', async (t) => {
    const { storage, proxy, options } = await behindProxy(t, ceph, { tries: 1 });
    const bytes = randomBytes(12 * MB);
    await storage.staging.append('x', 0, chunksOf(bytes), { key: 'a' });
    proxy.fault = ({ method, url }) => (method === 'POST' && url.includes('uploadId') ? 'lose answer' : null);
    await assert.rejects(storage.staging.commit('x', 'a'), { code: 'storage_failed' });
    const other = await s3Storage({ ...options, endpoint: ceph.endpoint });
    assert.equal((await other.staging.commit('x', 'a')).size, bytes.length);
    assert.ok((await contentOf(other, 'a'))!.equals(bytes));
    assert.deepEqual(await everything(options), ['objects/a']);
    await other.close();
  });

  it('what is discarded leaves nothing behind, also in the midst of a part', async () => {
    const options = optionsFor(ceph);
    const storage = await s3Storage(options);
    await storage.staging.append('x', 0, chunksOf(randomBytes(13 * MB)), { key: 'a' });
    await storage.staging.append('y', 0, chunksOf(randomBytes(13 * MB)));
    await storage.staging.append('z', 0, chunksOf(randomBytes(10)));
    await killedWhileAppending(options, 'k', 'b');
    assert.deepEqual((await storage.staging.list()).map(({ id }) => id).sort(), ['k', 'x', 'y', 'z']);
    for (const id of ['k', 'x', 'y', 'z']) await storage.staging.discard(id);
    assert.deepEqual(await everything(options), []);
    await storage.close();
  });

  it('an upload begun afresh drops the parts of the one before', async () => {
    const options = optionsFor(ceph);
    const storage = await s3Storage(options);
    await storage.staging.append('x', 0, chunksOf(randomBytes(13 * MB)), { key: 'a' });
    await storage.staging.append('x', 0, chunksOf(Buffer.from('anew')), { key: 'a' });
    assert.deepEqual(await everything(options), ['staging/x']);
    await storage.staging.commit('x', 'a');
    assert.equal((await contentOf(storage, 'a'))!.toString(), 'anew');
    await storage.close();
  });

  it('lets exactly one of several large commits to the same key win, and the others keep what they have', async () => {
    const options = optionsFor(ceph);
    const storages = await Promise.all(Array.from({ length: 4 }, () => s3Storage(options)));
    const contents = storages.map(() => randomBytes(6 * MB));
    for (const [n, storage] of storages.entries())
      await storage.staging.append(`x${n}`, 0, chunksOf(contents[n]!), n === 0 ? {} : { key: 'a' });
    const results = await Promise.allSettled(
      storages.map((storage, n) => storage.staging.commit(`x${n}`, 'a')),
    );
    const won = results.findIndex(({ status }) => status === 'fulfilled');
    const lost = results.filter((result) => result.status === 'rejected');
    assert.deepEqual(
      lost.map(({ reason }) => (reason as { code: string }).code),
      Array.from({ length: 3 }, () => 'already_exists'),
    );
    assert.ok((await contentOf(storages[0]!, 'a'))!.equals(contents[won]!));
    for (const n of storages.keys()) {
      if (n === won) continue;
      await storages[0]!.remove('a');
      await storages[0]!.staging.commit(`x${n}`, 'a');
      assert.ok((await contentOf(storages[0]!, 'a'))!.equals(contents[n]!));
    }
    await storages[0]!.remove('a');
    assert.deepEqual(await everything(options), []);
    for (const storage of storages) await storage.close();
  });

  it('a small file costs five requests, and is opened and read with two', async (t) => {
    const { storage, proxy } = await behindProxy(t, ceph);
    await put(storage, 'a', Buffer.from('small'));
    assert.equal(proxy.seen.length, 5, inspect(proxy.seen));
    await contentOf(storage, 'a');
    assert.equal(proxy.seen.length, 7, inspect(proxy.seen));
  });

  it('holds at most four parts in memory, however large the object', async () => {
    const options = { ...optionsFor(ceph), partBytes: 8 * MB };
    const bucket = openBucket(options);
    const sent = new Set<ArrayBufferLike>();
    const ask: Bucket['ask'] = (request, signal) => {
      if (request.query?.['partNumber']) sent.add(request.body!.buffer);
      return bucket.ask(request, signal);
    };
    const size = await writeParts({ ...bucket, ask }, ...freshUpload(options, sameOverAndOver(200 * MB)));
    assert.ok(size >= 200 * MB);
    const held = Array.from(sent).reduce((sum, { byteLength }) => sum + byteLength, 0);
    assert.ok(held <= 4 * options.partBytes, `${held}`);
    const storage = await s3Storage(options);
    await storage.staging.discard('x');
    await storage.close();
    bucket.close();
  });

  it('more parts than the store takes are refused, one left for what follows them, with what came before kept', async () => {
    const options = optionsFor(ceph);
    const bucket = openBucket(options);
    const upload = freshUpload(options, chunksOf(randomBytes(21 * MB)), maxS3Parts - 3);
    await assert.rejects(writeParts(bucket, ...upload), { code: 'too_large', message: /--part-size/ });
    const storage = await s3Storage(options);
    assert.equal(await storage.staging.size('x'), 10 * MB);
    await storage.staging.discard('x');
    const parts = maxS3Parts - 1;
    const name = createObjectNames(options.prefix).staged('y');
    const full = {
      ...createStagedState(),
      multipart: await beginMultipart(bucket, `${name}/whole`, 'full'),
      parts,
    };
    await saveStagedState(bucket, name, { ...full, partBytes: parts * 5 * MB }, Buffer.from('tail'));
    const size = parts * 5 * MB + 4;
    const further = storage.staging.append('y', size, chunksOf(randomBytes(6 * MB)));
    await assert.rejects(further, { code: 'too_large' });
    assert.equal(await storage.staging.size('y'), size);
    await storage.staging.discard('y');
    await storage.close();
    bucket.close();
  });

  it('passes over what others have put into the bucket, and refuses names that are no keys', async () => {
    const options = { ...optionsFor(ceph), prefix: `${optionsFor(ceph).prefix}täg & <b>/` };
    const storage = await s3Storage(options);
    await put(storage, 'a', randomBytes(11 * MB));
    await using bucket = closing(openBucket(options));
    for (const stray of ['objects/A', 'objects/a b/&', 'objects/a+b', 'staging/Foo', 'staging/x/y', 'b'])
      await bucket.ask({ method: 'PUT', name: options.prefix + stray, body: Buffer.from('x') });
    assert.deepEqual(
      (await storage.list()).objects.map(({ key }) => key),
      ['a'],
    );
    let pages = 0;
    for (let after: string | null = ''; after !== null; pages++)
      after = (await storage.list({ after, limit: 1 })).next;
    assert.equal(pages, 4);
    assert.deepEqual(await storage.staging.list(), []);
    for (const key of ['../x', 'a/../b', '/a', 'a//b', 'a/', 'A', 'a.b', 'a\0', ''])
      await assert.rejects(async () => storage.stat(key), { code: 'invalid_input' }, key);
    await assert.rejects(async () => storage.staging.size('../x'), { code: 'invalid_input' });
    await storage.close();
  });

  it('a presigned PUT makes an object once, and does not replace it', async () => {
    const storage = await s3Storage(optionsFor(ceph));
    const { url, headers } = (await storage.presign('PUT', 'a', Date.now() + 60_000))!;
    assert.equal((await fetch(url, { method: 'PUT', body: 'one', headers })).status, 200);
    assert.equal((await fetch(url, { method: 'PUT', body: 'two', headers })).status, 412);
    assert.equal((await fetch(url, { method: 'PUT', body: 'two' })).status, 403);
    assert.equal((await contentOf(storage, 'a'))!.toString(), 'one');
    await storage.close();
  });
});

it('speaks to AWS by bucket and region, and to others by path or by host', () => {
  const options: S3Options = {
    bucket: 'b',
    prefix: '',
    endpoint: null,
    region: 'eu-west-1',
    pathStyle: false,
    accessKeyId: 'id',
    secretAccessKey: 'secret',
    sessionToken: null,
    partBytes: 5 * MB,
  };
  const url = (change: Partial<S3Options>): string =>
    openBucket({ ...options, ...change }).urlOf('k y/a').href;
  assert.equal(url({}), 'https://b.s3.eu-west-1.amazonaws.com/k%20y/a');
  assert.equal(url({ region: 'cn-north-1' }), 'https://b.s3.cn-north-1.amazonaws.com.cn/k%20y/a');
  assert.equal(url({ endpoint: 'http://h:1/x', pathStyle: true }), 'http://h:1/x/b/k%20y/a');
  assert.equal(url({ endpoint: 'http://h:1' }), 'http://b.h:1/k%20y/a');
});

/** What the writer of parts is told of a new upload `x`, meant for the key `a`. */
function freshUpload(options: S3Options, bytes: AsyncIterable<Uint8Array>, parts = 0) {
  const names = createObjectNames(options.prefix);
  const destination = { stateName: names.staged('x'), targetName: names.object('a') };
  const gathered = splitIntoParts(bytes, { partBytes: options.partBytes, hash: 'sha256' });
  return [destination, { ...createStagedState(), parts }, new Uint8Array(), gathered] as const;
}

async function* sameOverAndOver(bytes: number): AsyncGenerator<Uint8Array> {
  const chunk = randomBytes(100_000);
  for (let at = 0; at < bytes; at += chunk.length) yield chunk;
}

const closing = (bucket: Bucket) => ({ ...bucket, [Symbol.asyncDispose]: async () => bucket.close() });

/** All that stands below the prefix, uploads that are not finished included. */
async function everything(options: S3Options): Promise<string[]> {
  await using bucket = closing(openBucket(options));
  const ask = async (query: Record<string, string>): Promise<string> =>
    (await bucket.ask({ method: 'GET', name: '', query: { ...query, prefix: options.prefix } })).text;
  const objects = await ask({ 'list-type': '2' });
  const uploads = await ask({ uploads: '' });
  return [...`${objects}${uploads}`.matchAll(/<Key>([^<]*)<\/Key>/g)]
    .map(([, name]) => name!.slice(options.prefix.length))
    .sort();
}

/** Appends in a process of its own until the store knows of some of it, and kills it. */
async function killedWhileAppending(options: S3Options, id: string, key: string): Promise<void> {
  const program = fileURLToPath(new URL('appending.testing.ts', import.meta.url));
  const child = spawn(process.execPath, [program, JSON.stringify([options, id, key])], { stdio: 'inherit' });
  const ended = once(child, 'exit');
  const storage = await s3Storage(options);
  for (let left = 600; left > 0 && (await storage.staging.size(id)) === 0; left--) await pause(50);
  child.kill('SIGKILL');
  await ended;
  await storage.close();
}
