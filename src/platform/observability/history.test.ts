import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLog } from './log.ts';
import { createMetrics } from './metrics.ts';
import { plotSamples, startHistory } from './history.ts';

const minute = 60_000;
const toSample = (at: number, more: Partial<Parameters<typeof plotSamples>[0][number]> = {}) => ({
  at,
  succeeded: 0,
  failed: 0,
  bytesIn: 0,
  bytesOut: 0,
  errors: 0,
  refusedKeys: 0,
  busy: 0,
  memory: 0,
  diskUsed: 0,
  ...more,
});

test('counters become rates per minute, and gauges averages', () => {
  const samples = Array.from({ length: 241 }, (_, at) =>
    toSample(at * 15_000, { succeeded: at, memory: at % 2 === 0 ? 10 : 20 }),
  );
  const { from, to, values } = plotSamples(samples);
  assert.deepEqual([from, to], [0, 60 * minute]);
  const [first, ...rates] = values.succeeded;
  assert.ok(first !== null && rates.length > 50);
  for (const rate of rates) assert.ok(Math.abs(rate! - 4) < 1e-9, String(rate));
  for (const memory of values.memory) assert.ok(memory! >= 10 && memory! <= 20, String(memory));
});

test('a server that just started has a quarter of an hour, mostly without values', () => {
  const { from, to, values } = plotSamples([toSample(0), toSample(5000, { failed: 1 })]);
  assert.equal(to - from, 15 * minute);
  assert.deepEqual([values.failed[0], values.failed.at(-1)], [null, 12]);
});

test('what is not known of the disk is left out', () => {
  const { values } = plotSamples([toSample(0, { diskUsed: Number.NaN }), toSample(1, { diskUsed: 7 })]);
  assert.equal(values.diskUsed.at(-1), 7);
});

test('errors and refused keys of the last hour are told, and older ones are not', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval', 'Date'] });
  const metrics = createMetrics();
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
  };
  await using history = startHistory({
    metrics,
    measureDiskUsed: async () => null,
    clock: Date.now,
    log: createLog('error', () => {}),
  });
  await settle();
  metrics.errors.inc({ code: 'not_found' });
  metrics.auth.inc({ result: 'refused' });
  assert.deepEqual(await history.readTrouble(), { since: 0, refusedKeys: 1, errors: { not_found: 1 } });
  for (let sample = 0; sample < 260; sample++) {
    t.mock.timers.tick(15_000);
    await settle();
  }
  metrics.errors.inc({ code: 'unauthorized' });
  assert.deepEqual(await history.readTrouble(), {
    since: 5 * minute,
    refusedKeys: 0,
    errors: { unauthorized: 1 },
  });
});
