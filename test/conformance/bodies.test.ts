import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { serve, type Served } from '../behaviour/client-files/servers.testing.ts';
import { openingOf, versions } from './messages.testing.ts';

const plain = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' };
const { request } = openingOf('2026-07-28');

describe('what an MCP client sends over HTTP', () => {
  let served: Served;
  before(async () => void (served = await serve('HTTP')));
  after(() => served?.[Symbol.asyncDispose]());

  const post = async (body: string | ReadableStream, headers: Record<string, string>) => {
    const answer = await fetch(`${served.url}/mcp?structured=1`, {
      method: 'POST',
      headers: { ...plain, ...headers },
      body,
      duplex: 'half',
    });
    const text = await answer.text();
    const data = /^data: (.*)$/m.exec(text)?.[1] ?? text;
    // oxlint-disable-next-line typescript/no-explicit-any -- a test names the fields that it expects
    return { status: answer.status, json: JSON.parse(data) as any };
  };
  const headersOf = (method: string, name?: string) => ({
    'MCP-Protocol-Version': '2026-07-28',
    'Mcp-Method': method,
    ...(name === undefined ? {} : { 'Mcp-Name': name }),
  });
  const calling = (name: string, input = {}) =>
    JSON.stringify(request(1, 'tools/call', { name, arguments: input }));

  for (const version of versions)
    it(`what is no JSON is refused as such, with MCP ${version}`, async () => {
      for (const body of ['{"jsonrpc": "2.0", ', 'null null', '\u0000']) {
        const { status, json } = await post(body, { 'MCP-Protocol-Version': version });
        assert.deepEqual([status, json.error.code], [400, -32_700]);
      }
    });

  it('what does not tell its length, or is long, is read all the same', async () => {
    const headers = headersOf('tools/call', 'guide_cache_file');
    const body = calling('guide_cache_file', { path: 'docs/a.txt', content: 'short' });
    const chunked = await post(new Blob([body]).stream(), headers);
    assert.equal(chunked.json.result.isError, undefined, JSON.stringify(chunked.json));
    const long = calling('guide_cache_file', { path: 'docs/b.txt', content: 'x'.repeat(2_000_000) });
    const { json } = await post(long, headers);
    assert.equal(json.result.isError, undefined, JSON.stringify(json).slice(0, 500));
  });

  const many = (count: number, value: unknown) =>
    Object.fromEntries(Array.from({ length: count }, (_, key) => [`key${key}`, value]));

  for (const [what, params, bound] of [
    [
      'keys in arguments',
      { name: 'search_index', arguments: { query: '', field_filters: many(9000, 1) } },
      5000,
    ],
    ['keys in params', many(9000, 1), 5000],
    ['keys in _meta', { _meta: many(9000, 1) }, 5000],
    ['objects', { a: Array.from({ length: 20_000 }, () => ({})) }, 5000],
    ['values', { a: Array.from({ length: 120_000 }, () => 1) }, 110_000],
    ['levels', { a: JSON.parse(`${'['.repeat(20_000)}${']'.repeat(20_000)}`) as unknown }, 64],
  ] as const)
    for (const version of versions)
      for (const isChunked of [false, true])
        it(`too many ${what} are refused before they are parsed, ${isChunked ? 'in pieces ' : ''}with MCP ${version}`, async () => {
          const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping', params });
          const sent = isChunked ? new Blob([body]).stream() : body;
          const { status, json } = await post(sent, { 'MCP-Protocol-Version': version });
          assert.equal(status, 413);
          assert.match(json.error.message, new RegExp(`more than ${bound} .*request_upload`));
        });

  it('what is wrong with a call is told in short, however much it is', async () => {
    for (const [name, input] of [
      ['search_index', { query: 'x', field_filters: many(3000, 1) }],
      ['list_files', many(3000, 1)],
      ['search_index', { query: 'x', ['k'.repeat(100_000)]: 1 }],
      ['search_index', { query: 'x', field_filters: { ['k'.repeat(100_000)]: 1 } }],
    ] as const) {
      const { json } = await post(calling(name, input), headersOf('tools/call', name));
      assert.equal(json.result.isError, true);
      const [{ text }] = json.result.content;
      assert.ok(text.length < 15_000, `${text.length}`);
    }
    const right = calling('search_index', { query: 'x', field_filters: many(33, 'x') });
    const { json } = await post(right, headersOf('tools/call', 'search_index'));
    assert.match(json.result.content[0].text, /at most 32 fields/);
  });

  it('headers that name another tool or method than the body are refused', async () => {
    const body = calling('guide_cache_file');
    for (const headers of [
      headersOf('tools/call', 'read_client_file'),
      headersOf('tools/call'),
      headersOf('tools/list', 'guide_cache_file'),
    ]) {
      const { status, json } = await post(body, headers);
      assert.equal(status, 400, JSON.stringify(json));
    }
    const list = JSON.stringify(request(1, 'tools/list', {}));
    const { status } = await post(list, headersOf('tools/call', 'guide_cache_file'));
    assert.equal(status, 400);
  });

  it('all tools are listed, whichever name a header gives', async () => {
    const list = JSON.stringify(request(1, 'tools/list', {}));
    const bare = await post(list, headersOf('tools/list'));
    const named = await post(list, headersOf('tools/list', 'guide_cache_file'));
    assert.ok(bare.json.result.tools.length > 10);
    assert.deepEqual(named.json.result.tools, bare.json.result.tools);
  });

  it('a name that is encoded, as the protocol allows, finds its tool', async () => {
    const encoded = `=?base64?${Buffer.from('guide_cache_file').toString('base64')}?=`;
    const { json } = await post(calling('guide_cache_file'), headersOf('tools/call', encoded));
    assert.equal(json.result.structuredContent.cache.entries, 2, JSON.stringify(json));
  });
});
