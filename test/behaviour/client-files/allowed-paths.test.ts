import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { it } from 'node:test';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { eventually } from '../../../src/platform/eventually.testing.ts';
import { environment, fromSource, temporaryFolder } from '../cli/program.testing.ts';
import { recordProof } from '../../requirements/requirements.testing.ts';

/** A folder with two projects in it, a home and a config file. */
async function scene(config: (folder: string) => string) {
  const folder = await temporaryFolder();
  for (const path of ['one/data', 'one/docs', 'two/data', 'two/docs', 'home'])
    await mkdir(join(folder.path, path), { recursive: true });
  await writeFile(join(folder.path, 'workcrate.yaml'), config(folder.path));
  return { ...folder, config: join(folder.path, 'workcrate.yaml') };
}

interface Setup {
  readonly home: string;
  readonly cwd: string;
  readonly args?: readonly string[];
  readonly env?: Record<string, string>;
}

/** A client over stdio that can be asked for nothing, so that an allowed path is answered by a command. */
async function editor({ home, cwd, args = [], env = {} }: Setup) {
  const [command, script] = fromSource;
  const given = { ...environment, HOME: home, XDG_DATA_HOME: home, WORKCRATE_SANDBOX: 'off', ...env };
  const transport = new StdioClientTransport({
    command: command!,
    args: [script!, 'stdio', '--port', '0', ...args],
    cwd,
    env: given,
    stderr: 'pipe',
  });
  let logged = '';
  transport.stderr?.on('data', (chunk: Buffer) => (logged += chunk.toString()));
  const client = new Client({ name: 'editor', version: '1' });
  await client.connect(transport);
  return {
    lines: (event: string) =>
      logged
        .split('\n')
        .filter((line) => line.includes(`"${event}"`))
        .map((line) => JSON.parse(line) as { level: string; missing: string[]; paths: string[] }),
    async read(path: string): Promise<string> {
      const result = await client.callTool({ name: 'read_client_file', arguments: { path, via: 'upload' } });
      const [{ text = '' } = {}] = result.content as { text?: string }[];
      return text.startsWith('Not here yet:') ? 'allowed' : text;
    },
    [Symbol.asyncDispose]: () => client.close(),
  };
}

const forms: [string, string][] = [
  ['one key with a dot', 'filesystem.allowed_paths: [data/, nope]\n'],
  ['a key below a key', 'filesystem:\n  allowed_paths:\n    - data/\n    - nope\n'],
];

for (const [what, text] of forms)
  it(`filesystem.allowed_paths as ${what} replaces what is allowed; a missing path is warned of once`, async () => {
    await using place = await scene(() => text);
    const root = join(place.path, 'one');
    const args = ['--config', place.config, '--client-root', `${root}/`];
    await using client = await editor({ home: join(place.path, 'home'), cwd: root, args });
    assert.equal(await client.read('data/a.csv'), 'allowed');
    assert.match(await client.read('docs/a.md'), /not allowed/);
    assert.match(await client.read('data-secret/a.csv'), /not allowed/);
    const missing = client.lines('bridge.allowed_missing');
    assert.deepEqual(
      missing.map((line) => [line.level, line.missing]),
      [['warn', ['nope']]],
    );
    const [told] = client.lines('bridge.allowed');
    assert.deepEqual(told?.paths, [join(root, 'data'), join(root, 'nope')]);
    recordProof(
      'E3:setting-replaces-them',
      'E3:missing-one-is-warned-of-at-the-start',
      'E3:kept-absolute',
      'E3:docs-secret-is-not-docs',
    );
  });

it('FILESYSTEM_ALLOWED_PATHS is the same setting, and a missing path is seen where the server was started', async () => {
  await using place = await scene(() => '');
  const env = { FILESYSTEM_ALLOWED_PATHS: 'data,nope' };
  await using client = await editor({ home: join(place.path, 'home'), cwd: join(place.path, 'one'), env });
  // At the start: nothing has been asked for yet.
  await eventually(() => client.lines('bridge.allowed_missing').length > 0);
  assert.equal(await client.read('data/a.csv'), 'allowed');
  assert.match(await client.read('docs/a.md'), /not allowed/);
  assert.deepEqual(
    client.lines('bridge.allowed_missing').map((line) => [line.level, line.missing]),
    [['warn', ['nope']]],
  );
  recordProof('E3:missing-one-is-warned-of-at-the-start');
});

it('what a config file says of one project counts for that project alone', async () => {
  await using place = await scene(
    (folder) => `projects:\n  - root: ${folder}/one\n    filesystem:\n      allowed_paths: [data]\n`,
  );
  const home = join(place.path, 'home');
  for (const [project, allowed, refused] of [
    ['one', 'data/a.csv', 'docs/a.md'],
    ['two', 'docs/a.md', 'data/a.csv'],
  ] as const) {
    const root = join(place.path, project);
    const args = ['--config', place.config, '--client-root', root];
    await using client = await editor({ home, cwd: root, args });
    assert.equal(await client.read(allowed), 'allowed', project);
    assert.match(await client.read(refused), /not allowed/, project);
  }
  recordProof('E3:per-project-root');
});

it('the usual folders are not missed at the start', async () => {
  await using place = await scene(() => '');
  const root = join(place.path, 'one');
  await using client = await editor({
    home: join(place.path, 'home'),
    cwd: root,
    args: ['--client-root', root],
  });
  assert.equal(await client.read('docs/a.md'), 'allowed');
  assert.deepEqual(client.lines('bridge.allowed_missing'), []);
});
