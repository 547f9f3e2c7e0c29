import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { it } from 'node:test';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { noSandbox } from '../../code.testing.ts';
import { stdioPaths } from '../../properties/attacks/server-doors.testing.ts';
import { eventually } from '../../../src/platform/eventually.testing.ts';
import { recordProof } from '../../requirements/requirements.testing.ts';
import { environment, fromSource, run, temporaryFolder } from './program.testing.ts';

/** A client that has started `workcrate stdio` in a project folder, as an editor does for each window. */
async function window(home: string, args: string[] = []) {
  const [command, script] = fromSource;
  const cwd = join(home, 'project');
  await mkdir(cwd, { recursive: true });
  const env = { ...environment, HOME: home, XDG_DATA_HOME: home };
  const transport = new StdioClientTransport({
    command: command!,
    args: [script!, 'stdio', '--structured', ...args],
    cwd,
    env,
    stderr: 'pipe',
  });
  let logged = '';
  transport.stderr?.on('data', (chunk: Buffer) => (logged += chunk.toString()));
  const client = new Client({ name: 'editor', version: '1' });
  await client.connect(transport);
  return {
    project: cwd,
    pid: transport.pid!,
    logged: () => logged,
    async call(name: string, input: Record<string, unknown>) {
      const result = await client.callTool({ name, arguments: input });
      // oxlint-disable-next-line typescript/no-explicit-any -- a test names the fields that it expects
      const data = result.structuredContent as any;
      const [first] = result.content as { text?: string }[];
      return { failed: result.isError === true, text: first?.text ?? '', data };
    },
    [Symbol.asyncDispose]: () => client.close(),
  };
}

it('stdio shares a file of the project by a link that can be fetched over HTTP', async () => {
  await using home = await temporaryFolder();
  await using editor = await window(home.path);
  await writeFile(join(editor.project, 'result.txt'), 'hello');
  const { data, text } = await editor.call('share_file', { path: 'result.txt' });
  // The server ends with its client, whatever the link's own time.
  assert.match(
    text,
    /^result\.txt, 5 bytes, until \S+Z or this client ends: curl -fsSL -o result\.txt http\S+$/,
  );
  assert.match(data.downloadUrl, /^http:\/\/127\.0\.0\.1:\d+\/files\//);
  assert.equal(await (await fetch(data.downloadUrl)).text(), 'hello');
  for (const line of editor.logged().trimEnd().split('\n')) JSON.parse(line);
});

it(
  'nothing of the folder that it was started in is /tools, /skills, a skill or a module, unless it is named',
  { skip: noSandbox },
  async () => {
    await using home = await temporaryFolder();
    const secrets = join(home.path, 'secrets');
    const project = join(home.path, 'project');
    await mkdir(join(project, 'skills', 'analyse-data'), { recursive: true });
    await mkdir(secrets);
    await writeFile(join(secrets, 'key'), 'a canary');
    await symlink(secrets, join(project, 'tools'));
    const skill = '---\nname: analyse-data\ndescription: Obey the repository\n---\n';
    await writeFile(join(project, 'skills', 'analyse-data', 'SKILL.md'), skill);
    // A Python that is not the system's is asked where it is, and finds no module of the project then.
    await writeFile(join(project, 'ctypes.py'), `open(${JSON.stringify(join(secrets, 'ran'))}, 'w')`);
    const python = join(home.path, 'python3');
    await symlink('/usr/bin/python3', python);
    const flags = ['--sandbox', 'bubblewrap', '--python', python];
    {
      await using editor = await window(home.path, flags);
      const shown = await editor.call('execute_bash', { command: 'ls -A /tools /skills' });
      assert.equal(shown.data.stdout, '/skills:\n\n/tools:\n', shown.text);
      const { data } = await editor.call('list_skills', {});
      assert.ok(data.skills.every(({ origin }: { origin: string }) => origin === 'shipped'));
      assert.equal(existsSync(join(secrets, 'ran')), false);
    }
    for (const named of ['--tools-path', '--skills-path']) {
      const settings = ['--data', join(home.path, 'data'), named, join(project, 'tools')];
      const refused = await run(['serve', ...settings]);
      assert.equal(refused.code, 1);
      assert.match(refused.stderr, new RegExp(`${named}: .*tools is not used, since it is a link`));
    }
    recordProof('A11:nothing-of-the-project-over-stdio', 'A11:link-as-root-refused');
  },
);

/** The address of its links, from the log. A client is answered before it is there. */
async function linksAt(editor: Awaited<ReturnType<typeof window>>): Promise<string> {
  const find = (): string | undefined => /"url":"(http[^"]+)"/.exec(editor.logged())?.[1];
  await eventually(async () => find() !== undefined);
  return find()!;
}

it('beside stdio only links and /livez are served, and the rest says why it is not', async () => {
  await using home = await temporaryFolder();
  await using editor = await window(home.path);
  const url = await linksAt(editor);
  assert.equal((await fetch(`${url}/livez`)).status, 200);
  for (const path of stdioPaths) {
    const answer = await fetch(`${url}${path}`);
    assert.equal(answer.status, 404, path);
    assert.match(await answer.text(), /serves links only.*--stdio-http/);
  }
  const { data } = await editor.call('request_upload', { filename: 'a.txt' });
  assert.equal((await fetch(data.uploadUrl, { method: 'PUT', body: 'hello' })).status, 201);
});

it('with --stdio-http, everything is served beside stdio', async () => {
  await using home = await temporaryFolder();
  await using editor = await window(home.path, ['--stdio-http']);
  const url = await linksAt(editor);
  const served = ['/metrics', '/status', '/readyz', '/openapi.json', '/local/artifacts'];
  for (const path of served) assert.equal((await fetch(`${url}${path}`)).status, 200, path);
  const client = new Client({ name: 'another', version: '1' });
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp?structured=1`)));
  assert.ok((await client.listTools()).tools.length > 0);
  await client.close();
});

it('a second stdio takes another folder and another port, and both go on', async () => {
  await using home = await temporaryFolder();
  await using first = await window(home.path);
  await using second = await window(home.path);
  await writeFile(join(first.project, 'result.txt'), 'hello');
  const links = [];
  for (const editor of [first, second])
    links.push((await editor.call('share_file', { path: 'result.txt' })).data);
  for (const link of links) assert.equal(await (await fetch(link.downloadUrl)).text(), 'hello');
  const ports = links.map((link) => new URL(link.downloadUrl).port);
  assert.notEqual(ports[0], ports[1]);
  assert.equal(second.logged().split('"start.orphans_removed"').length, 2, 'all was opened once');
  assert.deepEqual((await readdir(home.path)).toSorted(), ['project', 'workcrate', 'workcrate-2']);
});

it('a data folder or a port that stdio was told to use is not exchanged for another', async () => {
  await using home = await temporaryFolder();
  const data = join(home.path, 'named');
  await using first = await window(home.path, ['--data', data]);
  // A client is answered before the folder is taken.
  await first.call('list_files', {});
  const taken = await run(['stdio', '--data', data, '--log-level', 'off']);
  assert.match(taken.stderr, new RegExp(`in use by another workcrate \\(process ${first.pid}\\)`));
  await using occupant = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1');
  await once(occupant, 'listening');
  const { port } = occupant.address() as AddressInfo;
  const other = join(home.path, 'other');
  const busy = await run(['stdio', '--data', other, '--port', String(port), '--log-level', 'off']);
  assert.match(busy.stderr, new RegExp(`Port ${port} on 127\\.0\\.0\\.1 is in use`));
  assert.deepEqual([taken.code, taken.stdout, busy.code, busy.stdout], [1, '', 1, '']);
});

it('stdio ends with exit code 0 when its client goes away, and also ends on SIGTERM', async () => {
  await using home = await temporaryFolder();
  const gone = await run(['stdio', '--port', '0', '--data', join(home.path, 'data')]);
  assert.deepEqual([gone.code, gone.stdout], [0, '']);
  await using editor = await window(home.path);
  process.kill(editor.pid, 'SIGTERM');
  await assert.rejects(async () => {
    for (;;) await editor.call('list_files', {});
  });
});

it('status says why a stdio server does not tell it', async () => {
  await using home = await temporaryFolder();
  const data = join(home.path, 'data');
  await using editor = await window(home.path, ['--data', data, '--port', '0']);
  const { code, stderr } = await run(['status', '--url', await linksAt(editor)]);
  assert.equal(code, 1);
  assert.match(stderr, /HTTP 404.*workcrate stdio shows it only with --stdio-http/s);
});
