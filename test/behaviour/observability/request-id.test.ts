import assert from 'node:assert/strict';
import { it } from 'node:test';
import { Client, StreamableHTTPClientTransport, type ClientOptions } from '@modelcontextprotocol/client';
import { eventually } from '../../../src/platform/eventually.testing.ts';
import { serve, temporaryFolder, upload as sendTo } from '../cli/program.testing.ts';
import { share, startServer, type TestServer } from '../../server.testing.ts';

const uuid = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/;

const asked = (server: TestServer, path: string, id?: string): Promise<Response> =>
  fetch(new URL(path, server.url), id === undefined ? {} : { headers: { 'X-Request-Id': id } });

const linesOf = (server: TestServer, id: string): { event: string }[] =>
  server.logged
    .map((line) => JSON.parse(line) as { event: string; request?: string })
    .filter(({ request }) => request === id);

it('an id that came with a request is told in the answer; another one is made for each that has none', async () => {
  await using server = await startServer();
  for (const path of ['/livez', '/nowhere', '/executions', '/files/none', '/uploads/none'])
    assert.equal(
      (await asked(server, path, 'from-a.Proxy_1')).headers.get('x-request-id'),
      'from-a.Proxy_1',
      path,
    );
  const made = await Promise.all(['/livez', '/livez', '/files/none'].map((path) => asked(server, path)));
  const ids = made.map((answer) => answer.headers.get('x-request-id') ?? '');
  for (const id of ids) assert.match(id, uuid);
  assert.equal(new Set(ids).size, 3);
});

it('an id that is not sane is not repeated anywhere', async () => {
  await using server = await startServer();
  for (const id of ['two words', 'x'.repeat(65), 'a"b', 'a,b', '<script>']) {
    const { headers } = await asked(server, '/files/none', id);
    assert.match(headers.get('x-request-id') ?? '', uuid);
  }
  assert.ok(!server.logged.some((line) => /two words|x{65}|script|a,b/.test(line)));
});

it('a good answer to /files tells an id only where one was given; a refusal tells one always', async () => {
  await using folder = await temporaryFolder();
  await using program = await serve(['--data', folder.path]);
  const { file_id } = await sendTo(program, 'a.txt', 'hello');
  const { downloadUrl } = (await program.call('share_file', { file_id })).data as { downloadUrl: string };
  const plain = await fetch(downloadUrl);
  assert.deepEqual([await plain.text(), plain.headers.get('x-request-id')], ['hello', null]);
  const named = await fetch(downloadUrl, { headers: { 'X-Request-Id': 'mine' } });
  assert.deepEqual([await named.text(), named.headers.get('x-request-id')], ['hello', 'mine']);
  const refused = await fetch(`${program.url}/files/none`);
  const id = refused.headers.get('x-request-id') ?? '';
  assert.match(id, uuid);
  await program.end('SIGTERM');
  assert.match(program.output.stderr, new RegExp(`"event":"http.refused","request":"${id}"`));
});

it('where debug lines are written, the line of a download has its id', async () => {
  await using server = await startServer();
  const { downloadUrl } = await share(server, 'hello');
  const answer = await asked(server, downloadUrl);
  await answer.text();
  const lines = () => linesOf(server, answer.headers.get('x-request-id')!);
  // An answer ends for the client a moment before that is told.
  await eventually(() => lines().length > 0);
  assert.deepEqual(
    lines().map(({ event }) => event),
    ['link.served'],
  );
});

const lanes = {
  'without a session': { versionNegotiation: { mode: { pin: '2026-07-28' } } },
  'with a session': { supportedProtocolVersions: ['2025-11-25'] },
} as const;

for (const [lane, options] of Object.entries(lanes))
  it(`the line of a tool call ${lane} has the id of the request that made it`, async () => {
    await using server = await startServer();
    const client = new Client({ name: 'ids', version: '1' }, options as ClientOptions);
    const headers = { 'X-Request-Id': 'call-17' };
    await client.connect(
      new StreamableHTTPClientTransport(new URL('/mcp', server.url), { requestInit: { headers } }),
    );
    await client.callTool({ name: 'list_files', arguments: {} });
    await client.close();
    await eventually(() => linesOf(server, 'call-17').some(({ event }) => event === 'tool.called'));
  });

it('the line of a refusal has the id that the answer tells', async () => {
  await using server = await startServer();
  const answer = await asked(server, '/files/none');
  const [line] = linesOf(server, answer.headers.get('x-request-id')!);
  assert.equal(line?.event, 'http.refused');
});

it('what the server does by itself has no id', async () => {
  await using server = await startServer();
  const start = server.logged.map((line) => JSON.parse(line) as { event: string; request?: string });
  assert.ok(
    start.filter(({ event }) => event.startsWith('start.')).every(({ request }) => request === undefined),
  );
});
