import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { loadConfig } from '../../server/settings.ts';
import type { Crates } from './crates.ts';
import { WorkcrateError } from '../../platform/errors.ts';
import { createLog } from '../../platform/observability/log.ts';
import { watchCrates } from './open.ts';

async function watching(t: TestContext, sync: Crates['sync']) {
  const data = await mkdtemp(join(tmpdir(), 'workcrate-watching-'));
  t.after(() => rm(data, { recursive: true, force: true }));
  await mkdir(join(data, 'crates', 'one'), { recursive: true });
  const { config } = loadConfig({ data }, {});
  const lines: string[] = [];
  const log = createLog('info', (line) => lines.push((JSON.parse(line) as { event: string }).event));
  return { watch: watchCrates({ sync }, { config, log }), lines };
}

test('where another process has the index at the start, it is looked at again a minute later, once', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
  let looks = 0;
  const { watch, lines } = await watching(t, async () => {
    looks++;
    throw new WorkcrateError('index_busy', 'It is being brought up to date already.');
  });
  const seen: number[] = [];
  for (const seconds of [0, 60, 5, 65, 65]) {
    t.mock.timers.tick(seconds * 1000);
    await turn();
    seen.push(looks);
  }
  assert.deepEqual([seen, lines], [[1, 1, 2, 2, 2], ['crates.sync_waits']]);
  await watch[Symbol.asyncDispose]();
});

test('a look that does not end does not hold up a stop', async (t) => {
  const asked: AbortSignal[] = [];
  const { watch, lines } = await watching(t, ({ signal }) => {
    asked.push(signal);
    return new Promise(() => {});
  });
  await watch[Symbol.asyncDispose]();
  assert.deepEqual([asked.map(({ aborted }) => aborted), lines], [[true], []]);
});
