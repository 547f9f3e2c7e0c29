import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createFairQueue, toFairLimits, type FairQueue, type FairQueueOptions } from './fair-queue.ts';

/** The errors of the tests, with the figures in their message. */
const refusals: FairQueueOptions['refusals'] = {
  busy: (running, queued) => new Error(`busy: ${running} running, ${queued} queued`),
  cancelled: ({ reason }) => reason as unknown,
  closed: () => new Error('closed'),
};

const rotating = (options: Partial<FairQueueOptions>): FairQueue =>
  createFairQueue({
    most: 16,
    mostOfUser: 4,
    mostWaitingOfUser: 50,
    order: 'rotation',
    refusals,
    ...options,
  });

const noSignal = new AbortController().signal;

/** Work that ends when it is told to, and a note of the order in which it began. */
function newWork(queue: FairQueue) {
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const ask = (name: string, signal = noSignal): Promise<string> =>
    queue.run({ user: name[0]!, signal }, async () => {
      begun.push(name);
      await new Promise<void>((resolve) => ends.set(name, resolve));
      return name;
    });
  const end = async (name: string, asked: Promise<string>): Promise<void> => {
    ends.get(name)!();
    await asked;
    await new Promise(setImmediate);
  };
  return { begun, ask, end };
}

describe('a fair queue in rotation, with a limit for each user', () => {
  test('so many of one user are under way, and what another asks for later does not wait for the rest', async () => {
    const { begun, ask, end } = newWork(rotating({ most: 3, mostOfUser: 2 }));
    const asked = new Map(['a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'c1'].map((name) => [name, ask(name)]));
    assert.deepEqual(begun, ['a1', 'a2', 'b1']);
    for (const name of ['a1', 'b1', 'a2', 'c1', 'a3', 'b2', 'a4']) {
      assert.ok(begun.includes(name), `${name} has begun, of ${begun.join()}`);
      await end(name, asked.get(name)!);
    }
    assert.ok(begun.indexOf('c1') < begun.indexOf('a4') && begun.indexOf('b2') < begun.indexOf('a4'));
  });

  test('more than so many of one user do not wait, and others still may', async () => {
    const { begun, ask, end } = newWork(rotating({ most: 1, mostOfUser: 1, mostWaitingOfUser: 2 }));
    const asked = new Map(['a1', 'a2', 'a3'].map((name) => [name, ask(name)]));
    await assert.rejects(ask('a4'), /busy: 1 running, 2 queued/);
    asked.set('b1', ask('b1'));
    for (const name of ['a1', 'b1', 'a2', 'a3']) await end(name, asked.get(name)!);
    assert.deepEqual(begun, ['a1', 'b1', 'a2', 'a3']);
    await end('a5', ask('a5'));
  });

  test('who is cancelled while waiting waits no longer, and takes no place', async () => {
    const { begun, ask, end } = newWork(rotating({ most: 1, mostWaitingOfUser: 1 }));
    const stop = new AbortController();
    const first = ask('a1');
    const second = ask('a2', stop.signal);
    stop.abort();
    await assert.rejects(second, { name: 'AbortError' });
    await assert.rejects(ask('a3', stop.signal), { name: 'AbortError' });
    const fourth = ask('a4');
    await end('a1', first);
    await end('a4', fourth);
    assert.deepEqual(begun, ['a1', 'a4']);
  });

  test('work that fails gives its place back', async () => {
    const queue = rotating({ most: 1 });
    const failing = queue.run({ user: 'a', signal: noSignal }, async () => Promise.reject(new Error('no')));
    const next = queue.run({ user: 'b', signal: noSignal }, async () => 'done');
    await assert.rejects(failing, { message: 'no' });
    assert.equal(await next, 'done');
  });
});

test('with several users the last place is left to others, and there is always one', () => {
  assert.deepEqual(toFairLimits(4, true), { most: 4, mostOfUser: 3 });
  assert.deepEqual(toFairLimits(4, false), { most: 4, mostOfUser: 4 });
  assert.deepEqual(toFairLimits(1, true), { most: 1, mostOfUser: 1 });
});
