import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { connect, type Connected } from './clients.testing.ts';
import { questionOf, round, type Asked } from './rounds.testing.ts';
import { serve, type Served } from './servers.testing.ts';

const read = 'read_client_file';

/** The answer of a person to whatever is asked. */
const typed = ({ requests }: Asked, content: string) =>
  Object.fromEntries(Object.keys(requests).map((key) => [key, { action: 'accept', content: { content } }]));

/** By hand, since no client of good faith sends such things. */
const manual = { inputRequired: { autoFulfill: false } };

const join = async (served: Served, user: string): Promise<Connected> =>
  connect(served, {
    version: '2026-07-28',
    capabilities: { elicitation: { form: {} } },
    manners: {},
    bearer: await served.key(user),
    more: manual,
  });

describe('the state of a question that a client brings back', () => {
  let served: Served;
  let ada: Connected;
  let bob: Connected;
  before(async () => {
    served = await serve('HTTP', { auth: ['keys'] });
    [ada, bob] = [await join(served, 'ada'), await join(served, 'bob')];
  });
  after(async () => {
    await ada?.[Symbol.asyncDispose]();
    await bob?.[Symbol.asyncDispose]();
    await served?.[Symbol.asyncDispose]();
  });

  /** Nothing of a path is remembered: whoever asks for it is asked again. */
  async function assertForgotten({ client, call }: Connected, path: string): Promise<void> {
    await questionOf(client, read, { path, via: 'form' });
    assert.equal((await call('guide_cache_file', { forget: path })).data?.forgot, false);
  }

  /** E8: a state that was not given to who brings it is a violation. */
  const triedBy = (name: string, path: string) =>
    served.audited(
      ({ user, subject, level, details }) =>
        user === name && subject === path && level === 'warning' && details?.['kind'] === 'state',
    );

  it('is taken once: an answer that comes twice is refused the second time', async () => {
    const path = 'docs/twice.txt';
    const asked = await questionOf(ada.client, read, { path, via: 'form' });
    const back = { requestState: asked.state, inputResponses: typed(asked, 'once') };
    const { reply } = await round(ada.client, read, { path, refresh: true }, back);
    assert.equal(reply?.data?.text, 'once');
    const again = await round(
      ada.client,
      read,
      { path, refresh: true },
      { ...back, inputResponses: typed(asked, 'twice') },
    );
    assert.equal(again.reply?.code, 'invalid_input');
    const kept = await ada.call(read, { path });
    assert.equal(kept.data?.text, 'once');
    assert.equal((await ada.call('guide_cache_file', { forget: path })).data?.forgot, true);
  });

  it('of one path does not answer for another, nor a reading for a listing', async () => {
    const asked = await questionOf(ada.client, read, { path: 'docs/asked.txt', via: 'form' });
    const back = { requestState: asked.state, inputResponses: typed(asked, 'for the other') };
    const other = await round(ada.client, read, { path: 'docs/other.txt' }, back);
    assert.equal(other.reply?.code, 'invalid_input');
    const listed = await round(ada.client, 'list_client_directory', { path: 'docs/asked.txt' }, back);
    assert.equal(listed.reply?.code, 'invalid_input');
    await assertForgotten(ada, 'docs/asked.txt');
    await assertForgotten(ada, 'docs/other.txt');
  });

  it('of another user is refused, and neither has the file then', async () => {
    const path = 'docs/of-ada.txt';
    const asked = await questionOf(ada.client, read, { path, via: 'form' });
    const back = { requestState: asked.state, inputResponses: typed(asked, 'from bob') };
    await assert.rejects(round(bob.client, read, { path }, back), /requestState/);
    assert.equal((await triedBy('bob', path)).length, 1);
    await assertForgotten(ada, path);
    await assertForgotten(bob, path);
  });

  it('that was altered, cut, made up or left out is refused, or asked for anew', async () => {
    const path = 'docs/altered.txt';
    const asked = await questionOf(ada.client, read, { path, via: 'form' });
    const inputResponses = typed(asked, 'altered');
    const middle = asked.state.length >> 1;
    const other = asked.state[middle] === 'A' ? 'B' : 'A';
    for (const requestState of [
      asked.state.slice(0, middle) + other + asked.state.slice(middle + 1),
      asked.state.slice(0, -4),
      `${asked.state}AAAA`,
      'made up',
    ])
      await assert.rejects(
        round(ada.client, read, { path }, { requestState, inputResponses }),
        /requestState/,
      );
    const without = await round(ada.client, read, { path, via: 'form' }, { inputResponses });
    assert.ok(without.asked, 'an answer to nothing is no answer');
    await assertForgotten(ada, path);
    assert.equal((await triedBy('ada', path)).length, 4);
  });

  it('that comes back after the time for it is client_timeout, and nothing of it is kept', async () => {
    const path = 'docs/late.txt';
    await using hasty = await serve('HTTP', { auth: ['keys'], clientTimeout: 1 });
    await using late = await join(hasty, 'ada');
    const asked = await questionOf(late.client, read, { path, via: 'form' });
    await pause(1100);
    const back = { requestState: asked.state, inputResponses: typed(asked, 'late') };
    const { reply } = await round(late.client, read, { path }, back);
    assert.equal(reply?.code, 'client_timeout');
    await assertForgotten(late, path);
  });

  it('a client that never comes back leaves nothing, and the next call asks anew', async () => {
    const path = 'docs/never.txt';
    const first = await questionOf(ada.client, read, { path, via: 'form' });
    const second = await questionOf(ada.client, read, { path, via: 'form' });
    assert.notEqual(first.state, second.state);
    await assertForgotten(ada, path);
  });

  it('nothing of all this is in the cache of anybody', async () => {
    for (const { call } of [ada, bob])
      assert.equal((await call('guide_cache_file', {})).data?.cache.entries, 0);
  });
});
