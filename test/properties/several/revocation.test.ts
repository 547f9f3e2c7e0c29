import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { openBackend } from '../../../src/ports/database/open.ts';
import { eventually } from '../../../src/platform/eventually.testing.ts';
import { upload, type Program } from '../../behaviour/cli/program.testing.ts';
import { startTeam, type Team } from './team.testing.ts';

const made = await startTeam();
const skip = typeof made === 'string' && made;
const team = made as Team;
after(() => (skip === false ? team[Symbol.asyncDispose]() : undefined));

const at = (program: Program, url: string): string => program.url + new URL(url).pathname;

async function fetchStatus(program: Program, url: string): Promise<number> {
  const answer = await fetch(at(program, url));
  await answer.bytes();
  return answer.status;
}

async function countHits(program: Program): Promise<number> {
  const metrics = await (await fetch(`${program.url}/metrics`)).text();
  return Number(/workcrate_link_lookups_total\{result="hit"\} (\d+)/.exec(metrics)?.[1] ?? 0);
}

/** Fetches until the server answers from what it remembers. */
async function awaitRemembered(program: Program, url: string): Promise<void> {
  const before = await countHits(program);
  await eventually(async () => {
    assert.equal(await fetchStatus(program, url), 200);
    return (await countHits(program)) > before;
  });
}

async function share(program: Program) {
  const { file_id } = await upload(program, 'a.txt', Buffer.from('hello'));
  const { data } = await program.call('share_file', { file_id });
  return { file_id, url: data.downloadUrl as string };
}

const endListeners = `SELECT pg_terminate_backend(pid) AS ended FROM pg_stat_activity
  WHERE datname = current_database() AND query LIKE 'LISTEN %'`;

describe('links that several servers on one PostgreSQL remember', { skip }, () => {
  it('end for all of them when one revokes them or deletes the file', async () => {
    const [one, other] = [await team.start(), await team.start()];
    const [revoked, deleted] = [await share(one), await share(one)];
    for (const program of [one, other])
      for (const { url } of [revoked, deleted]) await awaitRemembered(program, url);
    assert.equal((await one.call('revoke_link', { token: revoked.url })).failed, false);
    assert.equal(await fetchStatus(one, revoked.url), 404, 'the one that revoked it knows at once');
    await eventually(async () => (await fetchStatus(other, revoked.url)) === 404, 1);
    assert.equal((await one.call('delete_file', { file_id: deleted.file_id })).failed, false);
    assert.equal(await fetchStatus(one, deleted.url), 410);
    await eventually(async () => (await fetchStatus(other, deleted.url)) === 410, 1);
    for (let again = 0; again < 20; again++)
      for (const program of [one, other]) assert.equal(await fetchStatus(program, revoked.url), 404);
    await Promise.all([one.end('SIGTERM'), other.end('SIGTERM')]);
  });

  it('are read from the database again where the listening connection was cut and a notice was missed', async () => {
    const program = await team.start();
    const { url } = await share(program);
    await awaitRemembered(program, url);
    const database = await openBackend(team.env['WORKCRATE_DATABASE']!);
    try {
      // Nobody is told of this one.
      await database.transaction(async (tx) => {
        await tx.query('ALTER TABLE links DISABLE TRIGGER links_changed');
        await tx.query('UPDATE links SET revoked_at = 1');
        await tx.query('ALTER TABLE links ENABLE TRIGGER links_changed');
      });
      assert.ok((await database.query(endListeners)).length > 0, 'somebody listened');
      await eventually(async () => (await fetchStatus(program, url)) === 404, 1);
      const kept = await share(program);
      await awaitRemembered(program, kept.url);
      assert.equal(await fetchStatus(program, url), 404, 'it listens again, and the link stays dead');
    } finally {
      await database.close();
    }
    await program.end('SIGTERM');
  });
});
