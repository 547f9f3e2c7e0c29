import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { stopping, type StoppingOptions } from './stopping.ts';

const never = 2 ** 30;

function watched(options: Partial<StoppingOptions>) {
  const calls: string[] = [];
  const { promise: killed, resolve } = Promise.withResolvers<void>();
  const stop = stopping({
    timeoutMs: never,
    graceMs: never,
    signal: new AbortController().signal,
    term: () => void calls.push('term'),
    kill: () => {
      calls.push('kill');
      resolve();
    },
    ...options,
  });
  return { stop, calls, killed };
}

test('D4: out of time there is SIGTERM, then the grace, then SIGKILL', async () => {
  const began = performance.now();
  const { stop, calls, killed } = watched({ timeoutMs: 20, graceMs: 100 });
  await killed;
  assert.deepEqual([calls, stop.reason], [['term', 'kill'], 'timeout']);
  assert.ok(performance.now() - began >= 115, 'the grace was not given');
});

test('a run that ends in its grace is not killed', async () => {
  const { stop, calls } = watched({ timeoutMs: 1, graceMs: 30 });
  await sleep(15);
  stop[Symbol.dispose]();
  await sleep(40);
  assert.deepEqual([calls, stop.reason], [['term'], 'timeout']);
});

test('a run that has ended is left alone', async () => {
  const cancel = new AbortController();
  const { stop, calls } = watched({ timeoutMs: 5, signal: cancel.signal });
  stop[Symbol.dispose]();
  cancel.abort();
  stop.stop('disk');
  stop.killNow('disk');
  await sleep(15);
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
