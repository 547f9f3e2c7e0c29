import assert from 'node:assert/strict';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { noSandbox } from '../../code.testing.ts';
import { send, startTeam, type Member, type Team } from './team.testing.ts';
import { recordProof } from '../../requirements/requirements.testing.ts';

describe('code of two users', { skip: noSandbox }, () => {
  let team: Team;
  let ada: Member;
  let bob: Member;
  before(async () => {
    team = await startTeam({ sandbox: 'bubblewrap', warmPython: 0, warmNode: 0, warmBash: 1 });
    [ada, bob] = [await team.join('ada'), await team.join('bob')];
  });
  after(() => team?.[Symbol.asyncDispose]());

  const bash = async (member: Member, command: string, more: Record<string, unknown> = {}) => {
    const reply = await member.call('execute_bash', { command, ...more });
    assert.equal(reply.failed, false, reply.text);
    return reply.data;
  };

  it('each has a /workspace and /artifacts of its own', async () => {
    await bash(
      ada,
      'echo hers > /artifacts/hers.txt; echo hers > /workspace/hers.txt; chmod -R 777 /artifacts /workspace',
    );
    const seen = await bash(
      bob,
      'ls /artifacts /workspace; find / -name "hers.txt" 2>/dev/null; echo looked',
    );
    assert.ok(seen.stdout.endsWith('looked\n') && !seen.stdout.includes('hers'), seen.stdout);
    assert.deepEqual((await bob.call('list_artifacts')).data.artifacts, []);
    assert.deepEqual((await ada.call('list_artifacts')).data.artifacts, ['hers.txt']);
    assert.equal((await bob.call('get_artifact', { name: 'hers.txt' })).code, 'not_found');
    recordProof('A10:no-byte-by-code', 'D15:no-host-home-or-other-users');
  });

  it('neither can have the other’s files put into a run, nor be told whether they are there', async () => {
    const id = await send(ada, 'given.txt', 'of ada');
    assert.equal((await bash(ada, 'cat given.txt', { files: [id] })).stdout, 'of ada');
    const answer = async (file: string): Promise<string> => {
      const { failed, text, code } = await bob.call('execute_bash', { command: 'ls', files: [file] });
      return JSON.stringify([failed, code, text.replaceAll(file, '<file>')]);
    };
    assert.equal(await answer(id), await answer(`file_${'0'.repeat(24)}`));
    assert.match(await answer(id), /not_found/);
  });

  it('neither finds the other’s runs, by tool or by route', async () => {
    const { execution_id } = await bash(ada, 'echo hers alone');
    assert.equal((await bob.call('get_execution', { execution_id })).code, 'not_found');
    assert.deepEqual((await bob.call('search_executions', { text: 'hers alone' })).data.executions, []);
    assert.equal((await bob.fetch(`/executions/${execution_id}`)).status, 404);
    assert.equal((await ada.fetch(`/executions/${execution_id}`)).status, 200);
  });

  it('neither waits for runs of the other that take all the places that one may have', async () => {
    const command = 'while [ ! -e /workspace/end ]; do sleep 0.1; done';
    // As many as there are places, so that the last of them waits.
    const waiting = Array.from({ length: team.config.maxRuns }, () => bash(ada, command, { timeout: 120 }));
    assert.equal((await bash(bob, 'echo not kept waiting')).stdout, 'not kept waiting\n');
    const places = join(team.config.data, 'places');
    for (const place of readdirSync(places)) writeFileSync(join(places, place, 'workspace', 'end'), '');
    for (const { exit_code } of await Promise.all(waiting)) assert.equal(exit_code, 0);
  });
});
