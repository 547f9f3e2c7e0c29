import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, describe, it } from 'node:test';
import { chunksOf, contentOf, failureOf } from '../bytes.testing.ts';
import { NO_CEPH, startCeph } from '../ceph.testing.ts';
import type { Fault } from '../remote/faulty-proxy.testing.ts';
import { s3Storage, type S3Options } from './s3.ts';
import { behindProxy, hasty, MB, optionsFor, put } from './store.testing.ts';

const ceph = (await startCeph())!;
after(() => ceph?.[Symbol.asyncDispose]());

const passing: Record<string, Fault> = {
  'an internal error': { answer: 500 },
  'a bad gateway': { answer: 502, text: '<html>' },
  'a store that asks to slow down': {
    answer: 503,
    headers: { 'retry-after': '0' },
    text: '<Error><Code>SlowDown</Code></Error>',
  },
  'too many requests': { answer: 429 },
  'a timeout of the store': { answer: 400, text: '<Error><Code>RequestTimeout</Code></Error>' },
  'a connection that breaks': 'reset',
  'an answer that gets lost': 'lose answer',
  'an error after it said that all is well': {
    answer: 200,
    text: '<?xml version="1.0"?>\n<Error><Code>InternalError</Code></Error>',
  },
};

describe('S3 with faults', { skip: ceph ? false : NO_CEPH }, () => {
  for (const [name, fault] of Object.entries(passing))
    it(`gets over ${name}, at any request, and nothing is lost or done twice`, async (t) => {
      const { storage, proxy } = await behindProxy(t, ceph);
      const [small, large] = [randomBytes(1000), randomBytes(11 * MB)];
      const isLateError = typeof fault === 'object' && 'answer' in fault && fault.answer === 200;
      // Every second request; an error within a 200 is a thing of those whose answer is a text.
      proxy.fault = ({ method, url, at }) =>
        at % 2 === 0 && (!isLateError || (method === 'POST' && url.includes('uploadId'))) ? fault : null;
      await put(storage, 'small', small);
      await put(storage, 'large', large);
      assert.ok((await contentOf(storage, 'small'))!.equals(small));
      assert.ok((await contentOf(storage, 'large'))!.equals(large));
      await storage.remove('small');
      assert.deepEqual(
        (await storage.list()).objects.map(({ key, size }) => [key, size]),
        [['large', large.length]],
      );
      assert.deepEqual(await storage.staging.list(), []);
    });

  it('goes on with a body that breaks off, from the byte that it had reached', async (t) => {
    const { storage, proxy } = await behindProxy(t, ceph);
    const bytes = randomBytes(4 * MB);
    await put(storage, 'a', bytes);
    let cuts = 0;
    proxy.fault = ({ method, headers }) => {
      if (method !== 'GET' || headers.range === undefined || cuts === 4) return null;
      return cuts++ % 2 === 0 ? { cutAfter: 300_000 } : { shortenTo: 200_000 };
    };
    assert.ok((await contentOf(storage, 'a'))!.equals(bytes));
    assert.equal(cuts, 4);
  });

  it('gives up on a body that always breaks off, and never gives fewer bytes as if they were all', async (t) => {
    const { storage, proxy } = await behindProxy(t, ceph);
    await put(storage, 'a', randomBytes(MB));
    for (const fault of [{ cutAfter: 1000 }, { shortenTo: 1000 }, { shortenTo: 0 }]) {
      proxy.fault = ({ method }) => (method === 'GET' ? fault : null);
      await assert.rejects(contentOf(storage, 'a'), { code: 'storage_failed' });
    }
    assert.ok(proxy.seen.length < 60, `${proxy.seen.length} requests`);
  });

  it('never mixes the bytes of two objects, where one took the place of the other in the midst of a read', async (t) => {
    const { storage, proxy } = await behindProxy(t, ceph);
    const [first, second] = [randomBytes(2 * MB), randomBytes(2 * MB)];
    await put(storage, 'a', first);
    await using object = (await storage.open('a'))!;
    proxy.fault = ({ method }) => (method === 'GET' ? { cutAfter: 100_000 } : null);
    const reading = object.read(0, object.size)[Symbol.asyncIterator]();
    await reading.next();
    proxy.fault = () => null;
    await storage.remove('a');
    await put(storage, 'a', second);
    await assert.rejects(async () => {
      while (!(await reading.next()).done);
    }, /removed while it was read/);
  });

  it('waits no longer than its limit for a store that says nothing', async (t) => {
    const { storage, proxy } = await behindProxy(t, ceph, { idleMs: 1000, tries: 2 });
    proxy.fault = () => 'hang';
    await assert.rejects(storage.stat('a'), { code: 'storage_failed', message: /does not answer in time/ });
    assert.equal(proxy.seen.length, 2);
  });

  it('a reader that is told to stop stops at once, although the store says nothing', async (t) => {
    const { storage, proxy } = await behindProxy(t, ceph);
    await put(storage, 'a', randomBytes(MB));
    await using object = (await storage.open('a'))!;
    proxy.fault = () => 'hang';
    const stop = new AbortController();
    const reading = Array.fromAsync(object.read(0, MB, stop.signal));
    setImmediate(() => stop.abort(new Error('enough')));
    await assert.rejects(reading, /enough/);
  });

  it('keeps what was durable when the store goes down in the midst of an append, and goes on from there', async (t) => {
    const { storage, proxy } = await behindProxy(t, ceph, { tries: 2 });
    const bytes = randomBytes(23 * MB);
    await storage.staging.append('x', 0, chunksOf(bytes.subarray(0, 7 * MB)), { key: 'a' });
    proxy.fault = ({ url }) => (/partNumber=[3-9]/.test(url) ? { answer: 503 } : null);
    const rest = chunksOf(bytes.subarray(7 * MB));
    await assert.rejects(storage.staging.append('x', 7 * MB, rest, { key: 'a' }), { code: 'storage_failed' });
    proxy.fault = () => null;
    const size = await storage.staging.size('x');
    assert.equal(size, 10 * MB);
    await storage.staging.append('x', size, chunksOf(bytes.subarray(size)), { key: 'a' });
    await storage.staging.commit('x', 'a');
    assert.ok((await contentOf(storage, 'a'))!.equals(bytes));
  });

  it('says what to do about credentials, bucket and clock, and never a secret', async (t) => {
    const right = optionsFor(ceph);
    const wrong: [Partial<S3Options>, RegExp][] = [
      [{ secretAccessKey: 'not-the-secret-at-all' }, /AWS_SECRET_ACCESS_KEY/],
      [{ accessKeyId: 'nobody' }, /AWS_ACCESS_KEY_ID/],
      [{ bucket: 'there-is-none' }, /--s3-bucket/],
      [{ endpoint: 'http://127.0.0.1:1' }, /refuses connections.*address/],
      [{ endpoint: 'http://no-such-host.invalid' }, /address/],
    ];
    for (const [change, remedy] of wrong) {
      const options = { ...right, ...change };
      const storage = await s3Storage(options, { ...hasty, tries: 2 });
      await failsEverywhere(storage, options, remedy);
    }
    t.mock.timers.enable({ apis: ['Date'], now: Date.now() + 24 * 60 * 60 * 1000 });
    await failsEverywhere(await s3Storage(right, hasty), right, /clock/);
  });

  it('tells a key that may not write from other failures', async (t) => {
    const { storage, proxy } = await behindProxy(t, ceph);
    proxy.fault = ({ method }) =>
      method === 'PUT' ? { answer: 403, text: '<Error><Code>AccessDenied</Code></Error>' } : null;
    await assert.rejects(storage.probe(), { code: 'storage_read_only', message: /permission to get, put/ });
    proxy.fault = ({ method }) =>
      method === 'PUT' ? { answer: 403, text: '<Error><Code>QuotaExceeded</Code></Error>' } : null;
    await assert.rejects(storage.probe(), { code: 'storage_full' });
  });

  it('refuses a store that writes over objects although it is asked not to', async (t) => {
    const { storage, proxy } = await behindProxy(t, ceph);
    proxy.fault = ({ method }) => (method === 'PUT' ? { answer: 200 } : null);
    await assert.rejects(storage.probe(), { code: 'storage_failed', message: /If-None-Match/ });
  });
});

type Opened = Awaited<ReturnType<typeof s3Storage>>;

async function failsEverywhere(storage: Opened, options: S3Options, remedy: RegExp): Promise<void> {
  const works = [
    () => storage.stat('a'),
    () => storage.open('a'),
    () => storage.list(),
    () => storage.remove('a'),
    () => storage.probe(),
    () => storage.staging.size('a'),
    () => storage.staging.append('a', 0, chunksOf(Buffer.from('x'))),
    () => storage.staging.commit('a', 'a'),
    () => storage.staging.list(),
  ];
  const secrets = [options.secretAccessKey, ceph.secretAccessKey, 'Signature=', 'AWS4-HMAC'];
  for (const work of works) {
    const failure = await failureOf(work(), ...secrets);
    assert.equal(failure.code, 'storage_failed', String(work));
    assert.match(failure.message, remedy);
  }
  await storage.close();
}
