import { randomUUID } from 'node:crypto';
import type { TestContext } from 'node:test';
import { chunksOf } from '../bytes.testing.ts';
import type { TestS3 } from '../ceph.testing.ts';
import { startFaultyProxy, type FaultyProxy } from '../remote/faulty-proxy.testing.ts';
import type { RemoteLimits } from '../remote/remote.ts';
import type { Storage } from '../storage.ts';
import { s3Storage, type S3Options } from './s3.ts';

export const MB = 1024 * 1024;

/** A place of its own in the test's bucket. */
export const optionsFor = (ceph: TestS3): S3Options => ({
  bucket: ceph.bucket,
  prefix: `${randomUUID()}/`,
  endpoint: ceph.endpoint,
  region: ceph.region,
  pathStyle: true,
  accessKeyId: ceph.accessKeyId,
  secretAccessKey: ceph.secretAccessKey,
  sessionToken: null,
  partBytes: 5 * MB,
});

/** Tries as often as ever, but does not wait for long between. */
export const hasty: RemoteLimits = { firstPauseMs: 5, longestPauseMs: 20 };

/** A storage behind a proxy that can be told to fail. */
export async function behindProxy(
  t: TestContext,
  ceph: TestS3,
  limits: RemoteLimits = {},
): Promise<{ storage: Storage; proxy: FaultyProxy; options: S3Options }> {
  const proxy = await startFaultyProxy(ceph.endpoint);
  const options = { ...optionsFor(ceph), endpoint: proxy.endpoint };
  const storage = await s3Storage(options, { ...hasty, ...limits });
  t.after(async () => {
    await storage.close();
    await proxy[Symbol.asyncDispose]();
  });
  return { storage, proxy, options };
}

export async function put(storage: Storage, key: string, bytes: Uint8Array): Promise<void> {
  await storage.staging.append('put', 0, chunksOf(bytes), { key });
  await storage.staging.commit('put', key);
}
