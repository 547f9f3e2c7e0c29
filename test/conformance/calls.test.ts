import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { serve, type Served } from '../behaviour/client-files/servers.testing.ts';
import { openingOf } from './messages.testing.ts';

type Headers = Record<string, string>;

const clientKey = 'io.modelcontextprotocol/clientInfo';
const tool = 'guide_cache_file';
const named: Headers = {
  'MCP-Protocol-Version': '2026-07-28',
  'Mcp-Method': 'tools/call',
  'Mcp-Name': tool,
};

const write = (params: Record<string, unknown> = {}, capabilities = {}) =>
  openingOf('2026-07-28', capabilities).request(7, 'tools/call', { name: tool, arguments: {}, ...params });

describe('calls of tools', () => {
  let served: Served;
  before(async () => void (served = await serve('HTTP', { structured: false })));
  after(() => served?.[Symbol.asyncDispose]());

  const post = async (message: object, headers: Headers = named): Promise<Response> =>
    fetch(`${served.url}/mcp`, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        Accept: 'application/json, text/event-stream',
        ...headers,
      },
      body: JSON.stringify(message),
    });

  it('a call that names one version in its header and another in its body is refused', async () => {
    const headers = { ...named, 'MCP-Protocol-Version': '2025-11-25' };
    const answer = await post(write(), headers);
    const { error } = (await answer.json()) as { error: { code: number } };
    assert.deepEqual([answer.status, error.code], [400, -32_020]);
  });

  it('what one client says of itself is not taken for what another says', async () => {
    const named = write({ _meta: { [clientKey]: { name: 'first', version: '1' } } });
    const unnamed = write({ _meta: { [clientKey]: undefined } });
    for (const message of [named, unnamed]) assert.equal((await post(message)).status, 200);
    const lines = await served.audited(({ operation }) => operation === tool);
    assert.deepEqual(
      lines.slice(-2).map(({ client }) => client),
      ['first 1', null],
    );
  });
});

describe('calls of tools, with keys', () => {
  it('need the scope of their tool, and are of the user of the key', async () => {
    await using served = await serve('HTTP', { auth: ['keys'] });
    const key = await served.key('ann');
    const call = async (name: string, headers: Headers) => {
      const body = JSON.stringify(write({ name }));
      const type = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' };
      const all = { ...type, ...named, 'Mcp-Name': name, ...headers };
      const answer = await fetch(`${served.url}/mcp`, { method: 'POST', headers: all, body });
      return { status: answer.status, text: await answer.text() };
    };
    const bearer = { Authorization: `Bearer ${key}` };
    assert.equal((await call(tool, {})).status, 401);
    assert.equal((await call(tool, { Authorization: `Bearer ${key}x` })).status, 401);
    assert.match((await call(tool, bearer)).text, /Cached for you/);
    assert.match((await call('list_skills', bearer)).text, /does not have the scope skills/);
    const [line] = await served.audited(({ operation, result }) => operation === tool && result === 'ok');
    assert.equal(line!.user, 'ann');
  });
});
