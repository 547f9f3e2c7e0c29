import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { openBackend } from '../../../src/ports/database/open.ts';
import { findPostgres, NO_POSTGRES } from '../../../src/ports/database/postgres.testing.ts';
import { eventually } from '../../../src/platform/eventually.testing.ts';
import { recordProof } from '../../requirements/requirements.testing.ts';
import { serve, temporaryFolder, type Program } from '../../behaviour/cli/program.testing.ts';
import { noSandbox } from '../../code.testing.ts';

const env = { WORKCRATE_SANDBOX: 'bubblewrap' };
const touch = (name: string): string => `touch /workspace/${name}`;
const ways: Readonly<Record<string, Record<string, unknown>>> = {
  'in the foreground': {},
  'in the background': { background: true },
  'as a cell': { session_id: 'kept' },
};

const begin = (program: Program, name: string, more: Record<string, unknown>) =>
  program.call('execute_code', { language: 'bash', code: touch(name), ...more });

async function listMade(program: Program): Promise<string> {
  const { data, text } = await program.call('execute_bash', { command: 'ls /workspace' });
  return data?.stdout ?? assert.fail(text);
}

it(
  'while another process holds the lock of SQLite, no code runs, and a kill then leaves nothing that ran',
  { skip: noSandbox },
  async () => {
    await using folder = await temporaryFolder();
    const args = ['--data', folder.path, '--tools', 'all'];
    {
      await using program = await serve(args, { env });
      await program.call('execute_code', { language: 'bash', code: 'true', session_id: 'kept' });
      const script = {
        name: 'touch',
        description: 'Makes a file.',
        language: 'bash',
        code: touch('as-a-script'),
      };
      const saved = await program.call('save_script', script);
      assert.equal(saved.failed, false, saved.text);
      using other = new DatabaseSync(join(folder.path, 'workcrate.db'));
      const workspace = join(folder.path, 'places', '1', 'workspace');
      other.exec('BEGIN IMMEDIATE');
      const calls = [
        ...Object.entries(ways).map(([how, more]) => begin(program, how.replaceAll(' ', '-'), more)),
        program.call('run_script', { name: 'touch' }),
      ];
      await pause(1500);
      assert.doesNotMatch(readdirSync(workspace).join(), /in-the|as-a/);
      other.exec('ROLLBACK');
      for (const { failed, text } of await Promise.all(calls)) assert.equal(failed, false, text);
      await eventually(() => readdirSync(workspace).filter((name) => /in-the|as-a/.test(name)).length === 4);
      other.exec('BEGIN IMMEDIATE');
      const cut = begin(program, 'cut-off', {}).catch(() => null);
      await pause(500);
      await program.end('SIGKILL');
      await cut;
    }
    await using program = await serve(args, { env });
    assert.doesNotMatch(await listMade(program), /cut-off/);
    const { data } = await program.call('search_executions', { text: 'touch /workspace' });
    assert.equal(data.executions.length, 4);
    recordProof('D9:no-row-no-code');
  },
);

it(
  'a PostgreSQL that stands still while a run begins leaves no row of it that says running',
  { skip: noSandbox || undefined },
  async (t) => {
    const postgres = await findPostgres();
    if (postgres === null) return t.skip(NO_POSTGRES);
    await using _ = postgres;
    await using folder = await temporaryFolder();
    const url = await postgres.url();
    const settings = {
      ...env,
      WORKCRATE_DATABASE: `${url}${url.includes('?') ? '&' : '?'}query_timeout=2000`,
    };
    await using program = await serve(['--data', folder.path], { env: settings });
    await listMade(program);
    const database = await openBackend(url);
    try {
      const [{ me }] = (await database.query('SELECT pg_backend_pid() AS me')) as [{ me: number }];
      const found = await database.query<{ pid: number }>(
        "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> ? AND application_name = 'workcrate'",
        me,
      );
      const backends = found.map(({ pid }) => String(pid));
      assert.ok(backends.length > 0);
      assert.equal(spawnSync('kill', ['-STOP', ...backends]).status, 0);
      const answers = await Promise.all(
        Array.from({ length: backends.length + 1 }, (_, at) =>
          begin(program, `stopped-${at}`, { timeout: 5 }),
        ),
      );
      assert.equal(spawnSync('kill', ['-CONT', ...backends]).status, 0);
      const failed = answers.filter((answer) => answer.failed);
      t.diagnostic(`${failed.length} of ${answers.length} runs were refused`);
      const listed = await listMade(program);
      for (const [at, answer] of answers.entries())
        assert.equal(listed.includes(`stopped-${at}\n`), !answer.failed);
      await eventually(async () => {
        const rows = await database.query("SELECT id FROM executions WHERE reason = 'running'");
        return rows.length === 0;
      });
    } finally {
      await database.close();
    }
  },
);
