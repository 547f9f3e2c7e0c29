import assert from 'node:assert/strict';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { it } from 'node:test';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { noSandbox } from '../../code.testing.ts';
import { fromSource, run, serve, temporaryFolder } from './program.testing.ts';
import { recordProof } from '../../requirements/requirements.testing.ts';

const hello = { language: 'bash', code: 'echo hello' };

it('subprocess is refused unless it is allowed by name', async () => {
  await using folder = await temporaryFolder();
  const { code, stderr } = await run([
    'serve',
    '--port',
    '0',
    '--data',
    folder.path,
    '--sandbox',
    'subprocess',
  ]);
  assert.equal(code, 2);
  assert.match(stderr, /has no walls: .* add --allow-sandbox subprocess/);
  recordProof('D14:subprocess-only-if-allowed-by-name');
});

it('subprocess that is allowed runs code, and is warned of at every start', async () => {
  await using folder = await temporaryFolder();
  const allowed = ['--sandbox', 'subprocess', '--allow-sandbox', 'subprocess', '--data', folder.path];
  for (let start = 0; start < 2; start++) {
    await using program = await serve(allowed);
    assert.match(
      program.output.stdout,
      /code runs in: {2}subprocess, but \d+ of its walls and limits are not enforced/,
    );
    assert.match(program.output.stderr, /"level":"warn","event":"sandbox\.no_walls"/);
    const { data } = await program.call('execute_code', hello);
    assert.equal(data.stdout, 'hello\n');
    assert.ok(data.unenforced.includes('filesystem') && data.unenforced.includes('network'));
  }
  recordProof('D14:subprocess-warned-at-every-start');
});

it('a backend that was asked for by name and is not there keeps the server from starting', async () => {
  await using folder = await temporaryFolder();
  const missing = ['--sandbox', 'docker', '--docker-socket', `${folder.path}/no.sock`, '--data', folder.path];
  const { code, stderr } = await run(['serve', '--port', '0', ...missing]);
  assert.notEqual(code, 0);
  assert.match(stderr, /no\.sock/);
});

/** With this, no sandbox works on any machine. */
const withoutPython = ['--python', '/nonexistent/python3'];

it('auto where no sandbox works serves files, and metrics and status say that code cannot be run', async () => {
  await using folder = await temporaryFolder();
  await using program = await serve(['--sandbox', 'auto', ...withoutPython, '--data', folder.path]);
  assert.match(program.output.stdout, /code runs in: {2}nothing\. /);
  assert.equal((await fetch(`${program.url}/readyz`)).status, 200);
  const metrics = await (await fetch(`${program.url}/metrics`)).text();
  assert.match(metrics, /^workcrate_sandbox_up\{sandbox="bubblewrap"\} 0$/m);
  assert.doesNotMatch(metrics, /^workcrate_sandbox_not_held\{/m);
  const { code, stdout } = await run(['status', '--data', folder.path]);
  assert.equal(code, 0);
  assert.match(stdout, /^code runs in: nothing\. /m);
});

it('bubblewrap that was asked for by name and does not work keeps the server from starting', async () => {
  await using folder = await temporaryFolder();
  const named = ['--sandbox', 'bubblewrap', ...withoutPython, '--data', folder.path];
  const { code, stdout, stderr } = await run(['serve', '--port', '0', ...named]);
  assert.deepEqual([code, stdout], [1, '']);
  assert.match(stderr, /^workcrate: The sandbox needs /m);
});

it('a sandbox that works is up, and what it does not enforce is a metric each', async () => {
  await using folder = await temporaryFolder();
  const allowed = ['--sandbox', 'subprocess', '--allow-sandbox', 'subprocess'];
  await using program = await serve([...allowed, '--data', folder.path]);
  const metrics = await (await fetch(`${program.url}/metrics`)).text();
  assert.match(metrics, /^workcrate_sandbox_up\{sandbox="subprocess"\} 1$/m);
  assert.match(metrics, /^workcrate_sandbox_not_held\{limit="filesystem"\} 1$/m);
  assert.match(metrics, /^workcrate_sandbox_not_held\{limit="environment"\} 0$/m);
});

it('no sandbox is down where the settings ask for none', async () => {
  await using folder = await temporaryFolder();
  await using program = await serve(['--sandbox', 'off', '--data', folder.path]);
  assert.doesNotMatch(await (await fetch(`${program.url}/metrics`)).text(), /^workcrate_sandbox_up\{/m);
});

it('without a setting code runs in bubblewrap where that works', { skip: noSandbox }, async () => {
  await using folder = await temporaryFolder();
  const program = ['env', '-u', 'WORKCRATE_SANDBOX', ...fromSource];
  await using started = await serve(['--data', folder.path], { program });
  assert.match(started.output.stdout, /code runs in: {2}bubblewrap/);
  assert.equal((await started.call('execute_code', hello)).data.stdout, 'hello\n');
  recordProof('D14:bubblewrap-is-the-default');
});

it('without a sandbox everything else works, and code is refused with the reason', async () => {
  await using folder = await temporaryFolder();
  await using program = await serve(['--sandbox', 'off', '--data', folder.path]);
  assert.match(program.output.stdout, /code runs in: {2}nothing\. It is switched off \(--sandbox off\)\./);
  const { failed, text } = await program.call('execute_code', hello);
  assert.ok(failed && /No code can be run here\. It is switched off/.test(text), text);
  assert.equal((await program.call('list_files', {})).failed, false);
});

it('/tools and /skills are the folders that were named, for reading alone', { skip: noSandbox }, async () => {
  await using folder = await temporaryFolder();
  const env: Record<string, string> = { WORKCRATE_SANDBOX: 'bubblewrap' };
  for (const name of ['tools', 'skills']) {
    // Runs have another uid.
    await mkdir(join(folder.path, name), { mode: 0o755 });
    await writeFile(join(folder.path, name, 'told.txt'), `of ${name}\n`, { mode: 0o644 });
    env[`MCP_${name.toUpperCase()}_PATH`] = join(folder.path, name);
  }
  await chmod(folder.path, 0o755);
  await using program = await serve(['--data', join(folder.path, 'data')], { env });
  const command = 'cat /tools/told.txt /skills/told.txt; touch /tools/x || touch /skills/x || echo kept';
  const { data, text } = await program.call('execute_bash', { command });
  assert.equal(data.stdout, 'of tools\nof skills\nkept\n', text);
  recordProof('A11:tools-and-skills-read-only', 'A11:tools-and-skills-settings');
});

it(
  'without a setting /tools and /skills are the folders of these names where the server was started',
  { skip: noSandbox },
  async () => {
    await using folder = await temporaryFolder();
    for (const name of ['tools', 'skills']) {
      await mkdir(join(folder.path, name, 'below'), { recursive: true, mode: 0o755 });
      await writeFile(join(folder.path, name, 'below', 'told.txt'), `of ./${name}\n`, { mode: 0o644 });
    }
    await chmod(folder.path, 0o755);
    const options = { env: { WORKCRATE_SANDBOX: 'bubblewrap' }, cwd: folder.path };
    await using program = await serve(['--data', join(folder.path, 'data')], options);
    const { data, text } = await program.call('execute_bash', { command: 'cat /{tools,skills}/below/*' });
    assert.equal(data.stdout, 'of ./tools\nof ./skills\n', text);
    recordProof('A11:tools-and-skills-defaults');
  },
);

it('the folders and the image have the defaults and the names of the specification', async () => {
  const [usual, named] = await Promise.all([
    run(['--print-config']),
    run(['--print-config'], {
      env: { MCP_EXECUTOR_IMAGE: 'other:1', MCP_TOOLS_PATH: '/t', MCP_SKILLS_PATH: '/s' },
    }),
  ]);
  assert.match(usual.stdout, /^tools_path: ".*\/tools" {2}# default$/m);
  assert.match(usual.stdout, /^skills_path: ".*\/skills" {2}# default$/m);
  assert.match(usual.stdout, /^executor_image: "mcp-code-executor:latest" {2}# default$/m);
  assert.match(named.stdout, /^tools_path: "\/t" {2}# MCP_TOOLS_PATH$/m);
  assert.match(named.stdout, /^skills_path: "\/s" {2}# MCP_SKILLS_PATH$/m);
  assert.match(named.stdout, /^executor_image: "other:1" {2}# MCP_EXECUTOR_IMAGE$/m);
});

it('doctor tells what of the sandbox works here', { skip: noSandbox }, async () => {
  await using folder = await temporaryFolder();
  const env = { WORKCRATE_SANDBOX: 'bubblewrap' };
  const { code, stdout } = await run(['doctor', '--port', '0', '--data', folder.path], { env });
  assert.equal(code, 0);
  for (const language of ['python 3', 'node 26', 'bash'])
    assert.ok(stdout.includes(`bubblewrap runs ${language}`), stdout);
  assert.match(stdout, /^(?:ok  |note) {3}runs have Python 3\.\d+ with/m);
  assert.match(stdout, /bubblewrap (?:enforces every wall and limit|does not enforce: \w+)/);
});

it(
  'hard limits of the server that are low are told, and runs work within them',
  { skip: noSandbox },
  async () => {
    await using folder = await temporaryFolder();
    const low = 'ulimit -n 300; ulimit -c 0; ulimit -f 1000000; exec "$@"';
    const options = {
      env: { WORKCRATE_SANDBOX: 'bubblewrap' },
      program: ['bash', '-c', low, 'bash', ...fromSource],
    };
    const { stdout } = await run(['doctor', '--port', '0', '--data', folder.path], options);
    assert.match(stdout, /bubblewrap runs bash 5/);
    assert.match(
      stdout,
      /^note {3}A process of a run has at most 300 open files .*ulimit -Hn.*LimitNOFILE=/m,
    );
    await using program = await serve(['--data', folder.path], options);
    assert.match(program.output.stderr, /"event":"sandbox\.limit_lowered".*at most 300 open files/);
    const { data } = await program.call('execute_code', { language: 'bash', code: 'ulimit -n; ulimit -Hf' });
    assert.equal(data.stdout, '300\n1000000\n');
    const execution = await program.call('get_execution', { execution_id: data.execution_id });
    assert.equal(execution.data.limits.file_bytes, 1_024_000_000);
  },
);

it('subprocess, which cannot mount, tells the real folders and finds what is written there', async () => {
  await using folder = await temporaryFolder();
  await chmod(folder.path, 0o711);
  const [tools, data] = [join(folder.path, 'tools'), join(folder.path, 'data')];
  await mkdir(tools);
  await writeFile(join(tools, 'tool.txt'), 'a tool');
  await mkdir(data, { mode: 0o711 });
  const allowed = ['--sandbox', 'subprocess', '--allow-sandbox', 'subprocess', '--tools-path', tools];
  await using program = await serve([...allowed, '--data', data]);
  // As root, runs have another uid: the operator opens the way to their folders, as sandbox.place_closed says.
  for (const closed of ['', 'places', 'places/1']) await chmod(join(data, closed), 0o711);
  const first = await program.call('execute_bash', {
    command: 'echo by home > ~/artifacts/one.txt; cat ~/tools/tool.txt',
  });
  assert.equal(first.data.stdout, 'a tool', first.text);
  const { artifacts, workspace } = first.data.folders;
  assert.ok(first.text.includes(`/artifacts is ${artifacts}, /tools is ${tools}`), first.text);
  const code = `open(${JSON.stringify(`${artifacts}/two.txt`)}, 'w').write('by its path')`;
  const second = await program.call('execute_code', { language: 'python', code });
  assert.deepEqual(second.data.artifacts.created, ['/artifacts/two.txt']);
  assert.deepEqual((await program.call('list_artifacts', {})).data.artifacts, ['one.txt', 'two.txt']);
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(new StreamableHTTPClientTransport(new URL(`${program.url}/mcp?structured=1`)));
  const { tools: offered } = await client.listTools();
  await client.close();
  for (const { description = '' } of offered.filter(({ name }) => name.startsWith('execute_')))
    assert.ok(description.includes(`/workspace is ${workspace}, /artifacts is ${artifacts}`), description);
  recordProof('A11:subprocess-tells-the-real-folders');
});
