import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { eventually } from '../../src/platform/eventually.testing.ts';
import { connect } from '../behaviour/client-files/clients.testing.ts';
import { serve, type AuditLine, type Served } from '../behaviour/client-files/servers.testing.ts';
import { connectByHand, type ByHand, type Came } from './by-hand.testing.ts';
import { openingOf, versions } from './messages.testing.ts';
import { startStdio } from './stdio.testing.ts';

const briefly = ({ level, operation, user, client, subject, result }: AuditLine) =>
  [level, operation, user, client, subject, result].join(' | ');

for (const version of versions)
  describe(`a call that does not reach its tool, with MCP ${version}`, () => {
    const { request } = openingOf(version);
    let served: Served;
    let client: ByHand;
    before(async () => {
      served = await serve('HTTP', { auth: ['keys'] });
      const Authorization = `Bearer ${await served.key('ada')}`;
      client = await connectByHand(served.url, version, {}, { Authorization });
    });
    after(() => served?.[Symbol.asyncDispose]());

    it('beyond the scope of its key is an error for the model, a line and no violation', async () => {
      const params = { name: 'get_artifact', arguments: { name: 'plan.txt' } };
      for (let count = 0; count < 2; count++) {
        const { last } = await client.call(params.name, params.arguments);
        assert.equal(last['result']?.isError, true, JSON.stringify(last));
        assert.match(last['result'].content[0].text, /does not have the scope artifacts/);
      }
      const [first, second, ...others] = await served.audited(
        ({ operation }) => operation === 'get_artifact',
      );
      assert.equal(briefly(first!), 'info | get_artifact | ada | by hand 1 | plan.txt | forbidden');
      assert.deepEqual(second!.details, { scope: 'artifacts' });
      assert.deepEqual(others, []);
      assert.ok(isLogged(served, 'get_artifact', 'forbidden'));
    });

    it('the log of the operators is closed to others, and the attempt is a line', async () => {
      const { last } = await client.call('search_audit', {});
      assert.equal(last['result']?.isError, true, JSON.stringify(last));
      const [line] = await served.audited(({ operation }) => operation === 'search_audit');
      assert.equal(briefly(line!), 'info | search_audit | ada | by hand 1 |  | forbidden');
    });

    it('of a tool that there is not is a line with the name that was tried', async () => {
      const { last } = await client.call('nope_tool', { path: 'docs/x' });
      assert.equal(last['error']?.code, -32_602, JSON.stringify(last));
      const [line, ...others] = await served.audited(({ operation }) => operation === 'tools/call');
      assert.equal(briefly(line!), 'info | tools/call | ada | by hand 1 | nope_tool | invalid_input');
      assert.deepEqual(others, []);
      assert.ok(isLogged(served, 'nope_tool', 'invalid_input'));
    });

    it('with arguments that do not fit is a line', async () => {
      const { last } = await client.call('read_client_file', { path: 'docs/unfit', encoding: 5 });
      assert.equal(last['result']?.isError, true, JSON.stringify(last));
      const [line, ...others] = await served.audited(({ subject }) => subject === 'docs/unfit');
      assert.equal(briefly(line!), 'info | read_client_file | ada | by hand 1 | docs/unfit | invalid_input');
      assert.deepEqual(others, []);
      assert.ok(isLogged(served, 'read_client_file', 'invalid_input'));
    });

    it('with arguments that are none is a line', async () => {
      const params = { name: 'guide_cache_file', arguments: 'all of them' };
      const answer = await client.send(request(8, 'tools/call', params));
      await answer.body?.cancel();
      const [line] = await served.audited(({ operation }) => operation === 'guide_cache_file');
      assert.equal(briefly(line!), 'info | guide_cache_file | ada | by hand 1 |  | invalid_input');
    });

    it('one that reaches its tool and is refused there is one line, not two', async () => {
      await client.call('read_client_file', { path: '../docs/out' });
      await client.call('read_client_file', { path: 'docs/after' });
      await served.audited(({ subject }) => subject === 'docs/after');
      const lines = await served.audited(({ subject }) => subject === '../docs/out');
      assert.deepEqual(
        lines.map(({ result }) => result),
        ['path_refused'],
      );
    });
  });

/** What only a request of 2026-07-28 can say of its client, each in a session that began with "by hand 1". */
const sayings: Record<string, unknown> = {
  'no text': { name: { toString: 1 }, version: '1' },
  nothing: null,
  'somebody else': { name: 'other', version: '2' },
};

for (const version of ['2025-11-25', '2025-06-18'] as const)
  for (const [what, info] of Object.entries(sayings))
    it(`a call that says ${what} of its client is noted like any other, with MCP ${version}`, async () => {
      await using served = await serve('HTTP', { auth: ['keys'] });
      const Authorization = `Bearer ${await served.key('ada')}`;
      const client = await connectByHand(served.url, version, {}, { Authorization });
      const _meta = { 'io.modelcontextprotocol/clientInfo': info };
      const statusOf = async (id: number, name: string, input: Record<string, unknown>) => {
        const params = { name, arguments: input, _meta };
        const answer = await client.send({ jsonrpc: '2.0', id, method: 'tools/call', params });
        await answer.text();
        return answer.status;
      };
      assert.equal(await statusOf(5, 'get_artifact', { name: 'plan.txt' }), 200);
      assert.equal(await statusOf(6, 'nope_tool', {}), 200);
      assert.equal(await statusOf(7, 'list_files', {}), 200);
      const expected = [
        'info | get_artifact | ada | by hand 1 | plan.txt | forbidden',
        'info | tools/call | ada | by hand 1 | nope_tool | invalid_input',
        'trace | list_files | ada | by hand 1 |  | ok',
      ];
      for (const line of expected) await served.audited((came) => briefly(came) === line);
      assert.ok(isLogged(served, 'get_artifact', 'forbidden'));
    });

for (const version of versions)
  it(`several calls in one request are refused as such, whatever they are, with MCP ${version}`, async () => {
    await using served = await serve('HTTP', { auth: ['keys'] });
    const Authorization = `Bearer ${await served.key('ada')}`;
    const client = await connectByHand(served.url, version, {}, { Authorization });
    const { request } = openingOf(version);
    const calls = ['list_files', 'get_artifact', 'nope_tool'].map((name, index) =>
      request(20 + index, 'tools/call', { name, arguments: {} }),
    );
    for (const batch of [calls, calls.slice(0, 1), []]) {
      const answer = await client.send(batch);
      assert.equal(answer.status, 400);
      const { id, error } = (await answer.json()) as Came;
      assert.deepEqual([id, error.code], [null, -32_600], JSON.stringify(error));
    }
    await client.call('list_files', {});
    const lines = await served.audited(({ user }) => user === 'ada');
    assert.deepEqual(lines.map(briefly), ['trace | list_files | ada | by hand 1 |  | ok']);
  });

for (const version of versions)
  it(`over stdio, too, calls that do not reach a tool are lines, with MCP ${version}`, async () => {
    await using served = await serve('stdio');
    await using client = await connect(served, { version, capabilities: {}, manners: {} });
    await assert.rejects(client.call('nope_tool', {}));
    await client.call('guide_cache_file', { forget: 5 });
    const [unknown] = await served.audited(({ operation }) => operation === 'tools/call');
    const [unfit] = await served.audited(({ operation }) => operation === 'guide_cache_file');
    assert.equal(briefly(unknown!), 'info | tools/call | local | bridge suite 1 | nope_tool | invalid_input');
    assert.equal(briefly(unfit!), 'info | guide_cache_file | local | bridge suite 1 |  | invalid_input');
  });

for (const version of versions)
  it(`a call that is cancelled at once is logged as refused all the same, with MCP ${version}`, async () => {
    await using stdio = await startStdio();
    const { opening, request } = openingOf(version);
    stdio.write(...opening, request(3, 'tools/call', { name: 'list_files', arguments: {} }));
    await stdio.until(({ id }) => id === 3);
    const refused = ['nope_tool', 'delete_file'].map((name, at) => ({ name, id: 4 + at }));
    for (const { name, id } of refused) {
      const cancelled = { method: 'notifications/cancelled', params: { requestId: id } };
      stdio.write(request(id, 'tools/call', { name, arguments: {} }), { jsonrpc: '2.0', ...cancelled });
    }
    await eventually(() =>
      refused.every(({ name }) => stdio.logged().includes(`"tool.refused","tool":"${name}"`)),
    );
    assert.deepEqual(
      stdio.messages.filter(({ id }) => id === 4 || id === 5),
      [],
    );
  });

const isLogged = ({ logged }: Served, tool: string, result: string): boolean =>
  logged.some(
    (line) =>
      line.includes('"event":"tool.refused"') &&
      line.includes(`"tool":"${tool}","user":"ada","result":"${result}"`),
  );
