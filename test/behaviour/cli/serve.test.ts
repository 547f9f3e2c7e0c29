import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { request, type IncomingMessage } from 'node:http';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { it } from 'node:test';
import { run, serve, temporaryFolder, upload, type Program } from './program.testing.ts';
import { recordProof } from '../../requirements/requirements.testing.ts';

it('serve --port 0 prints where it listens in its first line, then how to connect', async () => {
  await using folder = await temporaryFolder();
  await using program = await serve(['--data', folder.path]);
  const [first, ...more] = program.output.stdout.split('\n');
  assert.match(first!, /^workcrate listening on http:\/\/127\.0\.0\.1:[1-9]\d*$/);
  assert.ok(more.includes(`  data folder:   ${folder.path}`));
  assert.ok(more.includes(`  Claude Code:   claude mcp add --transport http workcrate ${program.url}/mcp`));
  assert.equal(await (await fetch(`${program.url}/readyz`)).text(), 'ok\n');
});

it('serve writes nothing but the greeting to stdout, and nothing but JSON lines to stderr', async () => {
  await using folder = await temporaryFolder();
  await using program = await serve(['--data', folder.path, '--log-level', 'debug']);
  const greeting = program.output.stdout;
  const { file_id } = await upload(program, 'a.txt', 'hello');
  const { data } = await program.call('share_file', { file_id });
  assert.equal(await (await fetch(data.downloadUrl)).text(), 'hello');
  assert.equal((await fetch(`${program.url}/files/unknown`)).status, 404);
  assert.equal(await program.end('SIGINT'), 0);
  assert.equal(program.output.stdout, greeting);
  const lines = program.output.stderr.trimEnd().split('\n');
  const events = new Set(lines.map((line) => (JSON.parse(line) as { event: string }).event));
  for (const event of ['start.orphans_removed', 'upload.complete', 'link.served', 'http.refused', 'stopping'])
    assert.ok(events.has(event), event);
});

it('links carry MCP_HOST and MCP_PORT, the server listens elsewhere, and answers to that name', async () => {
  await using folder = await temporaryFolder();
  const env = { MCP_HOST: 'my-laptop.example', MCP_PORT: '9999' };
  await using program = await serve(['--data', folder.path], { env });
  assert.match(program.url, /^http:\/\/127\.0\.0\.1:\d+$/);
  const { data } = await program.call('request_upload', { filename: 'a.txt' });
  const { origin, pathname } = new URL(data.uploadUrl as string);
  assert.equal(origin, 'http://my-laptop.example:9999');
  const sent = request(program.url + pathname, {
    method: 'HEAD',
    headers: { Host: 'my-laptop.example:9999' },
  });
  const [answer] = (await once(sent.end(), 'response')) as [IncomingMessage];
  assert.equal(answer.statusCode, 200);
  assert.match(program.output.stdout, /^ {2}links: +http:\/\/my-laptop\.example:9999\/files\/…$/m);
  const stranger = request(program.url + pathname, {
    method: 'HEAD',
    headers: { Host: 'other.example:9999' },
  });
  const [refused] = (await once(stranger.end(), 'response')) as [IncomingMessage];
  assert.equal(refused.statusCode, 403);
  recordProof('C8:link-host-and-port');
});

it('a bundle is sent without a temporary file, in the data folder or in TMPDIR', async () => {
  await using folder = await temporaryFolder();
  const [data, temporary] = [join(folder.path, 'data'), join(folder.path, 'tmp')];
  mkdirSync(temporary);
  await using program = await serve(['--data', data], { env: { TMPDIR: temporary } });
  const file_ids: string[] = [];
  for (const name of ['one', 'two'])
    file_ids.push((await upload(program, name, new Uint8Array(randomBytes(4_000_000)))).file_id);
  const list = () =>
    [data, temporary].map((path) => readdirSync(path, { recursive: true }).map(String).toSorted());
  const before = list();
  const { data: bundle } = await program.call('bundle_files', { file_ids });
  const { body } = await fetch(bundle.downloadUrl);
  let bytes = 0;
  for await (const chunk of body!) {
    if (bytes === 0) assert.deepEqual(list(), before, 'while it is sent');
    bytes += chunk.length;
  }
  assert.equal(bytes, bundle.size);
  assert.deepEqual(list(), before);
  recordProof('C9:no-temp-file');
});

it('a server that listens on all addresses makes links to localhost', async () => {
  await using folder = await temporaryFolder();
  const added = await run(['user', 'add', 'ada', '--data', folder.path]);
  const key = /wck_[\w-]{43}/.exec(added.stdout)![0];
  const flags = ['--data', folder.path, '--host', '0.0.0.0', '--auth', 'keys'];
  await using program = await serve(flags);
  const { port } = new URL(program.url);
  assert.match(
    program.output.stdout,
    new RegExp(`claude mcp add \\S+ http workcrate http://localhost:${port}/mcp `),
  );
  // The links themselves, and they lead to the server.
  const there = ['--url', `http://127.0.0.1:${port}/mcp`, '--key', key];
  const linkOf = async (...words: string[]): Promise<string> => {
    const { stdout, stderr } = await run(['call', ...words, ...there]);
    const link = /http:\/\/localhost:\d+\/(?:files|uploads)\/[\w-]+/.exec(stdout)?.[0] ?? '';
    assert.ok(link.startsWith(`http://localhost:${port}/`), stdout + stderr);
    return link;
  };
  const sent = await fetch(await linkOf('request_upload', 'filename=a.txt'), {
    method: 'PUT',
    body: 'hello',
  });
  const { file_id } = (await sent.json()) as { file_id: string };
  const got = await fetch(await linkOf('share_file', `file_id=${file_id}`));
  assert.equal(await got.text(), 'hello');
  recordProof('C8:localhost-for-a-wildcard');
});

it('with --public-url and --auth, the lines that connect clients carry both', async () => {
  await using folder = await temporaryFolder();
  const flags = ['--data', folder.path, '--public-url', 'https://crate.example/base'];
  await using program = await serve([...flags, '--auth', 'keys']);
  const { stdout } = program.output;
  const lines = stdout.split('\n').filter((line) => /Claude Code:|VS Code:|other clients:/.test(line));
  assert.equal(lines.length, 3);
  for (const line of lines) {
    assert.ok(line.includes('https://crate.example/base/mcp'), line);
    assert.ok(line.includes('Bearer YOUR_KEY'), line);
  }
  const added = await run(['user', 'add', 'ada', '--data', folder.path]);
  const [key] = /wck_\S+/.exec(added.stdout)!;
  const claude = `claude mcp add --transport http workcrate https://crate.example/base/mcp --header "Authorization: Bearer ${key}"`;
  assert.ok(added.stdout.includes(claude), added.stdout);
  const [, entry] = /code --add-mcp '(.*)'/.exec(added.stdout)!;
  assert.deepEqual(JSON.parse(entry!), {
    name: 'workcrate',
    type: 'http',
    url: 'https://crate.example/base/mcp',
    headers: { Authorization: `Bearer ${key}` },
  });
  assert.match(added.stdout, /^Scopes: .*files.*\. Never expires\.$/m);
});

it('a port that another workcrate has is refused with its name, and leaves no data folder', async () => {
  await using folder = await temporaryFolder();
  await using program = await serve(['--data', join(folder.path, 'one')]);
  const { port } = new URL(program.url);
  const two = join(folder.path, 'two');
  const { code, stdout, stderr } = await run(['serve', '--data', two, '--port', port]);
  assert.equal(
    stderr,
    `workcrate: Port ${port} on 127.0.0.1 is in use by another workcrate. Stop that one, or start this one with another folder and port: --data DIR --port 0.\n`,
  );
  assert.deepEqual([code, stdout, existsSync(two)], [1, '', false]);
});

it('a port in use is refused with the remedy', async () => {
  await using folder = await temporaryFolder();
  await using occupant = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1');
  await once(occupant, 'listening');
  const { port } = occupant.address() as AddressInfo;
  const { code, stdout, stderr } = await run([
    'serve',
    '--data',
    folder.path,
    '--port',
    String(port),
    '--log-level',
    'off',
  ]);
  assert.equal(
    stderr,
    `workcrate: Port ${port} on 127.0.0.1 is in use by another program. Stop that one, choose another with --port, or let --port 0 find a free one.\n`,
  );
  assert.deepEqual([code, stdout], [1, '']);
});

for (const host of ['0.0.0.0', '::', '10.0.0.1', 'example.org', '::ffff:127.0.0.1'])
  it(`a bind to ${host} is refused with the remedy, before the data folder is touched`, async () => {
    const { code, stdout, stderr } = await run(['serve', '--host', host, '--data', '/proc/nowhere']);
    assert.match(
      stderr,
      new RegExp(`^workcrate: Workcrate does not listen on ${host.replaceAll('.', '\\.')}: .*\\n$`),
    );
    assert.match(stderr, /listen on 127\.0\.0\.1 and put a proxy with authentication in front; --public-url/);
    assert.deepEqual([code, stdout], [1, '']);
  });

it('serves on the IPv6 loopback when asked to', async (t) => {
  await using folder = await temporaryFolder();
  const probe = await run(['doctor', '--host', '::1', '--port', '0', '--data', folder.path]);
  if (probe.code !== 0) return t.skip('this machine has no ::1');
  await using program = await serve(['--data', folder.path, '--host', '::1']);
  assert.match(program.url, /^http:\/\/\[::1\]:\d+$/);
  assert.equal((await fetch(`${program.url}/livez`)).status, 200);
});

it('SIGTERM ends it with exit code 0 within seconds, with a download, an upload and a stream under way', async () => {
  await using folder = await temporaryFolder();
  await using program = await serve(['--data', folder.path, '--drain-timeout', '1']);
  await slowDownload(program);
  await slowUpload(program);
  await openStream(program);
  assert.equal(await program.end('SIGTERM'), 0);
  for (const line of program.output.stderr.trimEnd().split('\n')) {
    const { level } = JSON.parse(line) as { level: string };
    assert.notEqual(level, 'error', line);
  }
  const checked = await run(['check', '--read-data', '--data', folder.path]);

  assert.match(checked.stdout, /checked 1 files, 33554432 bytes: all is well/);
});

it('SIGTERM with nobody there ends it at once', async () => {
  await using folder = await temporaryFolder();
  await using program = await serve(['--data', folder.path]);
  await fetch(`${program.url}/livez`);
  assert.equal(await program.end('SIGTERM'), 0);
});

/** Reads the headers and the first bytes of a download that is too large for the buffers between. */
async function slowDownload(program: Program): Promise<void> {
  const { file_id } = await upload(program, 'large.bin', randomBytes(32 * 1024 * 1024));
  const { data } = await program.call('share_file', { file_id });
  const answer = await fetch(data.downloadUrl as string);
  const reader = answer.body!.getReader();
  await reader.read();
  reader.closed.catch(() => {});
}

/** Sends the first half of a file, and then nothing. */
async function slowUpload(program: Program): Promise<void> {
  const { data } = await program.call('request_upload', { filename: 'half.bin' });
  const taken = Promise.withResolvers<void>();
  const body = new ReadableStream({
    pull(controller) {
      controller.enqueue(randomBytes(100_000));
      taken.resolve();
      return new Promise(() => {});
    },
  });
  fetch(data.uploadUrl as string, { method: 'PUT', body, duplex: 'half' }).catch(() => {});
  await taken.promise;
}

/** The stream that a client of MCP 2025-11-25 listens on for what the server has to say. */
async function openStream(program: Program): Promise<void> {
  const params = {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'old', version: '1' },
  };
  const headers = { Accept: 'application/json, text/event-stream', 'Content-Type': 'application/json' };
  const greeted = await fetch(`${program.url}/mcp`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params }),
  });
  await greeted.text();
  const session = {
    'Mcp-Session-Id': greeted.headers.get('mcp-session-id')!,
    'MCP-Protocol-Version': '2025-11-25',
  };
  const stream = await fetch(`${program.url}/mcp`, { headers: { Accept: 'text/event-stream', ...session } });
  assert.equal(stream.headers.get('content-type'), 'text/event-stream');
  stream.text().catch(() => {});
}
