import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { openDatabase } from '../../../src/ports/database/open.ts';
import { getDatabaseLocation } from '../../../src/core/store-options.ts';
import { run } from '../cli/program.testing.ts';
import { noSandbox } from '../../code.testing.ts';
import { databases, send, startTeam } from './team.testing.ts';

interface Row {
  readonly user: string;
  readonly files: number;
  readonly bytes: number;
  readonly active_links: number;
  readonly runs: number;
  readonly last_run_at: string | null;
  readonly workspace_bytes: number | null;
  readonly artifact_bytes: number | null;
  readonly keys: number;
  readonly folder: string | null;
}

for (const { kind, url, skip } of databases)
  describe(`usage by user on ${kind}`, { skip }, () => {
    it('tells files, links and keys of each user beside a running server, and of nobody else', async () => {
      await using team = await startTeam({ database: await url() });
      const [ada, bob] = [await team.join('ada'), await team.join('bob')];
      await team.key('idle');
      const file_id = await send(ada, 'a.txt', '12345');
      await send(ada, 'b.txt', '123');
      await ada.call('share_file', { file_id });
      const { data } = await ada.call('share_file', { file_id });
      await ada.call('revoke_link', { link_id: data.token });
      await send(bob, 'c.txt', '1');
      const { data: folder, database } = team.config;
      const env: Record<string, string> = database === null ? {} : { WORKCRATE_DATABASE: database };
      const told = await run(['usage', '--json', '--data', folder], { env });
      assert.equal(told.code, 0, told.stderr);
      const rows = JSON.parse(told.stdout) as Row[];
      assert.deepEqual(
        rows.map(({ user, files, bytes, runs, keys }) => ({ user, files, bytes, runs, keys })),
        [
          { user: 'ada', files: 2, bytes: 8, runs: 0, keys: 1 },
          { user: 'bob', files: 1, bytes: 1, runs: 0, keys: 1 },
          { user: 'idle', files: 0, bytes: 0, runs: 0, keys: 1 },
        ],
      );
      assert.ok(rows[0]!.active_links >= 1);
      const { stdout } = await run(['usage', '--data', folder], { env });
      assert.match(
        stdout,
        /^USER +FILES +BYTES +LINKS +RUNS +LAST RUN +WORKSPACE +ARTIFACTS +KEY USED +FOLDER$/m,
      );
      assert.match(stdout, /^ada +2 +8 bytes +\d+ +0 +never +0 bytes +0 bytes +(?:never|\d{4}-.*Z)$/m);
      assert.match(stdout, /^3 users, 9 bytes in 3 files, \d+ active links, 0 runs$/m);
    });

    it('status counts users who sign in, and not what `local` left', async () => {
      await using team = await startTeam({ database: await url() });
      const boss = await team.join('boss', ['operator']);
      await team.key('ada');
      const database = await openDatabase(getDatabaseLocation(team.config));
      await database.query("INSERT INTO places (owner, number, created_at) VALUES ('local', 1, 0)");
      await database.close();
      const { users } = (await (await boss.fetch('/status')).json()) as { users: number };
      assert.equal(users, 2);
    });
  });

it('usage tells runs, and what their folders hold', { skip: noSandbox }, async () => {
  await using team = await startTeam({ sandbox: 'bubblewrap', warmPython: 0, warmNode: 0, warmBash: 0 });
  const ada = await team.join('ada');
  const { failed, text } = await ada.call('execute_bash', {
    command: 'head -c 200000 /dev/zero > /artifacts/zeros; ln -s / /workspace/all',
  });
  assert.equal(failed, false, text);
  const { stdout } = await run(['usage', '--json', '--data', team.config.data]);
  const row = (JSON.parse(stdout) as Row[]).find(({ user }) => user === 'ada');
  assert.equal(row!.runs, 1);
  assert.match(row!.last_run_at!, /^\d{4}-/);
  assert.ok(row!.artifact_bytes! >= 200_000 && row!.artifact_bytes! < 1_000_000, stdout);
  assert.ok(row!.workspace_bytes! < 1_000_000, stdout);
  assert.ok(existsSync(join(row!.folder!, 'artifacts', 'zeros')), stdout);
});

it('usage of a folder without data says so', async () => {
  const { code, stderr } = await run(['usage', '--data', '/nonexistent/workcrate']);
  assert.equal(code, 1);
  assert.match(stderr, /There is no data in \/nonexistent\/workcrate yet/);
});
