import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AuditChain } from './chain.ts';
import { event, keptLog, noon } from './log.testing.ts';
import { createQueue } from './open.ts';

test('files of days that are over go only once the head names a line of the new day', async () => {
  const calls: string[] = [];
  let failure: Error | null = new Error('no room for the head');
  const chain: AuditChain = {
    append: (day) => void calls.push(`append ${day}`),
    async settle() {
      calls.push('settle');
      if (failure !== null) throw failure;
      return null;
    },
    isKnown: () => true,
    async sync() {},
    leave() {},
  };
  const queue = createQueue({ chain, log: keptLog().log, newDay: () => void calls.push('new day') });
  queue.add({ ...event(), time: noon });
  assert.equal(await queue.flush(), failure);
  assert.deepEqual(calls, ['append 2026-05-04', 'settle']);
  failure = null;
  await queue.flush();
  queue.add({ ...event(), time: noon });
  await queue.close();
  assert.deepEqual(calls.slice(2), ['settle', 'new day', 'append 2026-05-04', 'settle']);
});

test('lines that no answer waits for are written together, and before a line that one waits for', () => {
  const written: (string | null)[][] = [];
  const chain: AuditChain = {
    append: (_day, entries) => void written.push(entries.map(({ subject }) => subject)),
    settle: async () => null,
    isKnown: () => true,
    async sync() {},
    leave() {},
  };
  const queue = createQueue({ chain, log: keptLog().log, newDay() {} });
  const line = (subject: string) => ({ ...event({ subject }), time: noon });
  queue.addSoon(line('first'));
  queue.addSoon(line('second'));
  assert.deepEqual(written, []);
  queue.add(line('third'));
  assert.deepEqual(written, [['first', 'second', 'third']]);
});
