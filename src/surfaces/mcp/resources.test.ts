import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client, InMemoryTransport } from '@modelcontextprotocol/client';
import type { McpServer } from '@modelcontextprotocol/server';
import { WorkcrateError } from '../../platform/errors.ts';
import { createLog } from '../../platform/observability/log.ts';
import { createMetrics } from '../../platform/observability/metrics.ts';
import { recordProof } from '../../../test/requirements/requirements.testing.ts';
import type { AnsweredRequest } from '../../core/offer/request.ts';
import type { ResourceKind } from '../../core/offer/resource.ts';
import { createServerFactory } from './server.ts';

const kind: ResourceKind = {
  name: 'thing',
  group: 'files',
  title: 'Thing',
  description: 'A thing',
  template: 'workcrate://things/{name}',
  async read({ name }) {
    if (name === 'broken') throw new TypeError('a path of the server');
    if (name === 'busy') throw new WorkcrateError('index_busy', 'Try again.', { details: { seconds: 5 } });
    return { mimeType: 'text/plain', text: name! };
  },
  complete: async (_variable, begun) => Array.from({ length: 250 }, (_, at) => `${begun}${at % 200}`),
};

/** A factory with one kind of resources, and what it reported. */
function stage() {
  const answered: AnsweredRequest[] = [];
  const logged: string[] = [];
  const underWay = { calls: 0 };
  const factory = createServerFactory({
    tools: [],
    resources: [kind],
    metrics: createMetrics(),
    log: createLog('debug', (line) => void logged.push(line)),
    sharesMachine: false,
    caller: { user: 'ada' },
    underWay,
    answered: (request) => void answered.push(request),
  });
  return { factory, answered, logged, underWay };
}

async function connect(factory: ReturnType<typeof stage>['factory']): Promise<Client> {
  const server = await factory({ era: 'legacy' });
  const client = new Client({ name: 'test', version: '1' });
  const [here, there] = InMemoryTransport.createLinkedPair();
  await Promise.all([server.connect(there), client.connect(here)]);
  return client;
}

test('a failure of the server is told without its cause, which is in the log; others keep their code', async () => {
  const { factory, answered, logged, underWay } = stage();
  const client = await connect(factory);
  await assert.rejects(client.readResource({ uri: 'workcrate://things/broken' }), {
    code: -32_603,
    data: { code: 'internal' },
    message: /^(?!.*a path of the server)/,
  });
  assert.match(logged.join(''), /a path of the server/);
  await assert.rejects(client.readResource({ uri: 'workcrate://things/busy' }), {
    code: -32_602,
    data: { code: 'index_busy', seconds: 5 },
  });
  assert.deepEqual(
    answered.map(({ method, subject, user, client: by, error }) => [method, subject, user, by, error?.code]),
    [
      ['resources/read', 'workcrate://things/broken', 'ada', 'test 1', 'internal'],
      ['resources/read', 'workcrate://things/busy', 'ada', 'test 1', 'index_busy'],
    ],
  );
  assert.equal(underWay.calls, 0);
});

test('a completion gives each value once, at most 100, and says how many there are', async () => {
  const client = await connect(stage().factory);
  const complete = async (value: string) =>
    (
      await client.complete({
        ref: { type: 'ref/resource', uri: kind.template },
        argument: { name: 'name', value },
      })
    ).completion;
  const { values, total, hasMore } = await complete('a');
  assert.deepEqual([values.length, values[0], total, hasMore], [100, 'a0', 200, true]);
  assert.deepEqual(await complete('x'.repeat(5000)), { values: [], total: 0, hasMore: false });
  await assert.rejects(
    client.complete({
      ref: { type: 'ref/resource', uri: 'workcrate://other/{x}' },
      argument: { name: 'x', value: '' },
    }),
    { code: -32_602, message: /no such template/ },
  );
});

test('a server that is made for one request of a tool registers no resources', async () => {
  const { factory } = stage();
  const isOffered = async (method: string): Promise<boolean> => {
    const headers = { 'mcp-method': method, 'mcp-name': 'execute_code' };
    const requestInfo = new Request('http://127.0.0.1/mcp', { method: 'POST', headers });
    const { server } = (await factory({ era: 'modern', requestInfo })) as McpServer;
    return server.getCapabilities().resources !== undefined;
  };
  assert.deepEqual(await Promise.all(['tools/call', 'tools/list'].map(isOffered)), [false, false]);
  const others = ['server/discover', 'resources/read', 'prompts/get', 'completion/complete'];
  assert.deepEqual(await Promise.all(others.map(isOffered)), [true, true, true, true]);
  recordProof('G3:a-call-of-a-tool-does-not-pay');
});
