import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { Dirent } from 'node:fs';
import { rm } from 'node:fs/promises';
import { request, type ClientRequest, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { ServerConfig as Config } from '../../../src/server/settings.ts';
import { othersNoticedMs } from '../../../src/ports/database/database.ts';
import { openDatabase } from '../../../src/ports/database/open.ts';
import { eventually } from '../../../src/platform/eventually.testing.ts';
import { recordProof } from '../../requirements/requirements.testing.ts';
import { getDatabaseLocation } from '../../../src/core/store-options.ts';
import { run } from '../cli/program.testing.ts';
import { noSandbox } from '../../code.testing.ts';
import { entriesBelow } from '../../secrets.testing.ts';
import { authorization, databases, send, startTeam, type Team } from './team.testing.ts';

for (const { kind, url, skip } of databases)
  describe(`workcrate user beside a running server, on ${kind}`, { skip }, () => {
    async function start(
      more: Partial<Config> = {},
    ): Promise<Team & { cli(...words: string[]): Promise<string> }> {
      const team = await startTeam({ database: await url(), sweepInterval: 1, ...more });
      const { data, database } = team.config;
      const env: Record<string, string> = database === null ? {} : { WORKCRATE_DATABASE: database };
      const cli = async (...words: string[]): Promise<string> => {
        const { code, stdout, stderr } = await run(['user', ...words, '--data', data], { env });
        assert.equal(code, 0, stderr);
        return stdout;
      };
      return { ...team, cli };
    }
    const keyIn = (output: string): string => /^wck_\S{43}$/m.exec(output)![0];

    it('a user is added, listed, rotated and removed, and each counts at once', async () => {
      await using team = await start();
      const get = async (key: string): Promise<number> =>
        (await fetch(`${team.url}/executions`, { headers: authorization(key) })).status;
      const first = keyIn(await team.cli('add', 'ada', '--scopes', 'code,files', '--expires', '90d'));
      assert.equal(await get(first), 200);
      const wasUsed = async () => JSON.parse(await team.cli('list', '--json'))[0].last_used_at !== null;
      // Each look starts a program.
      await eventually(wasUsed, 500);
      const [listed] = JSON.parse(await team.cli('list', '--json'));
      assert.deepEqual([listed.user, listed.scopes], ['ada', ['code', 'files']]);
      const days = (Date.parse(listed.expires_at) - Date.parse(listed.created_at)) / 86_400_000;
      assert.equal(days, 90);
      assert.match(await team.cli('list'), /^USER +KEY +SCOPES .*\nada +key_\w+ +code,files /);
      const second = keyIn(await team.cli('rotate', 'ada'));
      assert.deepEqual([await get(first), await get(second)], [401, 200]);
      const [rotated] = JSON.parse(await team.cli('list', '--json'));
      assert.deepEqual(rotated.scopes, ['code', 'files']);
      assert.ok(
        Math.abs(Date.parse(rotated.expires_at) - Date.parse(rotated.created_at) - 90 * 86_400_000) < 1000,
      );
      assert.match(await team.cli('remove', 'ada'), /1 key, 0 links, 0 uploads/);
      assert.equal(await get(second), 401);
    });

    it('removing a user ends links and rights to send at once, and leaves the files', async (t) => {
      await using team = await start();
      if (!(await tellsOfOthers(team)))
        return t.skip('the database does not tell of writes by other processes');
      const [ada, bob] = [await team.join('ada'), await team.join('bob')];
      const id = await send(ada, 'a.txt', 'of ada');
      const { downloadUrl } = (await ada.call('share_file', { file_id: id })).data;
      const bobs = (await bob.call('share_file', { file_id: await send(bob, 'b.txt', 'of bob') })).data
        .downloadUrl;
      const { uploadUrl } = (await ada.call('request_upload', { filename: 'later' })).data;
      // Twice, so that the server has looked it up and may remember it.
      for (let round = 0; round < 2; round++) assert.equal((await fetch(downloadUrl)).status, 200);
      assert.match(await team.cli('remove', 'ada'), /1 key, 1 link, 1 upload/);
      assert.equal((await fetch(downloadUrl)).status, 404);
      assert.equal((await fetch(uploadUrl, { method: 'PUT', body: 'late' })).status, 404);
      assert.equal((await fetch(uploadUrl)).status, 404);
      assert.equal((await fetch(bobs)).status, 200);
      const again = await team.join('ada');
      assert.equal((await again.call('list_files')).data.files[0].file_id, id);
    });

    it('removing a user deletes their scripts, and leaves those of others', async () => {
      await using team = await start({ tools: ['default', 'scripts'] });
      const [ada, bob] = [await team.join('ada'), await team.join('bob')];
      const script = { name: 'plot', description: 'Plots', language: 'python', code: 'print(1)' };
      for (const member of [ada, ada, bob])
        assert.equal((await member.call('save_script', script)).failed, false);
      assert.match(await team.cli('remove', 'ada'), /Deleted with the user: 1 script\./);
      const again = await team.join('ada');
      assert.deepEqual((await again.call('list_scripts')).data.scripts, []);
      assert.equal((await again.call('save_script', script)).data.version, 1);
      assert.equal((await bob.call('get_script', { name: 'plot' })).data.version, 1);
      recordProof('D12:removed-with-their-user');
    });

    for (const announced of [true, false])
      it(`a transfer under way when its user is removed comes to nothing, its size ${announced ? '' : 'not '}announced`, async () => {
        await using team = await start();
        const ada = await team.join('ada');
        const bytes = randomBytes(400_000);
        const more = announced ? { size: bytes.length } : {};
        const { uploadUrl } = (await ada.call('request_upload', { filename: 'big', ...more })).data;
        const sender = put(uploadUrl, announced ? bytes.length : null);
        sender.write(bytes.subarray(0, 200_000));
        await using database = await opened(team);
        await eventually(async () => (await database.reserved('ada')) > 0);
        await team.cli('remove', 'ada');
        const answered = once(sender, 'response') as Promise<[IncomingMessage]>;
        sender.end(bytes.subarray(200_000));
        const [answer] = await answered;
        await text(answer);
        assert.ok(answer.statusCode! >= 400 && answer.statusCode! < 500, String(answer.statusCode));
        assert.equal((await fetch(uploadUrl)).status, 404);
        await eventually(async () => (await database.held('ada')) === 0 && (await database.uploads()) === 0);
        assert.deepEqual(await database.files(), []);
        await eventually(async () => (await storedIn(team)).length === 0);
      });

    it(
      'a run under way when its user is removed hands out no link to its output',
      { skip: noSandbox },
      async () => {
        await using team = await start({ sandbox: 'bubblewrap', warmPython: 0, warmNode: 0, warmBash: 0 });
        const ada = await team.join('ada');
        await using database = await opened(team);
        const command = 'echo > /artifacts/up; while [ -e /artifacts/up ]; do sleep 0.1; done; seq 1 9999';
        const running = ada.call('execute_bash', { command });
        const up = async (): Promise<Dirent | undefined> =>
          (await entriesBelow(join(team.config.data, 'places'))).find(({ name }) => name === 'up');
        await eventually(async () => (await up()) !== undefined);
        await team.cli('remove', 'ada');
        const { parentPath, name } = (await up())!;
        await rm(join(parentPath, name));
        const { code, text } = await running;
        // The removal also ends the run, which may be sooner than its output.
        assert.ok(code === 'unauthorized' || /cancelled/.test(text), `${code}: ${text}`);
        assert.equal(await database.live('ada'), 0, text);
      },
    );

    it('a resumable transfer cannot be gone on with', async () => {
      await using team = await start();
      const ada = await team.join('ada');
      const { uploadUrl } = (await ada.call('request_upload', { filename: 'big', size: 10 })).data;
      const patch = (offset: number, body: string) =>
        fetch(uploadUrl, {
          method: 'PATCH',
          headers: {
            'Tus-Resumable': '1.0.0',
            'Upload-Offset': String(offset),
            'Content-Type': 'application/offset+octet-stream',
          },
          body,
        });
      assert.equal((await patch(0, '01234')).status, 204);
      await team.cli('remove', 'ada');
      assert.equal((await patch(5, '56789')).status, 404);
      await using database = await opened(team);
      await eventually(async () => (await database.held('ada')) === 0 && (await storedIn(team)).length === 0);
    });

    it('a name that is taken, unknown or not allowed is refused with the remedy', async () => {
      await using team = await start();
      const { data, database } = team.config;
      const env: Record<string, string> = database === null ? {} : { WORKCRATE_DATABASE: database };
      const refused = async (...words: string[]) => {
        const { code, stderr, stdout } = await run(['user', ...words, '--data', data], { env });
        assert.doesNotMatch(stdout, /wck_/);
        return `${code} ${stderr}`;
      };
      await team.cli('add', 'ada');
      assert.match(await refused('add', 'ada'), /^1 [^]*user rotate ada/);
      assert.match(await refused('rotate', 'bob'), /^1 [^]*There is no user bob/);
      assert.match(await refused('remove', 'bob'), /^1 [^]*There is no user bob/);
      for (const name of [
        'local',
        'Ada',
        '../x',
        'a b',
        '*',
        '',
        `oauth-${'0'.repeat(32)}`,
        'files',
        'runs',
        'ask',
      ])
        assert.match(await refused('add', name), /^2 [^]*cannot be a user name/, name);
      assert.match(await refused('add', 'eve', '--scopes', 'code,root'), /^2 [^]*not root/);
      assert.match(await refused('add', 'eve', '--expires', 'soon'), /^2 [^]*--expires takes/);
      assert.match(await refused('add'), /^2 [^]*NAME is missing/);
      assert.match(await refused('become', 'eve'), /^2 [^]*has no subcommand "become"/);
    });
  });

function put(url: string, length: number | null): ClientRequest {
  const headers = length === null ? {} : { 'Content-Length': length };
  return request(url, { method: 'PUT', headers });
}

/** What the database knows, asked past the server. */
async function opened({ config }: Team) {
  const database = await openDatabase(getDatabaseLocation(config));
  const number = async (sql: string, ...values: string[]): Promise<number> =>
    Number((await database.query(sql, ...values))[0]?.['n'] ?? 0);
  return {
    held: (owner: string) => number('SELECT bytes AS n FROM usage WHERE owner = ?', owner),
    reserved: (owner: string) => number('SELECT MAX(reserved) AS n FROM uploads WHERE owner = ?', owner),
    live: (owner: string) =>
      number('SELECT COUNT(*) AS n FROM links WHERE owner = ? AND revoked_at IS NULL', owner),
    uploads: () => number('SELECT COUNT(*) AS n FROM uploads'),
    files: () => database.query('SELECT id FROM files'),
    [Symbol.asyncDispose]: () => database.close(),
  };
}

/** Whether a link that the server remembers is forgotten when another process writes. */
async function tellsOfOthers({ config }: Team): Promise<boolean> {
  await using opened = new AsyncDisposableStack();
  const open = async () => opened.adopt(await openDatabase(getDatabaseLocation(config)), (it) => it.close());
  const [one, other] = [await open(), await open()];
  const before = one.version();
  await other.query("INSERT INTO usage (owner) VALUES ('nobody')");
  await pause(2 * othersNoticedMs);
  return before === null || one.version() !== before;
}

/** Bytes that lie in storage, staged or not. */
async function storedIn({ config }: Team): Promise<string[]> {
  const entries = await entriesBelow(join(config.data, 'files'));
  return entries
    .filter((entry) => entry.isFile() && /objects|staging/.test(entry.parentPath))
    .map(({ name }) => name)
    .filter((name) => name !== 'store-id.bin');
}
