import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { it } from 'node:test';
import { run, serve, temporaryFolder, upload, type Program } from './program.testing.ts';

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

it('a port in use is refused with the remedy', async () => {
  await using folder = await temporaryFolder();
  await using occupant = createServer().listen(0, '127.0.0.1');
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
    assert.match(stderr, /Listen on 127\.0\.0\.1 and put a proxy with authentication in front; --public-url/);
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
