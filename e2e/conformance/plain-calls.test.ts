import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { serve, type Served } from '../client-files/servers.testing.ts';
import { openingOf } from './messages.testing.ts';

type Headers = Record<string, string>;

const capabilitiesKey = 'io.modelcontextprotocol/clientCapabilities';
const clientKey = 'io.modelcontextprotocol/clientInfo';
const versionKey = 'io.modelcontextprotocol/protocolVersion';
const tool = 'guide_cache_file';
const named: Headers = {
  'MCP-Protocol-Version': '2026-07-28',
  'Mcp-Method': 'tools/call',
  'Mcp-Name': tool,
};

const write = (params: Record<string, unknown> = {}, capabilities = {}) =>
  openingOf('2026-07-28', capabilities).request(7, 'tools/call', { name: tool, arguments: {}, ...params });

/** Plain calls, which need no server of the SDK. */
const plain: Record<string, object> = {
  'a call': write(),
  'a call without arguments': write({ arguments: undefined }),
  'a call with an id that is text': { ...write(), id: 'seven' },
  'a client that can be asked': write({}, { elicitation: {}, roots: { listChanged: true }, sampling: {} }),
  'a client that does not say who it is': write({ _meta: { [clientKey]: undefined } }),
  'a tool that fails': write({ arguments: { path: '../secret', content: 'x' } }),
};

/** Everything else, which the SDK judges. */
const others: Record<string, unknown> = {
  'a wrong argument': write({ arguments: { unknown: 1 } }),
  'arguments that are a list': write({ arguments: [] }),
  'arguments that are text': write({ arguments: 'x' }),
  'an argument named __proto__': JSON.parse(
    JSON.stringify(write({ arguments: { x: 1 } })).replace('"x"', '"__proto__"'),
  ),
  'another tool than in the headers': write({ name: 'list_files' }),
  'no name': write({ name: undefined }),
  'another method than in the headers': { ...write(), method: 'tools/list' },
  'another version of JSON-RPC': { ...write(), jsonrpc: '1.0' },
  'no id': { ...write(), id: undefined },
  'an id that is null': { ...write(), id: null },
  'an id that is no whole number': { ...write(), id: 1.5 },
  'another version than in the headers': write({ _meta: { [versionKey]: '2025-11-25' } }),
  'a version that there is not': write({ _meta: { [versionKey]: '2030-01-01' } }),
  'a client without capabilities': write({ _meta: { [capabilitiesKey]: undefined } }),
  'capabilities that are none': write({ _meta: { [capabilitiesKey]: { elicitation: 'yes' } } }),
  'capabilities that are text': write({ _meta: { [capabilitiesKey]: 'all' } }),
  'a client without a version': write({ _meta: { [clientKey]: { name: 'x' } } }),
  'a forged state': write({ requestState: 'forged' }),
  'a field more': { ...write(), more: 1 },
  'a field more in the parameters': write({ more: 1 }),
  'no parameters': { ...write(), params: undefined },
  'several messages': [write(), write()],
  'a number': 5,
  nothing: null,
};

describe('calls that the SDK does not see', () => {
  let served: Served;
  before(async () => void (served = await serve('HTTP', { structured: false })));
  after(() => served?.[Symbol.asyncDispose]());

  /** By a type that says the same in other words, a request becomes the SDK's. */
  async function post(body: string, way: 'plain' | 'sdk', headers: Headers = named, query = '') {
    const type = way === 'plain' ? 'application/json' : 'application/json; charset=utf-8';
    const answer = await fetch(`${served.url}/mcp${query}`, {
      method: 'POST',
      headers: { 'Content-Type': type, Accept: 'application/json, text/event-stream', ...headers },
      body,
    });
    const text = await answer.text();
    const message: unknown = text === '' ? null : JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? text);
    const contentType = answer.headers.get('content-type');
    // The SDK does not know how long the stream of a call will be.
    const isStreamOfLength = text.startsWith('event:') && answer.headers.has('content-length');
    return { answer: { status: answer.status, contentType, message }, isPlain: isStreamOfLength };
  }

  for (const [what, message] of Object.entries(plain))
    for (const query of ['', '?structured=1'])
      it(`${what} gets the answer that the SDK gives${query}`, async () => {
        const body = JSON.stringify(message);
        const [ours, theirs] = [
          await post(body, 'plain', named, query),
          await post(body, 'sdk', named, query),
        ];
        assert.deepEqual([ours.isPlain, theirs.isPlain], [true, false]);
        assert.deepEqual(ours.answer, theirs.answer);
      });

  for (const [what, message] of Object.entries(others))
    it(`${what} is left to the SDK`, async () => {
      const body = JSON.stringify(message);
      const [ours, theirs] = [await post(body, 'plain'), await post(body, 'sdk')];
      assert.deepEqual([ours.isPlain, theirs.isPlain], [false, false]);
      assert.deepEqual(ours.answer, theirs.answer);
    });

  for (const name of Object.keys(named))
    for (const value of [undefined, 'other', '=?base64?ZXg=?='])
      it(`the header ${name} ${value === undefined ? 'missing' : `with ${value}`} is left to the SDK`, async () => {
        const { [name]: _left, ...rest } = named;
        const headers = value === undefined ? rest : { ...rest, [name]: value };
        const body = JSON.stringify(write());
        const [ours, theirs] = [await post(body, 'plain', headers), await post(body, 'sdk', headers)];
        assert.equal(ours.isPlain, false);
        assert.deepEqual(ours.answer, theirs.answer);
      });

  for (const accept of ['application/json', 'text/event-stream', '*/*'])
    it(`a client that takes ${accept} is left to the SDK`, async () => {
      const body = JSON.stringify(write());
      const headers = { ...named, Accept: accept };
      const [ours, theirs] = [await post(body, 'plain', headers), await post(body, 'sdk', headers)];
      assert.equal(ours.isPlain, false);
      assert.deepEqual(ours.answer, theirs.answer);
    });

  it('a call that names one version in its header and another in its body is refused', async () => {
    const headers = { ...named, 'MCP-Protocol-Version': '2025-11-25' };
    const { answer } = await post(JSON.stringify(write()), 'plain', headers);
    const { error } = answer.message as { error: { code: number } };
    assert.deepEqual([answer.status, error.code], [400, -32_020]);
  });

  it('what one client says of itself is not taken for what another says', async () => {
    const named = write({ _meta: { [clientKey]: { name: 'first', version: '1' } } });
    const unnamed = write({ _meta: { [clientKey]: undefined } });
    for (const message of [named, unnamed])
      assert.equal((await post(JSON.stringify(message), 'plain')).isPlain, true);
    const lines = await served.audited(({ operation }) => operation === tool);
    assert.deepEqual(
      lines.slice(-2).map(({ client }) => client),
      ['first 1', null],
    );
  });
});

describe('calls that the SDK does not see, with keys', () => {
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
