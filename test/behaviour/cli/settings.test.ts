import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { it } from 'node:test';
import { run, serve, temporaryFolder, upload } from './program.testing.ts';
import { recordProof } from '../../requirements/requirements.testing.ts';

async function configFile(text: string) {
  const folder = await temporaryFolder();
  const path = join(folder.path, 'workcrate.yaml');
  await writeFile(path, text);
  return { ...folder, path };
}

it('--print-config shows every setting with where it came from, and no secret', async () => {
  await using file = await configFile('sweep_interval: 60\nwebhook_secret: hush-from-file\n');
  const env = { MCP_FILE_TTL: '7200', WORKCRATE_DATABASE: 'postgres://me:hush@host/db' };
  const { code, stdout, stderr } = await run(['--print-config', '--port', '1', '--config', file.path], {
    env,
  });
  assert.deepEqual([code, stderr], [0, '']);
  const lines = stdout.split('\n');
  for (const line of [
    'host: "127.0.0.1"  # default',
    'port: 1  # --port',
    'file_ttl: 7200  # MCP_FILE_TTL',
    `sweep_interval: 60  # ${file.path}, line 1: sweep_interval`,
    `# webhook_secret: (set, not shown)  # ${file.path}, line 2: webhook_secret`,
    '# database: (set, not shown)  # WORKCRATE_DATABASE',
    'public_url: ""  # default',
    'tools: ["default"]  # default',
  ])
    assert.ok(lines.includes(line), `${line}\n--- in\n${stdout}`);
  assert.doesNotMatch(stdout, /hush/);
});

it('MCP_HOST and MCP_PORT say what links carry, MCP_FILES_DIR where bytes are, MCP_FILE_TTL how long', async () => {
  const env = { MCP_HOST: 'My-Laptop', MCP_PORT: '9999', MCP_FILES_DIR: '/bytes', MCP_FILE_TTL: '60' };
  const { stdout } = await run(['--print-config'], { env });
  for (const line of [
    'host: "127.0.0.1"  # default',
    'port: 9180  # default',
    'link_host: "my-laptop"  # MCP_HOST',
    'link_port: 9999  # MCP_PORT',
    'files_dir: "/bytes"  # MCP_FILES_DIR',
    'file_ttl: 60  # MCP_FILE_TTL',
  ])
    assert.ok(stdout.includes(`${line}\n`), line);
  const both = await run(['--print-config'], { env: { ...env, WORKCRATE_LINK_PORT: '9998' } });
  assert.match(both.stdout, /^link_port: 9998 {2}# WORKCRATE_LINK_PORT$/m);
});

it('a flag wins over the environment, that over the config file, that over the default', async () => {
  await using file = await configFile('port: 3\n');
  const config = ['--print-config', '--config', file.path];
  const portOf = async (args: string[], env: Record<string, string>) =>
    /^port: (.*)$/m.exec((await run(args, { env })).stdout)?.[1];
  assert.equal(await portOf(['--print-config'], {}), '9180  # default');
  assert.equal(await portOf(config, {}), `3  # ${file.path}, line 1: port`);
  assert.equal(
    await portOf(['--print-config'], { WORKCRATE_CONFIG: file.path }),
    `3  # ${file.path}, line 1: port`,
  );
  assert.equal(await portOf(config, { WORKCRATE_PORT: '2' }), '2  # WORKCRATE_PORT');
  assert.equal(await portOf([...config, '--port', '1'], { WORKCRATE_PORT: '2' }), '1  # --port');
  assert.equal(await portOf(['--print-config'], { WORKCRATE_PORT: '' }), '9180  # default');
});

const brokenFiles: [string, string, string][] = [
  ['a YAML syntax error', 'port: 1\nhost: "127.0.0.1\n', 'line 3: Missing closing "quote'],
  [
    'a value of the wrong kind',
    '# ours\nport: many\n',
    'line 2: port takes a whole number from 0 to 65535, not "many"',
  ],
  [
    'an unknown key',
    'port: 1\nprot: 2\n',
    'line 2: unknown key "prot". Did you mean port? npx workcrate --print-config lists all keys',
  ],
  ['a key given twice', 'port: 1\nhost: localhost\nport: 2\n', 'line 3: Map keys must be unique'],
  ['a key below a key', 'port:\n  number: 1\n', 'line 2: unknown key "port.number"'],
  ['no keys at all', 'port 1\n', 'line 1: the file must hold `key: value` lines'],
  ['broken JSON', '{\n  "port": 1,\n  "host": \n', 'line 3: Flow map must end with a }'],
];

for (const [what, text, expected] of brokenFiles)
  it(`a config file with ${what} is refused, naming the file and the line`, async () => {
    await using file = await configFile(text);
    const { code, stdout, stderr } = await run(['serve', '--config', file.path]);
    assert.ok(stderr.startsWith(`workcrate: ${file.path}, ${expected}`), stderr);
    assert.match(stderr, /^[^\n]+\n$/);
    assert.deepEqual([code, stdout], [2, '']);
  });

it('a config file that is not there is refused by name', async () => {
  const { code, stderr } = await run(['serve', '--config', '/nonexistent/workcrate.yaml']);
  assert.equal(
    stderr,
    'workcrate: cannot read the config file /nonexistent/workcrate.yaml: there is no such file\n',
  );
  assert.equal(code, 2);
});

it('a variable with a value that it does not take is refused by its own name', async () => {
  const { code, stderr } = await run(['serve'], { env: { MCP_FILE_TTL: '1y' } });
  assert.match(
    stderr,
    /^workcrate: MCP_FILE_TTL takes a number of seconds from 1 to \d+, or a time such as 90s, 15m, 12h or 30d, not "1y"\n$/,
  );
  assert.equal(code, 2);
});

it('links name the public address, while the server listens on loopback and answers to both names', async () => {
  await using folder = await temporaryFolder();
  const publicUrl = 'https://files.example.org/crate';
  await using program = await serve(['--data', folder.path, '--public-url', `${publicUrl}/`]);
  assert.match(program.url, /^http:\/\/127\.0\.0\.1:\d+$/);
  const { data: promised } = await program.call('request_upload', { filename: 'a.txt' });
  assert.ok(promised.uploadUrl.startsWith(`${publicUrl}/uploads/`));
  const local = (url: string): string => url.replace(publicUrl, program.url);
  const sent = await fetch(local(promised.uploadUrl), { method: 'PUT', body: 'hello' });
  const { file_id } = (await sent.json()) as { file_id: string };
  const { data: link } = await program.call('share_file', { file_id });
  assert.ok(link.downloadUrl.startsWith(`${publicUrl}/files/`));
  const asked = (host: string): Promise<number> => statusFor(local(link.downloadUrl), host);
  assert.deepEqual(
    [await asked('files.example.org'), await asked('localhost:9180'), await asked('other.example.org')],
    [200, 200, 403],
  );
  recordProof('C8:public-url-overrides');
});

it('MCP_FILES_DIR keeps the bytes apart from the data folder', async () => {
  await using data = await temporaryFolder();
  await using bytes = await temporaryFolder();
  const env = { MCP_FILES_DIR: bytes.path };
  await using program = await serve(['--data', data.path], { env });
  await upload(program, 'a.txt', 'hello');
  assert.equal(await program.end('SIGTERM'), 0);
  assert.match(
    (await run(['check', '--read-data', '--data', data.path], { env })).stdout,
    /checked 1 files, 5 bytes: all is well/,
  );
  assert.match((await run(['check', '--data', data.path])).stdout, /its bytes are gone/);
  recordProof('C8:files-dir');
});

/** fetch does not let a Host be set. */
async function statusFor(url: string, host: string): Promise<number> {
  const { request } = await import('node:http');
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  request(url, { headers: { Host: host } }, (answer) => resolve(answer.resume().statusCode!))
    .on('error', reject)
    .end();
  return promise;
}

it('the output that is shown is set by three settings, which have to fit together', async () => {
  await using folder = await temporaryFolder();
  const { code, stderr } = await run([
    'serve',
    '--port',
    '0',
    '--data',
    folder.path,
    '--output-chars',
    '5000',
  ]);
  assert.equal(code, 2);
  assert.match(
    stderr,
    /^workcrate: --output-head 4000 and --output-tail 4000 are more than --output-chars 5000/m,
  );
  const env = { WORKCRATE_OUTPUT_HEAD: '1000', WORKCRATE_OUTPUT_TAIL: '3000' };
  const sandbox = ['--sandbox', 'subprocess', '--allow-sandbox', 'subprocess'];
  await using server = await serve(['--data', folder.path, '--output-chars', '5000', ...sandbox], { env });
  const shown = async (characters: number): Promise<string> => {
    const code = `process.stdout.write('a'.repeat(1500) + 'b'.repeat(${characters - 5000}) + 'c'.repeat(3500))`;
    return (await server.call('execute_code', { language: 'node', code })).data.stdout;
  };
  assert.equal((await shown(5000)).length, 5000);
  assert.equal(await shown(5001), `${'a'.repeat(1000)}\n[... truncated 1001 chars ...]\n${'c'.repeat(3000)}`);
  assert.equal(await server.end('SIGTERM'), 0);
  recordProof('D7:three-settings');
});
