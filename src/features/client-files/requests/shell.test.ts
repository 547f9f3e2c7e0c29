import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it, test } from 'node:test';
import {
  bsdListingForm,
  buildSendFilesCommand,
  buildSendListingCommand,
  parseListing,
  quoteForShell,
} from './commands.ts';
import { createGlob } from '../../../platform/text/glob.ts';
import { recordProof } from '../../../../test/requirements/requirements.testing.ts';
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
    writeFileSync(join(project, "docs/it's.md"), 'quote');
    symlinkSync('a.md', join(project, 'docs/link'));
    symlinkSync('docs/sub', join(project, 'linked'));
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
    const curl = `curl() { for from; do [ "$last" = -T ] && cat -- "$from"; last=$from; done; }; `;
    const { status, stdout, stderr } = spawnSync('sh', ['-c', `${curl}${pretended}${command}`], {
      cwd: project,
      timeout: 60_000,
      ...more,
    });
    return { status, stdout, stderr: stderr.toString() };
  }

  async function listed(stdout: Buffer, folder: string) {
    const chunks = [stdout] as unknown as AsyncIterable<Uint8Array>;
    const entries = parseListing(chunks, { isWhole: false, folder });
    const paths: string[] = [];
    for (let step = await entries.next(); ; step = await entries.next()) {
      if (step.done) return { paths: paths.sort(), cut: step.value.end !== 'whole' };
      paths.push(String(step.value?.path));
    }
  }

  const sendOne = (path: string): string => buildSendFilesCommand([{ path, url: 'http://x' }]);
  const sendListing = (path: string, more: Partial<FileRequest> = {}): string =>
    buildSendListingCommand({ ...errandTo(path), ...more }, 'http://x');

  it('sends a file, and nothing of a folder, a pipe, a link or what is not there', () => {
    const sent = run(sendOne('docs/a.md'));
    assert.deepEqual([sent.status, sent.stdout.toString(), sent.stderr], [0, 'four', '']);
    for (const path of [
      'docs/sub',
      'docs/pipe',
      'docs/link',
      'docs/none',
      'none/a',
      'linked/b.md',
      'linked/closed/c.md',
    ]) {
      const { status, stdout } = run(sendOne(path));
      assert.deepEqual([status, stdout.length], [1, 0], path);
    }
    for (const path of ['docs/a.md', 'docs/link', 'docs/none', 'linked', 'linked/closed']) {
      const { status, stdout } = run(sendListing(path));
      assert.deepEqual([status, stdout.length], [1, 0], path);
    }
  });

  it('sends several files by one curl, or none of them where one is missing', () => {
    const all = ['docs/a.md', 'docs/sub/b.md', "docs/it's.md"].map((path) => ({ path, url: 'http://x' }));
    const sent = run(buildSendFilesCommand(all));
    assert.deepEqual([sent.status, sent.stdout.toString(), sent.stderr], [0, 'fourfourquote', '']);
    const lacking = run(buildSendFilesCommand([...all, { path: 'docs/none', url: 'http://x' }]));
    assert.deepEqual([lacking.status, lacking.stdout.length], [1, 0]);
  });

  it('has no substitution and no brace, which the checks of clients refuse, and stays short', () => {
    const commands = [
      sendOne('docs/plan.md'),
      buildSendFilesCommand(['docs/a.md', 'src/x/y.ts'].map((path) => ({ path, url: 'http://x' }))),
      sendListing('docs'),
      sendListing('docs/sub', { recursive: false, pattern: '*.md' }),
    ];
    for (const command of commands) {
      assert.doesNotMatch(command, /\$|`|<\(|>\(|[{}]|\n/, command);
      assert.ok(command.length < 250, command);
    }
    assert.equal(
      sendOne('docs/plan.md'),
      "test ! -L ./docs && test -f ./docs/plan.md && test ! -L ./docs/plan.md && curl -sS --fail-with-body -g -T ./docs/plan.md 'http://x'",
    );
  });

  it('a listing says that it is whole, and that a folder is empty', async () => {
    const { stdout, stderr } = run(sendListing('docs/sub'));
    assert.deepEqual(await listed(stdout, 'docs/sub'), {
      paths: ['b.md', 'closed', 'closed/c.md'],
      cut: false,
    });
    assert.equal(stderr, '');
    const empty = run(sendListing('docs/empty'));
    assert.deepEqual(await listed(empty.stdout, 'docs/empty'), { paths: [], cut: false });
    const flat = run(sendListing('docs/sub', { recursive: false, pattern: '*.md' }));
    assert.deepEqual(await listed(flat.stdout, 'docs/sub'), { paths: ['b.md'], cut: false });
    assert.equal(flat.stderr, '');
    const top = run(sendListing('', { recursive: false }));
    assert.deepEqual(await listed(top.stdout, ''), { paths: ['docs', 'linked'], cut: false });
  });

  it('sends of a listing only what may fit the pattern, whatever the pattern and the folder are', async () => {
    const odd = "docs/odd [x]*? it's $HOME";
    mkdirSync(join(project, odd, 'deep/er'), { recursive: true });
    const names = ['a.md', 'b.txt', 'ab.md', '[ab].md', 'é.md', 'deep/c.md', 'deep/er/d.md', 'deep/er/e.txt'];
    for (const name of names) writeFileSync(join(project, odd, name), '');
    const patterns: readonly (readonly [pattern: string, sent: string])[] = [
      ['*.md', '[ab].md a.md ab.md deep/c.md deep/er/d.md é.md'],
      ['**/*.md', '[ab].md a.md ab.md deep/c.md deep/er/d.md é.md'],
      ['?.txt', 'b.txt deep/er/e.txt'],
      ['[ab].md', '[ab].md ab.md'],
      ['deep/*.md', 'deep/c.md deep/er/d.md'],
      ['deep/**/*.txt', 'deep/er/e.txt'],
      ['deep/**', 'deep deep/c.md deep/er deep/er/d.md deep/er/e.txt'],
      ['**/er/?.md', 'deep/er/d.md'],
      ['é.md', '[ab].md a.md ab.md deep/c.md deep/er/d.md é.md'],
      ['none*', ''],
    ];
    for (const [pattern, sent] of patterns) {
      const { stdout, stderr } = run(sendListing(odd, { pattern }));
      const { paths, cut } = await listed(stdout, odd);
      assert.deepEqual([paths.join(' '), cut, stderr], [sent, false, ''], pattern);
      const fits = createGlob(pattern);
      const all = (await listed(run(sendListing(odd)).stdout, odd)).paths;
      assert.deepEqual(
        all.filter(fits).filter((path) => !paths.includes(path)),
        [],
        `${pattern} loses nothing`,
      );
    }
    rmSync(join(project, odd), { recursive: true });
    recordProof('E1:pattern-on-the-clients-side');
  });

  it('sends files and lists folders of any name that the system has', async () => {
    const names =
      'What?.md a*b a:b "q" a|b <x> a~1.md dot. aux.md 100%25.md $HOME.md `id` {a,b} $(id) ENV~1'.split(' ');
    const folder = 'docs/o?d $(x) `y` {z}';
    mkdirSync(join(project, folder));
    for (const name of [...names, ' space ']) {
      writeFileSync(join(project, folder, name), `of ${name}`);
      const sent = run(sendOne(`${folder}/${name}`));
      assert.deepEqual([sent.status, sent.stdout.toString(), sent.stderr], [0, `of ${name}`, ''], name);
    }
    const { stdout } = run(sendListing(folder));
    assert.deepEqual(await listed(stdout, folder), { paths: [...names, ' space '].sort(), cut: false });
    rmSync(join(project, folder), { recursive: true });
  });

  it('sends nothing by a short name that only the disk knows, as one of Windows does', () => {
    writeFileSync(join(project, 'docs/.env'), 'secret');
    // As such a disk has it: opened by a name that no folder lists.
    const disk = `test() { case "$*" in *ENV~1*) return $([ "$1" = '!' ] && echo 0 || echo 0);; *) command test "$@";; esac; }; cat() { command cat ./docs/.env; }; `;
    const { status, stdout } = run(sendOne('docs/ENV~1'), disk);
    assert.deepEqual([status, stdout.toString()], [1, '']);
    rmSync(join(project, 'docs/.env'));
  });

  it('with the stat of BSD, a listing has the same', async () => {
    // The same facts by the stat of GNU, which has another option for its format and no tabs in it.
    const stat = `stat() { shift 2; command stat --printf '%A\\t%s\\t%Y\\t%n\\n' "$@"; }; `;
    const xargs = `xargs() { shift 2; shift 2; command xargs -0 stat --printf '%A\\t%s\\t%Y\\t%n\\n'; }; `;
    const command = sendListing('docs/sub').replace(/-printf '[^']*'/, bsdListingForm);
    const { stdout } = run(command, stat + xargs);
    assert.deepEqual(await listed(stdout, 'docs/sub'), {
      paths: ['b.md', 'closed', 'closed/c.md'],
      cut: false,
    });
  });

  it('a listing goes on past a folder that may not be seen, and says so on stderr', async () => {
    chmodSync(join(project, 'docs/sub/closed'), 0);
    const nobody = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
    const { stdout, stderr } = run(sendListing('docs/sub'), '', nobody);
    chmodSync(join(project, 'docs/sub/closed'), 0o755);
    assert.deepEqual((await listed(stdout, 'docs/sub')).paths, ['b.md', 'closed']);
    assert.match(stderr, /denied/i);
  });
});
