import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { it } from 'node:test';
import { statusShape, type ServerStatus } from '../../../src/server/status.ts';
import { run, serve, temporaryFolder, upload } from '../cli/program.testing.ts';

it('status asks the server of the data folder, whatever port it took, and prints a line for each thing', async () => {
  await using folder = await temporaryFolder();
  await using program = await serve(['--data', folder.path]);
  const { file_id } = await upload(program, 'a.txt', 'hello');
  await program.call('share_file', { file_id });
  const { code, stdout, stderr } = await run(['status', '--data', folder.path]);
  assert.deepEqual([code, stderr], [0, '']);
  const lines = new Map(stdout.split('\n').map((line) => [line.slice(0, 14).trim(), line.slice(14)]));
  assert.ok(lines.get('server:')?.includes(program.url));
  assert.equal(lines.get('ready:'), 'yes');
  assert.equal(lines.get('database:'), 'sqlite');
  assert.equal(lines.get('storage:'), 'disk');
  assert.equal(lines.get('files:'), '1 of 1000000, 5 bytes of 256 GB');
  assert.equal(lines.get('links:'), '1 active; made since the start: 1 upload, 1 file');
  assert.equal(lines.get('executions:'), '0 succeeded, 0 failed; since the start: none');
  assert.match(lines.get('runs:')!, /^0 of 8 running, 0 waiting, 0 interpreters ready$/);
  assert.match(lines.get('users:')!, /^1, no auth$/);
  assert.match(lines.get('disk:')!, /^[\d.]+ [GMT]B of [\d.]+ [GMT]B free$/);
  assert.match(lines.get('last sweep:')!, /^\d{4}-/);
});

it('status --json is what /status answers, and --url and --port name the server as well', async () => {
  await using folder = await temporaryFolder();
  await using elsewhere = await temporaryFolder();
  await using program = await serve(['--data', folder.path]);
  const answered = (await (await fetch(`${program.url}/status`)).json()) as ServerStatus;
  assert.ok(statusShape.safeParse(answered).success);
  const steady = ({ version, started_at, backends, files }: ServerStatus) => ({
    version,
    started_at,
    backends,
    files,
  });
  for (const named of [
    ['--url', program.url],
    ['--url', `${program.url}/`],
    ['--port', new URL(program.url).port],
  ]) {
    const { code, stdout } = await run(['status', '--json', '--data', elsewhere.path, ...named]);
    assert.equal(code, 0);
    assert.deepEqual(steady(JSON.parse(stdout) as ServerStatus), steady(answered));
  }
});

it('a server that is not ready says why, and the exit code is 1', async () => {
  const told = { ...sample, ready: false, not_ready_because: 'The disk is full.' };
  await using server = await answering(200, told);
  const { code, stdout } = await run(['status', '--url', server.url]);
  assert.equal(code, 1);
  assert.match(stdout, /^ready: +no: The disk is full\.$/m);
});

it('where nothing listens, the error says so and what to do; a stopped server leaves no address behind', async () => {
  await using folder = await temporaryFolder();
  const program = await serve(['--data', folder.path]);
  assert.ok(existsSync(join(folder.path, 'url')));
  await program.end('SIGTERM');
  assert.ok(!existsSync(join(folder.path, 'url')));
  const killed = await serve(['--data', folder.path]);
  await killed.end('SIGKILL');
  const { code, stderr } = await run(['status', '--data', folder.path]);
  assert.equal(code, 1);
  assert.ok(stderr.startsWith(`workcrate: Nothing answers at ${killed.url}. Is the server running?`), stderr);
});

it('a folder without a server is told as such, and no other server is asked in its place', async () => {
  await using folder = await temporaryFolder();
  for (const data of [folder.path, join(folder.path, 'missing')]) {
    const { code, stdout, stderr } = await run(['status', '--data', data]);
    assert.deepEqual([code, stdout], [1, '']);
    assert.ok(stderr.startsWith(`workcrate: No server is running with the data folder ${data}.`), stderr);
  }
});

it('another server that took the port of a killed one is not reported as the killed one', async () => {
  await using folder = await temporaryFolder();
  await using other = await temporaryFolder();
  const killed = await serve(['--data', folder.path]);
  await killed.end('SIGKILL');
  await using program = await serve(['--data', other.path, '--port', new URL(killed.url).port]);
  const { code, stdout, stderr } = await run(['status', '--data', folder.path]);
  assert.deepEqual([code, stdout], [1, '']);
  assert.match(stderr, /crashed; another server is there now/);
  assert.equal((await run(['status', '--data', other.path])).code, 0, program.url);
});

it('the key goes to the server and is printed nowhere; what the server says to it is told with the remedy', async () => {
  const cases: [number, string[], Record<string, string>, RegExp][] = [
    [401, [], {}, /requires a key\. Set WORKCRATE_KEY/],
    [401, [], { WORKCRATE_KEY: 'hush-key' }, /does not know this key\. Set WORKCRATE_KEY/],
    [403, ['--key', 'hush-key'], {}, /scope metrics or operator.*workcrate user add/],
  ];
  for (const [status, flags, env, expected] of cases) {
    await using server = await answering(status, { error: 'no', code: 'unauthorized' });
    const { code, stdout, stderr } = await run(['status', '--url', server.url, ...flags], { env });
    assert.deepEqual([code, stdout], [1, '']);
    assert.match(stderr, expected);
    assert.doesNotMatch(stderr, /hush/);
    const key = flags[1] ?? env['WORKCRATE_KEY'];
    assert.equal(server.asked[0], key === undefined ? undefined : `Bearer ${key}`);
  }
});

it('with auth on, status and metrics are for operators, and sign-ins are counted', async () => {
  await using folder = await temporaryFolder();
  const keyOf = async (name: string, scopes: string): Promise<string> => {
    const { stdout, stderr } = await run(['user', 'add', name, '--scopes', scopes, '--data', folder.path]);
    return /wck_\S+/.exec(stdout)?.[0] ?? assert.fail(stdout + stderr);
  };
  const [operator, other] = [await keyOf('boss', 'operator'), await keyOf('me', 'files')];
  await using program = await serve(['--data', folder.path, '--auth', 'keys']);
  const codes: (number | null)[] = [];
  for (const key of [undefined, 'wck_wrong', other, operator]) {
    const env = key === undefined ? {} : { WORKCRATE_KEY: key };
    const { code, stdout, stderr } = await run(['status', '--data', folder.path], { env });
    codes.push(code);
    for (const secret of [operator, other]) assert.ok(!(stdout + stderr).includes(secret));
    if (key === operator) assert.match(stdout, /^users: +2, auth by keys$/m);
  }
  assert.deepEqual(codes, [1, 1, 1, 0]);
  const headers = { Authorization: `Bearer ${operator}` };
  const text = await (await fetch(`${program.url}/metrics`, { headers })).text();
  assert.match(text, /^workcrate_auth_total\{result="ok"\} 3$/m);
  assert.match(text, /^workcrate_auth_total\{result="refused"\} 1$/m);
  assert.ok(!program.output.stderr.includes(operator));
});

it('a key is not carried on by a redirect, and what is no Workcrate is not taken for one', async () => {
  await using other = await answering(200, sample);
  await using redirecting = await answering(302, {}, { Location: `${other.url}/status` });
  await using stranger = await answering(200, { hello: 'world' });
  for (const { url } of [redirecting, stranger]) {
    const { code, stderr } = await run(['status', '--url', url], { env: { WORKCRATE_KEY: 'hush-key' } });
    assert.equal(code, 1);
    assert.match(stderr, /is not a Workcrate, or does not show its status/);
  }
  assert.deepEqual(other.asked, []);
  const wrong = await run(['status', '--url', 'ftp://example.org']);
  assert.deepEqual([wrong.code, wrong.stderr], [2, 'workcrate: --url takes an http:// or https:// URL.\n']);
});

const sample: ServerStatus = {
  version: '1',
  instance: '0',
  server: 'here:/data',
  node: '26',
  started_at: '2026-01-01T00:00:00.000Z',
  uptime_seconds: 90_061,
  ready: true,
  not_ready_because: null,
  backends: { database: 'postgres', storage: 's3', sandbox: 'bubblewrap', auth: ['keys'] },
  users: 2,
  files: { kept: 1, bytes: 1, most_files: 10, most_bytes: 10 },
  links: { active: 0, made: {} },
  executions: { succeeded: 0, failed: 0, ended: {} },
  runs: { running: 0, queued: 0, warm: 0, most: 8 },
  sessions: 0,
  transfers: { in: 0, out: 0 },
  errors: {},
  disk: null,
  last_sweep: null,
};

/** A server that gives one answer, and remembers the Authorization of who asked. */
async function answering(status: number, body: object, headers: Record<string, string> = {}) {
  const asked: (string | undefined)[] = [];
  const server: Server = createServer((req, res) => {
    asked.push(req.headers.authorization);
    res.writeHead(status, { 'Content-Type': 'application/json', ...headers }).end(JSON.stringify(body));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    asked,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
