import assert from 'node:assert/strict';
import { test } from 'node:test';
import { archive, inMemory } from './unzip-archive.testing.ts';
import { readZipDirectory } from './unzip.ts';

test('others have their turn while a long directory is gone through', async () => {
  const names = Array.from({ length: 15_000 }, (_, at) => `${at}/${'ü'.repeat(300)}`);
  const bytes = inMemory(archive(names.map((name) => ({ name }))), 2 ** 30);
  let [others, isDone] = [0, false];
  const count = (): void => {
    others++;
    if (!isDone) setImmediate(count);
  };
  setImmediate(count);
  assert.equal((await readZipDirectory(bytes)).length, names.length);
  isDone = true;
  // Every read of the test lets them have one, and the count may run ahead by one more.
  assert.ok(others > bytes.asked.length + 1, `${others} of ${bytes.asked.length}`);
});
