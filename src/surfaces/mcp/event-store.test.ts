import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { EventStore, JSONRPCMessage } from '@modelcontextprotocol/server';
import { createEventStores } from './sessions.ts';

const notice = (text: string): JSONRPCMessage => ({
  jsonrpc: '2.0',
  method: 'notifications/message',
  params: { text },
});

async function replayed(store: EventStore, after: string): Promise<unknown[]> {
  const came: unknown[] = [];
  await store.replayEventsAfter(after, { send: async (_id, message) => void came.push(message) });
  return came;
}

it('what is kept for all sessions together is bounded, and the oldest goes first, whosever it is', async () => {
  const stores = createEventStores(10_000);
  const [quiet, busy] = [stores.open(), stores.open()];
  const first = await quiet.storeEvent('a', notice('first'));
  await quiet.storeEvent('a', notice('second'));
  assert.deepEqual(await replayed(quiet, first), [notice('second')]);
  for (let count = 0; count < 50; count++) {
    await busy.storeEvent('b', notice('x'.repeat(1000)));
    assert.ok(stores.size() <= 10_000, `${stores.size()}`);
  }
  assert.deepEqual(await replayed(quiet, first), []);
});

it('a session that is over leaves nothing, and one alone keeps at most 1 MB', async () => {
  const stores = createEventStores();
  const sessions = Array.from({ length: 3 }, () => stores.open());
  for (const session of sessions)
    for (let count = 0; count < 30; count++) await session.storeEvent('a', notice('x'.repeat(100_000)));
  assert.ok(stores.size() <= 3 * 1024 * 1024);
  assert.ok(stores.size() > 2 * 1024 * 1024);
  for (const session of sessions) session[Symbol.dispose]();
  assert.equal(stores.size(), 0);
});

it('an answer is kept only where an event before it can be named', async () => {
  const events = createEventStores().open();
  const answer = { jsonrpc: '2.0', id: 1, result: {} } as const;
  assert.equal(await events.storeEvent('alone', answer), '');
  const first = await events.storeEvent('told', notice('first'));
  const last = await events.storeEvent('told', answer);
  assert.deepEqual(await replayed(events, first), [answer]);
  assert.deepEqual([first, last, ''].map(events.isAnswer), [false, true, false]);
});
