import assert from 'node:assert/strict';
import { inspect } from 'node:util';
import type { TestAzurite } from '../azurite.testing.ts';
import type { RemoteLimits } from '../remote/remote.ts';
import type { Storage } from '../storage.ts';
import { azureStorage, type AzureOptions } from './azure.ts';

/** Parts are small, so that small objects have many. */
export const partBytes = 64 * 1024;

/** Tries soon and gives up soon. */
export const impatient: RemoteLimits = { tries: 4, firstPauseMs: 5, longestPauseMs: 20, totalMs: 20_000 };

export function openAzure(
  { endpoint, account, key, container }: TestAzurite,
  changes: Partial<AzureOptions> = {},
  limits: RemoteLimits = impatient,
): Promise<Storage> {
  const options = { endpoint, account, container, prefix: 'p/', credential: { key }, partBytes, ...changes };
  return azureStorage(options, limits);
}

export async function* chunksOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 10_000) yield bytes.subarray(at, at + 10_000);
}

/** All bytes of an object, or null where there is none. */
export async function contentOf(storage: Storage, key: string): Promise<Buffer | null> {
  await using object = await storage.open(key);
  if (object === null) return null;
  return Buffer.concat(await Array.fromAsync(object.read(0, object.size), (chunk) => Uint8Array.from(chunk)));
}

/** What the work fails with, after seeing that neither it nor any cause of it tells a secret. */
export async function failureOf(
  work: Promise<unknown>,
  ...secrets: string[]
): Promise<{ code: string; message: string }> {
  const error: unknown = await work.then(
    () => assert.fail('it should have failed'),
    (error: unknown) => error,
  );
  const told = inspect(error, { depth: 20, showHidden: true });
  for (const secret of secrets) assert.ok(!told.includes(secret), 'a secret is told');
  return error as { code: string; message: string };
}
