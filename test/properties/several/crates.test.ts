import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { loadConfig } from '../../../src/server/settings.ts';
import { recordProof } from '../../requirements/requirements.testing.ts';
import { run, serve, temporaryFolder, upload } from '../../behaviour/cli/program.testing.ts';
import {
  send,
  startTeam as startServer,
  type Member,
  type Team as Server,
} from '../../behaviour/users/team.testing.ts';
import { startTeam, type Team } from './team.testing.ts';

const made = await startTeam();
const skip = typeof made === 'string' && made;
const team = made as Team;
after(() => (skip === false ? team[Symbol.asyncDispose]() : undefined));

/** One more server of the team that asks for keys, with a data folder of its own. */
function startOne(): Promise<Server> {
  const { data, port, ...documented } = loadConfig({ data: '/nowhere', port: '0' }, team.env).config;
  assert.ok(data !== '' && port === 0);
  return startServer({ ...documented, auth: ['keys'], sandbox: 'off', pythonPreload: [], guessLimit: 1e6 });
}

async function pack(member: Member, title: string, shared: boolean): Promise<Record<string, string>> {
  const file = await send(member, 'table.csv', title);
  const reply = await member.call('pack_crate', { file_ids: [file], title, shared });
  assert.equal(reply.failed, false, reply.text);
  return reply.data;
}

async function find(member: Member): Promise<string[]> {
  const { data } = await member.call('search_index', { query: 'melt', mode: 'keyword' });
  return data.results.map(({ crate_id }: { crate_id: string }) => crate_id).toSorted();
}

async function fetchHash(url: string): Promise<string> {
  const answer = await fetch(url);
  assert.equal(answer.status, 200);
  return createHash('sha256')
    .update(await answer.bytes())
    .digest('hex');
}

describe('crates that are packed by one of several servers', { skip }, () => {
  it('are found by the others, fetched by any link, and there after a restart, with the settings that servers share', async () => {
    await using one = await startOne();
    const ada = await one.join('ada1');
    const { name, bearer } = ada;
    const mine = await pack(ada, 'Melt rates of ada', false);
    const everybodys = await pack(ada, 'Melt rates for all', true);
    const both = [mine['crate_id']!, everybodys['crate_id']!].toSorted();
    const hashes = { [mine['crate_id']!]: mine['sha256'], [everybodys['crate_id']!]: everybodys['sha256'] };

    await using other = await startOne();
    const [there, bob] = [await other.connect(name, bearer), await other.join('bob1')];
    for (const synced of [false, true]) {
      if (synced) await there.call('sync_index');
      assert.deepEqual(await find(there), both);
      assert.deepEqual(await find(bob), [everybodys['crate_id']]);
    }
    for (const crate_id of both) {
      const { data } = await there.call('download_crate', { crate_id });
      assert.equal(await fetchHash(data.downloadUrl), hashes[crate_id]);
    }
    // Through a proxy, a link of the one comes to the other.
    assert.equal(await fetchHash(other.url + new URL(mine['downloadUrl']!).pathname), mine['sha256']);
    assert.equal((await bob.call('get_crate', { crate_id: mine['crate_id'] })).code, 'not_found');

    await one[Symbol.asyncDispose]();
    await using later = await startOne();
    const again = await later.connect(name, bearer);
    assert.deepEqual(await find(again), both);
    const { data } = await again.call('download_crate', { crate_id: both[0]! });
    assert.equal(await fetchHash(data.downloadUrl), hashes[both[0]!]);
    recordProof('B12:found-on-every-server');
  });

  it('stay findable by the server that has them in its folder, which tells at its start how to move them', async () => {
    await using folder = await temporaryFolder();
    const [data, own] = [['--data', folder.path], join(folder.path, 'crates')];
    const before = await serve([...data, '--pack-to', own], { env: team.env });
    const { file_id } = await upload(before, 'table.csv', Buffer.from('of old'));
    const packed = await before.call('pack_crate', { file_ids: [file_id], title: 'Moraines of old' });
    assert.equal(packed.failed, false, packed.text);
    await before.end('SIGTERM');
    assert.doesNotMatch(before.output.stderr, /packed_on_this_server/);

    await using program = await serve(data, { env: team.env });
    assert.match(program.output.stderr, /crates\.packed_on_this_server.*packed earlier.*\/crates\//);
    const found = await program.call('search_index', { query: 'moraines', mode: 'keyword' });
    assert.deepEqual(
      found.data.results.map(({ crate_id }: { crate_id: string }) => crate_id),
      [packed.data.crate_id],
    );
    const link = await program.call('download_crate', { crate_id: packed.data.crate_id });
    assert.equal(await fetchHash(link.data.downloadUrl), packed.data.sha256);
  });

  it('are told to stay on one server where the database is shared and nothing else is', async () => {
    await using folder = await temporaryFolder();
    const env = { WORKCRATE_DATABASE: team.env['WORKCRATE_DATABASE']! };
    const { stdout } = await run(['doctor', '--data', folder.path, '--port', '0'], { env });
    assert.match(stdout, /note {3}packed crates stay on this server.*\n.*--pack-to/);
    const shared = await run(['doctor', '--data', folder.path, '--port', '0'], { env: team.env });
    assert.doesNotMatch(shared.stdout, /stay on this server/);
    assert.match(shared.stdout, /ok {5}crate source (?:s3|azure):.*\/crates\/ answers/);
  });
});
