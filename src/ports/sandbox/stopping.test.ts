import assert from 'node:assert/strict';
import { test } from 'node:test';
import { recordProof } from '../../../test/requirements/requirements.testing.ts';
import { createStopper, type StopperOptions } from './sandbox.ts';

const never = 2 ** 30;

function watched(options: Partial<StopperOptions>) {
  const calls: string[] = [];
  const stop = createStopper({
    timeoutMs: never,
    graceMs: never,
    signal: new AbortController().signal,
    term: () => void calls.push('term'),
    kill: () => void calls.push('kill'),
    ...options,
  });
  return { stop, calls };
}

test('out of time there is SIGTERM, then the grace, then SIGKILL', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { stop, calls } = watched({ timeoutMs: 20, graceMs: 100 });
  for (const [ms, done] of [
    [19, []],
    [1, ['term']],
    [99, ['term']],
    [1, ['term', 'kill']],
  ] as const) {
    t.mock.timers.tick(ms);
    assert.deepEqual(calls, done);
  }
  assert.equal(stop.reason, 'timeout');
  recordProof('D4:sigterm-grace-sigkill');
});

test('the grace begins when SIGTERM has been sent, which may take a while', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const sent = Promise.withResolvers<void>();
  const calls: string[] = [];
  const term = (): Promise<void> => {
    calls.push('term');
    return sent.promise;
  };
  watched({ timeoutMs: 10, graceMs: 100, term, kill: () => void calls.push('kill') });
  t.mock.timers.tick(10);
  t.mock.timers.tick(1000);
  assert.deepEqual(calls, ['term'], 'it is still on its way');
  sent.resolve();
  await sent.promise.finally(() => {});
  await Promise.resolve();
  t.mock.timers.tick(99);
  assert.deepEqual(calls, ['term']);
  t.mock.timers.tick(1);
  assert.deepEqual(calls, ['term', 'kill']);
});

test('where SIGTERM cannot be sent, SIGKILL comes all the same', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { calls } = watched({ timeoutMs: 10, graceMs: 100, term: () => new Promise<void>(() => {}) });
  t.mock.timers.tick(10);
  t.mock.timers.tick(5100);
  assert.deepEqual(calls, ['kill']);
});

test('a run that ends in its grace is not killed', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { stop, calls } = watched({ timeoutMs: 10, graceMs: 30 });
  t.mock.timers.tick(15);
  stop[Symbol.dispose]();
  t.mock.timers.tick(40);
  assert.deepEqual([calls, stop.reason], [['term'], 'timeout']);
});

test('a run that has ended is left alone', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const cancel = new AbortController();
  const { stop, calls } = watched({ timeoutMs: 5, signal: cancel.signal });
  stop[Symbol.dispose]();
  cancel.abort();
  stop.stop('disk');
  stop.killNow('disk');
  t.mock.timers.tick(15);
  assert.deepEqual([calls, stop.reason], [[], null]);
});

test('the first reason stays, and SIGTERM is sent once', () => {
  const cancel = new AbortController();
  const { stop, calls } = watched({ signal: cancel.signal });
  cancel.abort();
  stop.stop('timeout');
  stop.killNow('disk');
  stop.killNow('disk');
  assert.deepEqual([calls, stop.reason], [['term', 'kill'], 'cancelled']);
});

test('a signal that came before counts', () => {
  const { stop, calls } = watched({ signal: AbortSignal.abort() });
  assert.deepEqual([calls, stop.reason], [['term'], 'cancelled']);
  stop[Symbol.dispose]();
});
