import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, describe, it } from 'node:test';
import { freePort } from '../../../platform/free-port.testing.ts';
import { recordProof } from '../../../../test/requirements/requirements.testing.ts';
import { collectBytes } from '../../../platform/streams.ts';
import { chunksOf, failureOf } from '../bytes.testing.ts';
import { NO_CEPH, startCeph } from '../ceph.testing.ts';
import { startFaultyProxy } from '../remote/faulty-proxy.testing.ts';
import type { RemoteLimits } from '../remote/remote.ts';
import { sourceContract, type TestSource } from '../source.contract.ts';
import { checkNoRefusal, listS3Names, openBucket, removeS3Object } from './client.ts';
import type { S3Options } from './s3.ts';
import { s3Source } from './source.ts';
import { hasty, MB, optionsFor } from './store.testing.ts';

const ceph = (await startCeph())!;
after(() => ceph?.[Symbol.asyncDispose]());

const impatient: RemoteLimits = { ...hasty, tries: 2, connectMs: 5000 };

async function testSource(changes: Partial<S3Options> = {}): Promise<TestSource> {
  const options = { ...optionsFor(ceph), ...changes };
  const bucket = openBucket(options);
  const source = await s3Source(options);
  return {
    source,
    many: 6 * MB,
    takesControls: true,
    write: async (name, body) =>
      void checkNoRefusal(bucket, await bucket.ask({ method: 'PUT', name: options.prefix + name, body })),
    remove: (name) => removeS3Object(bucket, options.prefix + name),
    async [Symbol.asyncDispose]() {
      await source.close();
      bucket.close();
    },
  };
}

describe('S3 sources', { skip: ceph ? false : NO_CEPH }, () => {
  sourceContract('S3 on Ceph', () => testSource());

  it('stands below its prefix, whatever is in that', async () => {
    await using above = await testSource();
    const { prefix } = optionsFor(ceph);
    const odd = `${prefix}ä b+c/100%/`;
    await using test = await testSource({ prefix: odd });
    await test.write('x.zip', Buffer.from('x'));
    await above.write('y.zip', Buffer.from('y'));
    assert.equal(test.source.url, `s3://${ceph.bucket}/${odd}`);
    assert.deepEqual(
      (await test.source.list()).objects.map(({ name }) => name),
      ['x.zip'],
    );
    recordProof('B1:s3-source');
  });

  it('markers of folders are no objects, and names that could lead elsewhere are counted', async () => {
    await using test = await testSource();
    for (const name of ['folder/', 'a//b.zip', 'good.zip']) await test.write(name, Buffer.from('x'));
    const { objects, passedOver } = await test.source.list();
    assert.deepEqual([objects.map(({ name }) => name), passedOver], [['good.zip'], 1]);
  });

  it('answers that get lost and bodies that break off do no harm, and nothing is left beside the object', async () => {
    await using proxy = await startFaultyProxy(ceph.endpoint);
    const options = { ...optionsFor(ceph), endpoint: proxy.endpoint };
    const source = await s3Source(options, hasty);
    for (const size of [100_000, 6 * MB]) {
      const [name, bytes, lost] = [`${size}.zip`, randomBytes(size), new Set<string>()];
      // Once for each that changes something.
      proxy.fault = ({ method, url }) =>
        method === 'GET' || lost.has(`${method} ${url}`)
          ? null
          : (lost.add(`${method} ${url}`), method === 'HEAD' ? null : 'lose answer');
      assert.equal((await source.put(name, size, chunksOf(bytes))).size, size);
      let cuts = 0;
      proxy.fault = ({ method }) => (method === 'GET' && cuts++ < 2 ? { cutAfter: 5000 } : null);
      await using open = (await source.open(name))!;
      assert.ok((await collectBytes(open.read(0, size))).equals(bytes));
    }
    const bucket = openBucket(options);
    const { found } = await listS3Names(bucket, options.prefix, '', 1000);
    assert.deepEqual(
      found.map(({ name }) => name.slice(options.prefix.length)),
      ['100000.zip', `${6 * MB}.zip`],
    );
    bucket.close();
    await source.close();
  });

  it('wrong credentials, no bucket and nobody there are told apart, and no secret is told', async () => {
    const options = optionsFor(ceph);
    const port = await freePort();
    const cases: [Partial<S3Options>, RegExp][] = [
      [{ secretAccessKey: 'this-is-the-wrong-secret' }, /does not accept the access key/],
      [{ accessKeyId: 'nobody' }, /does not accept the access key/],
      [{ bucket: 'no-such-bucket' }, /There is no bucket no-such-bucket/],
      [{ endpoint: `http://127.0.0.1:${port}` }, /refuses connections/],
    ];
    for (const [changes, reason] of cases) {
      const source = await s3Source({ ...options, ...changes }, impatient);
      const works = [
        () => source.list(),
        () => source.stat('x'),
        () => source.open('x'),
        () =>
          source.put(
            'x',
            1,
            (async function* () {
              yield new Uint8Array(1);
            })(),
          ),
      ];
      for (const work of works) {
        const failure = await failureOf(work(), options.secretAccessKey, 'this-is-the-wrong-secret');
        assert.equal(failure.code, 'source_unreachable');
        assert.match(failure.message, reason);
        assert.match(failure.message, /^The source s3:/);
      }
      await source.close();
    }
  });
});
