import assert from 'node:assert/strict';
import { join } from 'node:path';
import { it } from 'node:test';
import { eventually } from '../../../src/platform/eventually.testing.ts';
import { getDatabaseLocation } from '../../../src/core/store-options.ts';
import { openDatabase } from '../../../src/ports/database/open.ts';
import { createPins } from '../../../src/features/gateway/pins.ts';
import { run, serve, temporaryFolder } from '../cli/program.testing.ts';
import { postForm, readFormToken, signInByKey } from '../pages/forms.testing.ts';
import { filesHolding } from '../../secrets.testing.ts';
import { authorization, databases, startTeam } from '../users/team.testing.ts';
import { audited, auditOf } from './lines.testing.ts';

const byCommand = ({ details }: { details?: Readonly<Record<string, unknown>> }): boolean =>
  details?.['via'] === 'command';

const bySubject = (one: unknown[], other: unknown[]): number => (String(one[1]) < String(other[1]) ? -1 : 1);

for (const { kind, url, skip } of databases)
  it(
    `changes of users by commands beside a server are lines of its chain, on ${kind}`,
    { skip },
    async () => {
      await using team = await startTeam({ database: await url() });
      const ada = await team.join('ada');
      const { data, database } = team.config;
      const where = ['--data', data, ...(database === null ? [] : ['--database', database])];
      const user = async (...words: string[]): Promise<string> => {
        const { code, stdout, stderr } = await run(['user', ...words, ...where]);
        assert.equal(code, 0, stderr);
        return /^wck_\S+/.exec(stdout)?.[0] ?? '';
      };
      // The server writes lines of its own meanwhile.
      const stop = new AbortController();
      const calls = (async () => {
        while (!stop.signal.aborted) await ada.call('list_files');
      })();
      const keys = await Promise.all([
        user('add', 'bob', '--scopes', 'files,operator', '--expires', '90d'),
        user('add', 'eve', '--scopes', 'files'),
      ]);
      keys.push(await user('rotate', 'bob', '--scopes', 'files'));
      await user('remove', 'eve');
      const lines = await audited(data, byCommand, 4);
      stop.abort();
      await calls;
      const told = lines.map(({ operation, subject, result, details }) => [
        operation,
        subject,
        result,
        details?.['scopes'],
        details?.['scopes_before'],
      ]);
      assert.deepEqual(told.slice(0, 2).toSorted(bySubject), [
        ['user_add', 'bob', 'ok', 'files operator', undefined],
        ['user_add', 'eve', 'ok', 'files', undefined],
      ]);
      assert.deepEqual(told.slice(2), [
        ['user_rotate', 'bob', 'ok', 'files', 'files operator'],
        ['user_remove', 'eve', 'ok', undefined, undefined],
      ]);
      for (const line of lines) assert.match(line.user, /^os:.+@.+$/);
      assert.match(
        String(lines.find(({ subject }) => subject === 'bob')?.details?.['expires_at']),
        /^\d{4}-/,
      );
      for (const key of keys) assert.deepEqual(await filesHolding(join(data, 'audit'), key), []);
      const verified = await run(['audit', 'verify', ...where]);
      assert.equal(verified.code, 0, verified.stdout);
      assert.doesNotMatch(verified.stdout, /changes? by commands/);
    },
  );

it('a user who is added before the first start has a line after it, and until then verify counts it', async () => {
  await using folder = await temporaryFolder();
  const where = ['--data', folder.path];
  assert.equal((await run(['user', 'add', 'ada', ...where])).code, 0);
  {
    await using _ = await serve(['--auth', 'keys', ...where], {});
    const [line] = await audited(folder.path, byCommand);
    assert.deepEqual([line?.operation, line?.subject], ['user_add', 'ada']);
  }
  assert.equal((await run(['user', 'add', 'bob', ...where])).code, 0);
  const verified = await run(['audit', 'verify', ...where]);
  assert.equal(verified.code, 0);
  assert.match(verified.stdout, /note: the database: 1 change by commands will be in the log/);
});

it('a definition behind the gateway that is accepted is a line', async () => {
  await using team = await startTeam();
  const { data } = team.config;
  const database = await openDatabase(getDatabaseLocation(team.config));
  const seen = (definition: string) => [{ tool: 'add', hash: definition, definition }];
  await createPins(database).check('calc', seen('"one"'), false);
  await createPins(database).check('calc', seen('"two"'), false);
  await database.close();
  const { code, stderr } = await run(['gateway', 'accept', 'calc', '--data', data]);
  assert.equal(code, 0, stderr);
  const [line] = await audited(data, byCommand);
  assert.deepEqual(
    [line?.operation, line?.subject, line?.details?.['tools']],
    ['gateway_accept', 'calc', 'add'],
  );
});

it('who signs in to the page and out of it, and who is refused, are lines without a key', async () => {
  await using team = await startTeam();
  const { data } = team.config;
  const key = await team.key('ada');
  const wrong = `wck_${'A'.repeat(43)}`;
  const cookie = await signInByKey(team.url, key);
  const token = await readFormToken(`${team.url}/library`, cookie);
  assert.equal((await postForm(`${team.url}/sign-out`, { token }, cookie)).status, 303);
  // Once more with a cookie that has ended: nobody is signed out.
  await postForm(`${team.url}/sign-out`, { token }, cookie);
  const form = await readFormToken(`${team.url}/sign-in`);
  assert.equal((await postForm(`${team.url}/sign-in`, { token: form, key: wrong })).status, 401);
  assert.equal((await fetch(`${team.url}/status`, { headers: authorization(wrong) })).status, 401);
  const signs = /^sign_(?:in|out)$/;
  const lines = await audited(data, ({ operation }) => signs.test(operation), 4);
  assert.deepEqual(
    lines.map(({ level, operation, user, result, details }) => [
      level,
      operation,
      user,
      result,
      details?.['via'],
      details?.['kind'],
      details?.['address'],
    ]),
    [
      ['info', 'sign_in', 'ada', 'ok', 'page', undefined, '127.0.0.1'],
      ['info', 'sign_out', 'ada', 'ok', 'page', undefined, '127.0.0.1'],
      ['warning', 'sign_in', '-', 'unauthorized', 'page', 'refused_key', '127.0.0.1'],
      ['warning', 'sign_in', '-', 'unauthorized', 'http', 'refused_key', '127.0.0.1'],
    ],
  );
  for (const secret of [key, wrong, cookie.split('=')[1]!])
    assert.deepEqual(await filesHolding(join(data, 'audit'), secret), []);
});

it('a flood of wrong keys is a few lines with their number', async () => {
  await using team = await startTeam();
  const { data } = team.config;
  for (let n = 0; n < 60; n++)
    await fetch(`${team.url}/status`, { headers: authorization(`wck_${'B'.repeat(43)}`) });
  await eventually(() => auditOf(data).length > 0);
  assert.ok(auditOf(data).length <= 31, String(auditOf(data).length));
});
