import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it, test } from 'node:test';
import { parseListing, quoteForShell, buildSendFileCommand, buildSendListingCommand } from './commands.ts';
import type { FileRequest } from './file-request.ts';

test('sh takes a quoted text for nothing but itself', () => {
  const hostile = [
    "it's",
    "''",
    "'; id; '",
    '$(id)',
    '`id`',
    '$HOME',
    '\\',
    "\\'",
    '"',
    'a\nb',
    '!!',
    '*',
    '-n',
    '%s',
    '~',
  ];
  const command = `printf '%s\\0' ${hostile.map(quoteForShell).join(' ')}`;
  assert.deepEqual(execFileSync('sh', ['-c', command]).toString().split('\0').slice(0, -1), hostile);
});

describe('the command that is offered', () => {
  let project: string;
  before(() => {
    project = mkdtempSync(join(tmpdir(), 'workcrate-shell-'));
    chmodSync(project, 0o755);
    mkdirSync(join(project, 'docs/sub/closed'), { recursive: true });
    mkdirSync(join(project, 'docs/empty'));
    for (const path of ['docs/a.md', 'docs/sub/b.md', 'docs/sub/closed/c.md'])
      writeFileSync(join(project, path), 'four');
    symlinkSync('a.md', join(project, 'docs/link'));
    execFileSync('mkfifo', [join(project, 'docs/pipe')]);
  });
  after(() => rmSync(project, { recursive: true }));

  const errandTo = (relative: string): FileRequest => ({
    operation: 'list',
    path: { relative, absolute: null },
    root: null,
    projectKey: null,
    binary: false,
    size: null,
    sha256: null,
    recursive: true,
    pattern: null,
  });

  /** Curl stands for what it would send. */
  function run(command: string, pretended = '', more = {}) {
    const curl = `curl() { for from; do [ "$last" = -T ] && break; last=$from; done; cat -- "$from"; }; `;
    const { status, stdout, stderr } = spawnSync('sh', ['-c', `${curl}${pretended}${command}`], {
      cwd: project,
      timeout: 60_000,
      ...more,
    });
    return { status, stdout, stderr: stderr.toString() };
  }

  async function listed(stdout: Buffer) {
    const entries = parseListing([stdout] as unknown as AsyncIterable<Uint8Array>, { isWhole: false });
    const paths: string[] = [];
    for (let step = await entries.next(); ; step = await entries.next()) {
      if (step.done) return { paths: paths.sort(), cut: step.value.end !== 'whole' };
      paths.push(String(step.value?.path));
    }
  }

  it('sends a file, and of a folder, a pipe, a link or nothing it says that it sends nothing', () => {
    const sent = run(buildSendFileCommand(errandTo('docs/a.md'), 'http://x'));
    assert.deepEqual([sent.status, sent.stdout.toString(), sent.stderr], [0, 'four', '']);
    for (const path of ['docs/sub', 'docs/pipe', 'docs/link', 'docs/none', 'none/a']) {
      const { status, stdout, stderr } = run(buildSendFileCommand(errandTo(path), 'http://x'));
      assert.deepEqual([status, stdout.length], [1, 0], path);
      assert.match(stderr, /Nothing was sent: there is no such file/, path);
    }
    for (const path of ['docs/a.md', 'docs/link', 'docs/none'])
      assert.match(
        run(buildSendListingCommand(errandTo(path), 'http://x')).stderr,
        /Nothing was sent: there is no such folder/,
      );
  });

  const noFind = 'find() { return 1; }; ';
  const noPython = 'command() { return 1; }; python3() { return 127; }; ';

  for (const [name, pretended] of [
    ['find', noPython],
    ['Python', noFind],
  ] as const) {
    it(`by ${name}, a listing says that it is whole, and that a folder is empty`, async () => {
      const { stdout } = run(buildSendListingCommand(errandTo('docs/sub'), 'http://x'), pretended);
      assert.deepEqual(await listed(stdout), { paths: ['b.md', 'closed', 'closed/c.md'], cut: false });
      const empty = run(buildSendListingCommand(errandTo('docs/empty'), 'http://x'), pretended);
      assert.deepEqual(await listed(empty.stdout), { paths: [], cut: false });
    });

    it(`by ${name}, a listing that lacks a folder which may not be seen is cut, and has all else`, async () => {
      chmodSync(join(project, 'docs/sub/closed'), 0);
      const nobody = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
      const { stdout, stderr } = run(
        buildSendListingCommand(errandTo('docs/sub'), 'http://x'),
        pretended,
        nobody,
      );
      chmodSync(join(project, 'docs/sub/closed'), 0o755);
      assert.deepEqual(await listed(stdout), { paths: ['b.md', 'closed'], cut: true });
      assert.match(stderr, /denied/i);
    });
  }

  it('where nothing can list, nothing is sent, and why is said', () => {
    const { status, stdout, stderr } = run(
      buildSendListingCommand(errandTo('docs'), 'http://x'),
      noFind + noPython,
    );
    assert.deepEqual([status, stdout.length], [1, 0]);
    assert.match(stderr, /^Nothing was sent: this needs GNU find or python3/);
  });
});
