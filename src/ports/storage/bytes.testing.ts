import assert from 'node:assert/strict';
import { inspect } from 'node:util';
import { WorkcrateError } from '../../platform/errors.ts';
import { collectBytes } from '../../platform/streams.ts';
import type { Storage } from './storage.ts';

export async function* chunksOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 10_000) yield bytes.subarray(at, at + 10_000);
}

/** All bytes of an object, or null where there is none. */
export async function contentOf(storage: Storage, key: string): Promise<Buffer | null> {
  await using object = await storage.open(key);
  return object && (await collectBytes(object.read(0, object.size)));
}

/** What the work fails with, after seeing that neither it nor any cause of it tells a secret. */
export async function failureOf(work: Promise<unknown>, ...secrets: string[]): Promise<WorkcrateError> {
  const error: unknown = await work.then(
    () => assert.fail('it should have failed'),
    (error: unknown) => error,
  );
  const told = inspect(error, { depth: 20, showHidden: true });
  for (const secret of secrets) assert.ok(!told.includes(secret), 'a secret is told');
  assert.ok(error instanceof WorkcrateError, told);
  return error;
}
