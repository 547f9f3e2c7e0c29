import assert from 'node:assert/strict';
import { createHmac, randomBytes } from 'node:crypto';
import { after, describe, it } from 'node:test';
import { isWorkcrateError } from '../../../platform/errors.ts';
import { NO_AZURITE, startAzurite, type TestAzurite } from '../azurite.testing.ts';
import { chunksOf, contentOf, failureOf } from '../bytes.testing.ts';
import { startFaultyProxy } from '../remote/faulty-proxy.testing.ts';
import { splitIntoParts } from '../remote/remote.ts';
import { storageContract } from '../storage.contract.ts';
import { openAzure, partBytes } from './azure.testing.ts';
import { maxBlocks, createAttempt } from './blocks.ts';
import { createBlobs } from './client.ts';
import { writeBlocks } from './staged.ts';

const started = await startAzurite();
const azurite = started ?? ({} as TestAzurite);
const skip = started === null && NO_AZURITE;
after(() => started?.[Symbol.asyncDispose]());

if (started !== null)
  storageContract('azure', async () => {
    const storage = await openAzure(azurite, { prefix: 'some/where/', partBytes: 5 * 1024 * 1024 });
    return { ...storage, [Symbol.asyncDispose]: () => storage.close() };
  });

/** An account's shared access signature, as an operator gets it from the portal. */
function accountSas(permissions: string): string {
  const expiry = new Date(Date.now() + 600_000).toISOString().replace(/\.\d+/, '');
  const version = '2023-11-03';
  const text = [azurite.account, permissions, 'b', 'co', '', expiry, '', '', version, '', ''].join('\n');
  const sig = createHmac('sha256', Buffer.from(azurite.key, 'base64')).update(text).digest('base64');
  const query = { sv: version, ss: 'b', srt: 'co', sp: permissions, se: expiry, sig };
  return `?${new URLSearchParams(query).toString()}`;
}

describe('azure storage', { skip }, () => {
  it('works with a shared access signature, which cannot sign URLs', async () => {
    const credential = { sas: accountSas('rwdlac') };
    const storage = await openAzure(azurite, { prefix: 'sas/', credential });
    const bytes = randomBytes(3 * partBytes + 1);
    await storage.probe();
    await storage.staging.append('x', 0, chunksOf(bytes), { key: 'a/b' });
    await storage.staging.commit('x', 'a/b');
    assert.ok((await contentOf(storage, 'a/b'))?.equals(bytes));
    assert.deepEqual(
      (await storage.list()).objects.map(({ key }) => key),
      ['a/b'],
    );
    assert.equal(await storage.presign('GET', 'a/b', Date.now() + 60_000), null);
    await storage.close();
  });

  it('works where the account stands in the host name, as it does in the cloud', async () => {
    await using proxy = await startFaultyProxy(azurite.endpoint, `${azurite.account}.blob.localhost`);
    const storage = await openAzure(azurite, { prefix: 'an äccount/', endpoint: proxy.endpoint });
    const bytes = randomBytes(3 * partBytes + 1);
    await storage.staging.append('x', 0, chunksOf(bytes), { key: 'hosted' });
    await storage.staging.commit('x', 'hosted');
    assert.ok((await contentOf(storage, 'hosted'))?.equals(bytes));
    const { url } = (await storage.presign('GET', 'hosted', Date.now() + 60_000))!;
    assert.ok(Buffer.from(await (await fetch(url)).arrayBuffer()).equals(bytes));
    assert.ok(proxy.seen.every((seen) => seen.url.startsWith(`/${azurite.container}`)));
    await storage.close();
  });

  it('tells a credential that may only read from other failures', async () => {
    const sas = accountSas('rl');
    const storage = await openAzure(azurite, { credential: { sas } });
    const failure = await failureOf(storage.probe(), sas, new URLSearchParams(sas).get('sig')!);
    assert.equal(failure.code, 'storage_read_only');
    assert.match(failure.message, /needs to read, create, write, delete and list/);
  });

  it('says which credential is wrong, without telling it', async () => {
    const key = randomBytes(64).toString('base64');
    const storage = await openAzure(azurite, { credential: { key } });
    const works = [
      () => storage.stat('a'),
      () => storage.list(),
      () => storage.probe(),
      () => storage.remove('a'),
      () => storage.staging.commit('a', 'a'),
    ];
    for (const work of works) {
      const failure = await failureOf(work(), key, azurite.key);
      assert.equal(failure.code, 'storage_failed');
      assert.match(failure.message, /does not accept the credential for the account/);
    }
  });

  it('refuses a key that is not in base64 before it asks anybody', async () => {
    const failure = await failureOf(openAzure(azurite, { credential: { key: 'not a key!' } }), 'not a key!');
    assert.equal(failure.code, 'config_invalid');
  });

  it('names the container that is not there', async () => {
    const storage = await openAzure(azurite, { container: 'nowhere' });
    const works = [
      () => storage.stat('a'),
      () => storage.open('a'),
      () => storage.list(),
      () => storage.probe(),
      () => storage.remove('a'),
      () => storage.staging.commit('a', 'a'),
    ];
    for (const work of works)
      assert.match((await failureOf(work(), azurite.key)).message, /no container nowhere in the account/);
  });

  it('refuses keys and ids that could leave its prefix', async () => {
    const storage = await openAzure(azurite);
    for (const key of ['../x', 'a/../b', '/a', 'a//b', 'a/', 'A', 'a.b', 'a\0', ''])
      await assert.rejects(async () => storage.stat(key), { code: 'invalid_input' }, key);
    await assert.rejects(async () => storage.staging.size('../x'), { code: 'invalid_input' });
  });

  it('keeps to its prefix: what stands beside it is neither listed nor found', async () => {
    const [one, other] = [
      await openAzure(azurite, { prefix: 'one/' }),
      await openAzure(azurite, { prefix: '' }),
    ];
    await one.staging.append('mine', 0, chunksOf(Buffer.from('1')));
    await one.staging.commit('mine', 'k');
    assert.equal(await other.stat('k'), null);
    assert.deepEqual((await other.list()).objects, []);
    assert.deepEqual(await other.staging.list(), []);
  });

  it('a beginning afresh drops what was staged before, large or small', async () => {
    const storage = await openAzure(azurite);
    for (const [before, then] of [
      [5 * partBytes, 3 * partBytes + 5],
      [10, 3 * partBytes],
      [3 * partBytes, 10],
      [2 * partBytes, 0],
    ] as const) {
      const bytes = randomBytes(then);
      for (const options of [{}, { key: 'afresh' }]) {
        await storage.staging.append('again', 0, chunksOf(randomBytes(before)), options);
        assert.equal(await storage.staging.append('again', 0, chunksOf(bytes), options), then);
        assert.equal(await storage.staging.size('again'), then);
        await storage.staging.commit('again', 'afresh');
        assert.ok((await contentOf(storage, 'afresh'))?.equals(bytes));
        await storage.remove('afresh');
      }
    }
  });

  it('commits what was meant for one key to another, and leaves nothing at the first', async () => {
    const storage = await openAzure(azurite);
    const bytes = randomBytes(4 * partBytes + 3);
    await storage.staging.append('moved', 0, chunksOf(bytes.subarray(0, 100)), { key: 'meant' });
    await storage.staging.append('moved', 100, chunksOf(bytes.subarray(100)), { key: 'meant' });
    const made = await storage.staging.commit('moved', 'instead');
    assert.equal(made.size, bytes.length);
    assert.ok((await contentOf(storage, 'instead'))?.equals(bytes));
    assert.equal(await storage.stat('meant'), null);
    assert.equal(await storage.staging.size('moved'), 0);
  });

  it('of two uploads meant for one key, the second keeps its bytes when it is refused', async () => {
    const storage = await openAzure(azurite);
    const [first, second] = [randomBytes(3 * partBytes), randomBytes(4 * partBytes)];
    await storage.staging.append('first', 0, chunksOf(first), { key: 'both' });
    await storage.staging.append('second', 0, chunksOf(second), { key: 'both' });
    await storage.staging.commit('first', 'both');
    await assert.rejects(storage.staging.commit('second', 'both'), { code: 'already_exists' });
    assert.equal(await storage.staging.size('second'), second.length);
    await storage.remove('both');
    await storage.staging.commit('second', 'both');
    assert.ok((await contentOf(storage, 'both'))?.equals(second));
    await storage.remove('both');
  });

  it('an upload whose key somebody else takes is refused, and never becomes a part of itself', async () => {
    const storage = await openAzure(azurite);
    await storage.staging.append('slow', 0, chunksOf(randomBytes(3 * partBytes)), { key: 'taken' });
    await storage.staging.append('quick', 0, chunksOf(Buffer.from('quick')));
    await storage.staging.commit('quick', 'taken');
    await assert.rejects(storage.staging.commit('slow', 'taken'), { code: 'already_exists' });
    assert.equal((await contentOf(storage, 'taken'))?.toString(), 'quick');
    await storage.remove('taken');
    const failure = await failureOf(storage.staging.commit('slow', 'taken'));
    assert.match(failure.message, /dropped bytes of this upload/);
    assert.equal(await storage.stat('taken'), null);
    await storage.staging.discard('slow');
  });

  it('what is staged for a key where an object stands outlives the removal of that object', async () => {
    const storage = await openAzure(azurite);
    const bytes = randomBytes(3 * partBytes);
    await storage.staging.append('old', 0, chunksOf(Buffer.from('old')));
    await storage.staging.commit('old', 'reused');
    await storage.staging.append('new', 0, chunksOf(bytes), { key: 'reused' });
    await assert.rejects(storage.staging.commit('new', 'reused'), { code: 'already_exists' });
    await storage.remove('reused');
    await storage.staging.commit('new', 'reused');
    assert.ok((await contentOf(storage, 'reused'))?.equals(bytes));
  });

  it('discarding leaves nothing that lists, and the key free', async () => {
    const storage = await openAzure(azurite, { prefix: 'discarded/' });
    for (const options of [{}, { key: 'free' }])
      await storage.staging.append('gone', 0, chunksOf(randomBytes(3 * partBytes)), options);
    await storage.staging.discard('gone');
    assert.deepEqual(await storage.staging.list(), []);
    assert.deepEqual((await storage.list()).objects, []);
    await storage.staging.append('small', 0, chunksOf(Buffer.from('small')));
    await storage.staging.commit('small', 'free');
    assert.equal((await contentOf(storage, 'free'))?.toString(), 'small');
  });

  it('lists hundreds of objects in pages of any size, each once, also from a plain key', async () => {
    const storage = await openAzure(azurite, { prefix: 'many/' });
    const keys = Array.from({ length: 300 }, (_, at) => `k/${at.toString().padStart(4, '0')}`);
    for (let at = 0; at < keys.length; at += 20)
      await Promise.all(keys.slice(at, at + 20).map((key, n) => storage.staging.commit(`n${n}`, key)));
    for (const limit of [7, 100, 300]) {
      const found: string[] = [];
      for (let after: string | null = ''; after !== null;) {
        const page = await storage.list({ prefix: 'k/', after, limit });
        assert.ok(page.objects.length <= limit);
        found.push(...page.objects.map(({ key }) => key));
        after = page.next;
      }
      assert.deepEqual(found, keys);
    }
    const { objects } = await storage.list({ prefix: 'k/', after: 'k/0289', limit: 50 });
    assert.deepEqual(objects[0]?.key, 'k/0290');
  });

  it('a URL for sending makes an object once, and never replaces one', async () => {
    const storage = await openAzure(azurite);
    const { url, headers } = (await storage.presign('PUT', 'sent', Date.now() + 60_000))!;
    assert.equal((await fetch(url, { method: 'PUT', body: 'first', headers })).status, 201);
    assert.ok((await fetch(url, { method: 'PUT', body: 'second', headers })).status >= 400);
    assert.equal((await contentOf(storage, 'sent'))?.toString(), 'first');
  });

  it('more parts than the service takes are refused, with what came before kept', async () => {
    const { key, ...service } = azurite;
    const blobs = createBlobs({ ...service, prefix: '', credential: { key }, partBytes });
    const target = { name: 'parts', attempt: createAttempt('x'), run: 1, start: 0, count: maxBlocks - 3 };
    const parts = splitIntoParts(chunksOf(randomBytes(5 * partBytes)), { partBytes, hash: 'md5' });
    const { end, failure } = await writeBlocks(blobs, target, parts);
    assert.equal(end, 2 * partBytes);
    assert.ok(isWorkcrateError(failure?.error, 'too_large'));
    assert.equal((await blobs.blocks('parts')).length, 2);
    blobs.close();
  });
});
