import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createPace } from './pace.ts';

/** Work without an end of its own. */
async function workOn(pace: ReturnType<typeof createPace>): Promise<never> {
  for (;;) await pace.breathe();
}

describe('pace of a search', () => {
  test('others have their turn while a search goes on, and it ends when it is cancelled', async () => {
    const stop = new AbortController();
    let turns = 0;
    const other = (): void => {
      turns++;
      if (turns < 3) setImmediate(other);
      else stop.abort();
    };
    setImmediate(other);
    await assert.rejects(workOn(createPace(stop.signal)), { name: 'AbortError' });
    assert.equal(turns, 3);
  });

  test('others have their turn between many short searches too', async () => {
    const turn = new AbortController();
    setImmediate(() => turn.abort());
    for (let count = 0; count < 5_000_000 && !turn.signal.aborted; count++) await createPace(null).breathe();
    assert.ok(turn.signal.aborted);
  });

  test('a search that takes too long ends and says what to do', async () => {
    await assert.rejects(workOn(createPace(null, { mostMs: 20 })), {
      code: 'invalid_input',
      message: /took longer than 0\.02 seconds\. Narrow it down/,
    });
  });

  test('only so many crates are looked into for one search', () => {
    const pace = createPace(null, { mostLookedInto: 5 });
    pace.lookInto(3);
    pace.lookInto(2);
    assert.throws(() => pace.lookInto(1), { code: 'invalid_input', message: /more than 5 crates/ });
  });
});
