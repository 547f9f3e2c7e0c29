import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { eventually } from '../../../src/platform/eventually.testing.ts';
import { recordProof } from '../../requirements/requirements.testing.ts';
import { openDatabase } from '../../../src/ports/database/open.ts';
import { endRights } from '../../../src/core/links/end-rights.ts';
import { getDatabaseLocation } from '../../../src/core/store-options.ts';
import { endUserSessions } from '../../../src/core/runs/sessions/sessions.ts';
import { removeUser } from '../../../src/core/users/remove.ts';
import { noSandbox } from '../../code.testing.ts';
import { startTeam, type Member, type Team } from './team.testing.ts';

describe('sessions of two users', { skip: noSandbox }, () => {
  let team: Team;
  let ada: Member;
  let bob: Member;
  before(async () => {
    team = await startTeam({
      sandbox: 'bubblewrap',
      warmPython: 1,
      warmNode: 0,
      warmBash: 0,
      sessionIdle: 4,
    });
    [ada, bob] = [await team.join('ada'), await team.join('bob')];
  });
  after(() => team?.[Symbol.asyncDispose]());

  it('neither can use, see or end those of the other, nor be told whether they are there', async () => {
    const { data } = await ada.call('start_session', { language: 'python', name: 'hers' });
    await ada.call('send_to_session', { session_id: data.session_id, code: 'secret = 1' });
    const answer = async (
      tool: string,
      session_id: string,
      more: Record<string, unknown>,
    ): Promise<string> => {
      const { failed, text, code } = await bob.call(tool, { session_id, ...more });
      return JSON.stringify([failed, code, text]);
    };
    const calls: [string, Record<string, unknown>][] = [
      ['send_to_session', { code: 'print(secret)' }],
      ['execute_code', { language: 'python', code: 'print(secret)' }],
      ['close_session', {}],
      ...['interrupt', 'checkpoint', 'restore', 'fork', 'export', 'replay'].map(
        (action): [string, Record<string, unknown>] => ['manage_session', { action }],
      ),
    ];
    for (const [tool, more] of calls) {
      const asked = await answer(tool, data.session_id, more);
      assert.equal(asked, await answer(tool, 'sess_000000000000', more), tool);
      assert.match(asked, /^\[true,"not_found"/, tool);
    }
    assert.deepEqual((await bob.call('list_sessions')).data.sessions, []);
    const own = await bob.call('execute_code', {
      language: 'python',
      code: '"secret" in globals()',
      session_id: 'hers',
    });
    assert.match(own.text, /This is a new session\./);
    assert.equal((await ada.call('list_sessions')).data.sessions[0].cells, 1);
    recordProof('D11:sessions-of-others-are-unknown');
  });

  it('those of a user who is removed end', async () => {
    const { data } = await bob.call('start_session', { language: 'python' });
    const database = await openDatabase(getDatabaseLocation(team.config));
    await removeUser(database, 'bob', Date.now(), async (tx, owner, now) => {
      await endUserSessions(tx, owner, now);
      return endRights(tx, owner, now);
    });
    await database.close();
    const ended = `"id":"${data.session_id}","user":"bob","reason":"user_removed"`;
    await eventually(() => team.logged.some((line) => line.includes(ended)));
  });
});
