import assert from 'node:assert/strict';
import { symlinkSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { WorkcrateError } from '../errors.ts';
import { createLogSync } from './sqlite-log.ts';

test('what cannot be synced is told to everybody who waits for it, and to the server', async (t) => {
  const file = await newFile(t);
  // The kernel cannot sync a device.
  symlinkSync('/dev/null', `${file}-wal`);
  const told: WorkcrateError[] = [];
  const log = createLogSync(file, (error) => told.push(error));
  const both = await Promise.allSettled([log.sync(), log.sync()]);
  for (const one of both) {
    assert.equal(one.status, 'rejected');
    assert.equal((one as PromiseRejectedResult).reason.code, 'database_failed');
  }
  assert.ok(told.length > 0);
  assert.match((told[0]!.cause as Error).message, /could not be synced/);
  await log.settled();
  assert.equal(log.settled(), null);
  await log.close();
});

test('a reader waits while somebody waits for a sync, and not otherwise', async (t) => {
  const file = await newFile(t);
  const log = createLogSync(file, assert.fail);
  // Nothing has been written yet.
  await log.sync();
  await log.settled();
  writeFileSync(`${file}-wal`, 'frames');
  assert.equal(log.settled(), null);
  const syncing = log.sync();
  assert.notEqual(log.settled(), null);
  await syncing;
  await log.settled();
  assert.equal(log.settled(), null);
  await log.close();
});

async function newFile(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'workcrate-log-'));
  t.after(() => rm(folder, { recursive: true }));
  return join(folder, 'test.sqlite');
}
