import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { getAuditFolder } from '../../../src/core/audit/audit.ts';
import { openAudit } from '../../../src/core/audit/open.ts';
import { createLog } from '../../../src/platform/observability/log.ts';
import { environment, fromSource, run } from './program.testing.ts';

const noon = Date.parse('2026-05-04T12:00:00Z');
const key = { WORKCRATE_AUDIT_KEY: 'a key of the operator' };

describe('workcrate audit, as a process of its own', () => {
  let data: string;
  before(async () => {
    data = await mkdtemp(join(tmpdir(), 'workcrate-cli-audit-'));
    await using audit = openAudit({
      folder: getAuditFolder(data),
      clock: () => noon,
      level: 'trace',
      retentionDays: 90,
      key: key.WORKCRATE_AUDIT_KEY,
      log: createLog('off'),
    });
    const event = {
      operation: 'read_client_file',
      user: 'ada',
      client: null,
      subject: 'docs/a.md',
      result: 'ok',
    };
    audit.note({ ...event, level: 'trace' });
    const tried = { ...event, user: 'eve', subject: '../\u001b[31mpasswd', result: 'path_refused' };
    audit.violation(tried, 'parent', new Error('no'));
  });
  after(() => rm(data, { recursive: true, force: true }));

  const audit = (...words: string[]) => run(['audit', ...words, '--data', data], { env: key });

  it('search and tail show who tried what, and nothing that a terminal acts on', async () => {
    const [found, tail] = await Promise.all([
      audit('search', 'PASSWD', '--level', 'warning', '--user', 'eve', '--since', '2026-05-04T12:00Z'),
      audit('tail', '--limit', '2', '--json'),
    ]);
    assert.match(
      found.stdout,
      /^2026-05-04T12:00:00\.000Z {2}warning {2}eve {2}read_client_file {2}path_refused {2}"\.\.\/\\u001b\[31mpasswd" {2}kind="parent" {2}where=".*" {2}repeats=0\n$/,
    );
    const { lines } = JSON.parse(tail.stdout);
    assert.deepEqual(
      lines.map(({ user, intact }: { user: string; intact: boolean }) => [user, intact]),
      [
        ['ada', true],
        ['eve', true],
      ],
    );
    assert.deepEqual([found.code, tail.code, found.stderr, tail.stderr], [0, 0, '', '']);
  });

  it('verify says that nothing was changed, and exits with 1 once something was', async () => {
    const whole = await audit('verify');
    assert.equal(whole.code, 0, whole.stderr);
    assert.match(
      whole.stdout,
      /^note: the database: the log could not be compared with it: .*\n4 lines in 1 files, from .* \(seq 4\)\nNo line was changed, removed or added\.\n$/,
    );
    const file = join(getAuditFolder(data), 'audit-2026-05-04.jsonl');
    const text = await readFile(file, 'utf8');
    await writeFile(file, text.replace('"user":"eve"', '"user":"ada"'));
    const [changed, json] = await Promise.all([audit('verify'), audit('verify', '--json')]);
    await writeFile(file, text);
    assert.match(
      changed.stdout,
      /^problem: audit-2026-05-04\.jsonl, line 4: its hash does not match its content/,
    );
    assert.match(changed.stdout, /\nThe audit log is not as it was written\.\n$/);
    const told = JSON.parse(json.stdout);
    assert.deepEqual([changed.code, json.code, told.ok, told.problems[0].line], [1, 1, false, 4]);
  });

  it('a reader that goes away ends it quietly, with a code that tells of no tampering', async () => {
    for (const words of ['verify', 'search', 'tail']) {
      const [command, ...first] = fromSource;
      const child = spawn(command!, [...first, 'audit', words, '--data', data], {
        env: { ...environment, ...key },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      child.stdout.destroy();
      const [stderr, [code]] = await Promise.all([child.stderr.toArray(), once(child, 'close')]);
      assert.deepEqual([code, Buffer.concat(stderr).toString()], [141, ''], words);
    }
  });

  it('what cannot be printed is a sentence, and no tampering', async () => {
    const program = ['/bin/sh', '-c', 'exec "$@" > /dev/full', 'sh', ...fromSource];
    const full = await run(['audit', 'verify', '--data', data], { env: key, program });
    assert.equal(full.code, 74);
    assert.match(full.stderr, /^workcrate: Cannot write to the output: [^\n]+\n$/);
  });

  it('where there is no log, all say so and exit with 1', async () => {
    const none = join(data, 'none');
    const [ended, off] = await Promise.all([
      run(['audit', 'verify', '--data', none]),
      run(['audit', 'verify', '--data', none, '--audit-level', 'off']),
    ]);
    assert.equal(ended.stdout.split('\n')[0], `problem: ${getAuditFolder(none)}: there is no log`);
    assert.match(ended.stdout, /Is --data the folder of the server\?/);
    assert.match(off.stdout, /No log is written when audit_level is off\./);
    assert.deepEqual([ended.code, off.code], [1, 1]);
    for (const words of ['search', 'tail']) {
      const { code, stdout } = await run(['audit', words, '--data', none]);
      assert.deepEqual([code, stdout], [1, ended.stdout], words);
    }
  });

  it('a search that finds nothing says so, and a page says how to go on', async () => {
    const [none, first] = await Promise.all([audit('search', 'zebra'), audit('search', '--limit', '3')]);
    assert.deepEqual([none.code, none.stdout], [0, 'No line matches.\n']);
    const [, place] = /\nThere may be more: --before (\S+)\n$/.exec(first.stdout) ?? [];
    const last = await audit('search', '--before', place!);
    assert.match(last.stdout, /^\S+ {2}info {5}workcrate {2}audit\.file [^\n]+\n$/);
  });

  it('JSON for programs holds nothing that a terminal acts on either', async () => {
    const file = join(getAuditFolder(data), 'audit-2026-05-04.jsonl');
    const text = await readFile(file, 'utf8');
    await writeFile(file, text.replace('docs/a.md', 'docs/\u009b2J\u202e'));
    const [found, shown] = await Promise.all([audit('search', '--json'), audit('tail')]);
    await writeFile(file, text);
    for (const { stdout } of [found, shown]) assert.match(stdout, /docs\/\\u009b2J\\u202e/);
  });

  it('--help tells of audit alone, with every option', async () => {
    const [whole, ofSearch] = await Promise.all([audit('--help'), audit('search', '--help')]);
    for (const name of ['verify', 'search', 'tail', 'forget'])
      assert.match(whole.stdout, new RegExp(`\\n  ${name} `));
    const told = new Set(ofSearch.stdout.match(/(?<=\n {2})--[a-z-]+/g));
    const options =
      'user operation result level since until before limit json config service-env data database audit-key';
    assert.deepEqual(
      [...told],
      options.split(' ').map((name) => `--${name}`),
    );
  });

  it('what it does not take is one line and exit code 2', async () => {
    const asked = [
      [],
      ['verify', 'x'],
      ['search', '--level', 'loud'],
      ['tail', '--since', 'monday'],
      ['tail', '--limit', 'x'],
      ['search', '--before', '7'],
      ['search', '--before', '2026-05-04.0:5'],
      ['search', '--limit', '0'],
      ['tail', '--since', '2026-02-30'],
      ['verify', '--user', 'ada'],
    ];
    const ended = await Promise.all(asked.map((words) => audit(...words)));
    for (const { code, stdout, stderr } of ended) {
      assert.match(stderr, /^workcrate: [^\n]+ See npx workcrate audit (?:[a-z]+ )?--help\.\n$/);
      assert.deepEqual([code, stdout], [2, '']);
    }
  });
});
