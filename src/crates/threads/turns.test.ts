import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createTurns, type Turns } from './turns.ts';

const noSignal = new AbortController().signal;

/** Work that ends when it is told to, and a note of the order in which it began. */
function newWork(turns: Turns) {
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const ask = (name: string, signal = noSignal): Promise<string> =>
    turns(name[0]!, signal, async () => {
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

describe('turns of viewers', () => {
  test('so many of one viewer are under way, and what another asks for later does not wait for the rest', async () => {
    const { begun, ask, end } = newWork(createTurns({ most: 3, mostOfViewer: 2 }));
    const asked = new Map(['a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'c1'].map((name) => [name, ask(name)]));
    assert.deepEqual(begun, ['a1', 'a2', 'b1']);
    for (const name of ['a1', 'b1', 'a2', 'c1', 'a3', 'b2', 'a4']) {
      assert.ok(begun.includes(name), `${name} has begun, of ${begun.join()}`);
      await end(name, asked.get(name)!);
    }
    assert.ok(begun.indexOf('c1') < begun.indexOf('a4') && begun.indexOf('b2') < begun.indexOf('a4'));
  });

  test('more than so many of one viewer do not wait, and others still may', async () => {
    const { begun, ask, end } = newWork(createTurns({ most: 1, mostOfViewer: 1, mostWaiting: 2 }));
    const asked = new Map(['a1', 'a2', 'a3'].map((name) => [name, ask(name)]));
    const details = { running: 1, queued: 2 };
    await assert.rejects(ask('a4'), { code: 'too_many_requests', details });
    asked.set('b1', ask('b1'));
    for (const name of ['a1', 'b1', 'a2', 'a3']) await end(name, asked.get(name)!);
    assert.deepEqual(begun, ['a1', 'b1', 'a2', 'a3']);
    await end('a5', ask('a5'));
  });

  test('who is cancelled while waiting waits no longer, and takes no place', async () => {
    const { begun, ask, end } = newWork(createTurns({ most: 1, mostWaiting: 1 }));
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
    const turns = createTurns({ most: 1 });
    const failing = turns('a', noSignal, async () => Promise.reject(new Error('no')));
    const next = turns('b', noSignal, async () => 'done');
    await assert.rejects(failing, { message: 'no' });
    assert.equal(await next, 'done');
  });
});
