import assert from 'node:assert/strict';
import { it } from 'node:test';
import { Client, StreamableHTTPClientTransport, type ClientOptions } from '@modelcontextprotocol/client';
import { renderView, viewNames } from '../../../src/features/apps/page.ts';
import { recordProof } from '../../requirements/requirements.testing.ts';
import { countTokens } from '../../tokens.testing.ts';
import { startServer, upload } from '../../server.testing.ts';
import { startTeam } from '../users/team.testing.ts';
import { connectHost, viewCapabilities } from './host.testing.ts';

const viewTools = ['view_artifact', 'view_file', 'view_crate_file', 'send_piece'];

const versions: readonly [string, ClientOptions][] = [
  ['2025-06-18', { supportedProtocolVersions: ['2025-06-18'] }],
  ['2025-11-25', { supportedProtocolVersions: ['2025-11-25'] }],
  ['2026-07-28', { versionNegotiation: { mode: { pin: '2026-07-28' } } }],
];

async function connect(url: string, options: ClientOptions): Promise<Client> {
  const client = new Client({ name: 'offer', version: '1' }, options);
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`)));
  return client;
}

it('each view is one page of at most 60 KB that names no other file', () => {
  assert.deepEqual([...viewNames], ['crate', 'file-picker', 'run', 'table']);
  for (const name of viewNames) {
    const page = renderView(name);
    assert.ok(Buffer.byteLength(page) <= 60 * 1024, `${name} has ${Buffer.byteLength(page)} bytes`);
    assert.doesNotMatch(
      page,
      /<link|<a\s|href|window\.open|innerHTML|insertAdjacentHTML|document\.write|\beval\(|fetch\(/,
    );
    assert.equal(page.split('<script').length, 2);
  }
  recordProof('G2:four-views-of-at-most-60-kb');
});

for (const [version, options] of versions)
  it(`only a client that shows views is told of them (${version})`, async () => {
    await using server = await startServer({ tools: ['all'] });
    await using cleaning = new AsyncDisposableStack();
    const adopt = (client: Client) => cleaning.adopt(client, (it) => it.close());
    const plain = adopt(await connect(server.url, options));
    const host = adopt(await connect(server.url, { ...options, capabilities: viewCapabilities }));
    const others = { extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/other'] } } };
    const other = adopt(await connect(server.url, { ...options, capabilities: others }));

    for (const client of [plain, other]) {
      const { tools } = await client.listTools();
      assert.ok(tools.every(({ name }) => !viewTools.includes(name)));
      assert.doesNotMatch(JSON.stringify(tools.map(({ _meta }) => _meta)), /"ui/);
      assert.doesNotMatch(JSON.stringify(await client.listResources()), /ui:\/\//);
      assert.doesNotMatch(JSON.stringify(await client.listResourceTemplates()), /ui:\/\//);
    }

    const { tools } = await host.listTools();
    const metaOf = (wanted: string) =>
      tools.find(({ name }) => name === wanted)!._meta as Record<string, unknown>;
    for (const name of viewTools) assert.deepEqual(metaOf(name), { ui: { visibility: ['app'] } });
    const uris = new Set<string>();
    for (const { name, _meta } of tools) {
      const { resourceUri } = (_meta?.['ui'] ?? {}) as { resourceUri?: string };
      if (resourceUri === undefined) continue;
      assert.equal(_meta!['ui/resourceUri'], resourceUri, name);
      uris.add(resourceUri);
    }
    assert.deepEqual(
      [...uris].toSorted(),
      viewNames.map((name) => `ui://workcrate/${name}`),
    );
    const listed = (await host.listResources()).resources.filter(({ uri }) => uri.startsWith('ui:'));
    assert.deepEqual(listed.map(({ uri }) => uri).toSorted(), [...uris].toSorted());
    for (const uri of uris) {
      const { contents } = await host.readResource({ uri });
      assert.equal(contents[0]!.mimeType, 'text/html;profile=mcp-app');
      assert.deepEqual(contents[0]!._meta, { ui: { prefersBorder: true } });
    }
    await assert.rejects(host.readResource({ uri: 'ui://workcrate/none' }), /There is no such view/);

    // The text that a model reads is the same, and only its host gets the data of the view.
    const call = { name: 'search_index', arguments: { query: '' } };
    const [one, two] = [await plain.callTool(call), await host.callTool(call)];
    assert.deepEqual(two.content, one.content);
    assert.equal(one._meta?.['workcrate/view'], undefined);
    assert.equal((two._meta!['workcrate/view'] as { total: number }).total, 0);
    assert.equal(two.structuredContent, undefined);
    recordProof('G2:told-only-to-hosts', 'G2:text-complete-without-views');
  });

it('tools for views cost models nothing, and no code and no search reaches them', async () => {
  await using server = await startServer();
  await using cleaning = new AsyncDisposableStack();
  const host = cleaning.adopt(await connectHost(server.url), (it) => it.close());
  const { tools } = await host.listTools();
  const told = tools.filter(({ name }) => !viewTools.includes(name));
  const tokens = countTokens(
    JSON.stringify(told.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }))),
  );
  assert.ok(tokens <= 6500, `${tokens} tokens`);
  const { text } = await server.call('call_tool', { name: 'view_file', arguments: { file_id: 'x' } });
  assert.match(text, /There is no tool "view_file"/);
});

it('a view has the scopes of its user and no more, and each look is in the audit log', async () => {
  await using team = await startTeam();
  const ann = await team.join('ann');
  await using cleaning = new AsyncDisposableStack();
  const connectAs = async (name: string, scopes?: string[]) =>
    cleaning.adopt(await connectHost(team.url, await team.key(name, scopes)), (it) => it.close());
  const host = await connectAs('bob');
  const narrow = await connectAs('eve', ['code']);

  const { data } = await ann.call('request_upload', { filename: 'hers.csv' });
  const sent = await fetch(data.uploadUrl as string, { method: 'PUT', body: 'a,b\n1,2\n' });
  const { file_id } = (await sent.json()) as { file_id: string };
  const looks = { name: 'view_file', arguments: { file_id } };
  const refused = await host.callTool(looks);
  assert.equal(refused.isError, true);
  assert.match(JSON.stringify(refused.content), /No file of yours has this id/);
  const names = new Set((await narrow.listTools()).tools.map(({ name }) => name));
  assert.ok(viewTools.every((name) => !names.has(name)));
  const unscoped = await narrow.callTool(looks);
  assert.match(JSON.stringify([unscoped.isError, unscoped.content]), /^\[true.*scope files/);

  // The upload of another is not found, and nothing is sent into it.
  const open = await ann.call('request_upload', { filename: 'more.csv' });
  const piece = { token: open.data.token as string, offset: 0, size: 3, data: 'YWJj' };
  const foreign = await host.callTool({ name: 'send_piece', arguments: piece });
  assert.match(JSON.stringify(foreign.content), /No upload of yours/);
  const state = (await (await fetch(open.data.uploadUrl as string)).json()) as { offset: number };
  assert.equal(state.offset, 0);

  const operator = await team.join('op', ['operator']);
  const found = await operator.call('search_audit', { user: 'bob' });
  assert.match(found.text, /view_file/);
  assert.match(found.text, /send_piece/);
  recordProof('G2:same-scopes-and-audit');
});

it('a piece that does not fit is refused, and the same upload can start over', async () => {
  await using server = await startServer();
  await using cleaning = new AsyncDisposableStack();
  const host = cleaning.adopt(await connectHost(server.url), (it) => it.close());
  const { data } = await server.call('request_upload', { filename: 'a.txt' });
  const send = async (given: Record<string, unknown>) => {
    const result = await host.callTool({ name: 'send_piece', arguments: { token: data.token, ...given } });
    return {
      failed: result.isError === true,
      view: result._meta?.['workcrate/view'] as Record<string, unknown>,
    };
  };
  const abc = { offset: 0, size: 6, data: 'YWJj' };
  assert.equal((await send(abc)).view['received'], 3);
  const misfits = [
    { offset: 5, size: 6, data: 'YWJj' },
    { offset: 3, size: 7, data: 'YWJj' },
    { offset: 3, size: 6, data: 'YWJjYWJj' },
    { offset: 3, size: 6, data: 'not base64!' },
    { offset: 0, size: 21 * 1024 ** 2, data: 'YWJj' },
  ];
  for (const misfit of misfits) assert.ok((await send(misfit)).failed, JSON.stringify(misfit));
  await send(abc);
  const { view } = await send({ offset: 3, size: 6, data: 'ZGVm' });
  const { data: link } = await server.call('share_file', { file_id: view['file_id'] });
  assert.equal(await (await fetch(link.downloadUrl as string)).text(), 'abcdef');
  assert.ok((await send(abc)).failed);
});

it('a large or odd table is cut, sorted and shown all the same', async () => {
  await using server = await startServer();
  await using cleaning = new AsyncDisposableStack();
  const host = cleaning.adopt(await connectHost(server.url), (it) => it.close());
  interface ShownTable {
    readonly columns: string[];
    readonly rows: string[][];
    readonly total: number;
    readonly width: number;
    readonly cut: boolean;
  }
  const look = async (name: string, text: string, rows: Record<string, unknown> = {}) => {
    const file_id = await upload(server, name, text);
    const result = await host.callTool({ name: 'view_file', arguments: { file_id, ...rows } });
    assert.doesNotMatch(JSON.stringify(result.content), /cell/);
    return result._meta!['workcrate/view'] as { kind: string; note: string | null; table: ShownTable };
  };
  const wide = await look(
    'wide.csv',
    `${Array.from({ length: 10_000 }, (_, at) => `cell${at}`).join(',')}\n1,2\n`,
  );
  assert.equal(wide.table.columns.length, 100);
  assert.equal(wide.table.width, 10_000);
  assert.match(wide.note!, /first 100 of 10000 columns/);
  const long = await look('long.csv', `n\n${'cell\n'.repeat(900_000)}`, { offset: 49_990 });
  assert.equal(long.table.total, 50_000);
  assert.equal(long.table.rows.length, 10);
  assert.ok(long.table.cut);
  const mixed = await look('mixed.tsv', 'a\tb\n10\tx\n9\ty\n\tz\nword\tw\n', { sort: 0 });
  assert.deepEqual(
    mixed.table.rows.map(([first]) => first),
    ['9', '10', 'word', ''],
  );
  const ragged = await look('ragged.csv', 'a,b\n1\n1,2,3,"4\n5"\n', { sort: 7 });
  assert.deepEqual(ragged.table.rows, [['1'], ['1', '2', '3', '4\n5']]);
  assert.equal((await look('binary.csv', 'a\0b')).kind, 'none');
});
