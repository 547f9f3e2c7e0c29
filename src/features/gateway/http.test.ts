import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { it } from 'node:test';
import { text } from 'node:stream/consumers';
import { eventually } from '../../platform/eventually.testing.ts';
import { recordProof } from '../../../test/requirements/requirements.testing.ts';
import { openTestGateway } from './gateway.testing.ts';

/** A server of an older version over HTTP, by hand: it can forget its sessions, refuse keys and pour out bytes. */
async function startOldServer() {
  const sessions = new Set<string>();
  const state = { opened: 0, calls: 0, key: 'right-key-123', forgets: false, pours: false };
  const server = createServer((request, response) => void answer(request, response));

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method !== 'POST') return void response.writeHead(405).end();
    const { id, method } = JSON.parse(await text(request)) as { id?: number; method: string };
    if (request.headers.authorization !== `Bearer ${state.key}`) return void response.writeHead(401).end();
    const session = String(request.headers['mcp-session-id']);
    if (method === 'server/discover') return void response.writeHead(400).end('{}');
    if (method === 'initialize') {
      state.opened++;
      const opened = randomUUID();
      sessions.add(opened);
      const result = {
        protocolVersion: '2025-06-18',
        capabilities: { tools: {} },
        serverInfo: { name: 'old', version: '1' },
      };
      return reply(response, { id, result }, { 'mcp-session-id': opened });
    }
    if (state.forgets || !sessions.has(session)) return void response.writeHead(404).end('{}');
    if (id === undefined) return void response.writeHead(202).end();
    if (method === 'tools/list')
      return reply(response, { id, result: { tools: [{ name: 'go', inputSchema: { type: 'object' } }] } });
    if (state.pours) return pour(response);
    state.calls++;
    reply(response, { id, result: { content: [{ type: 'text', text: `call ${state.calls}` }] } });
  }

  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    state,
    forget: () => sessions.clear(),
    entry: {
      url: `http://127.0.0.1:${port}/mcp`,
      headers: { Authorization: 'Bearer right-key-123' },
      timeout: 20_000,
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}

function reply(response: ServerResponse, message: object, headers: Record<string, string> = {}): void {
  response.writeHead(200, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify({ jsonrpc: '2.0', ...message }));
}

function pour(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const line = `data: ${'x'.repeat(1 << 20)}\n`;
  let isOver = false;
  response.once('close', () => (isOver = true));
  const more = (error?: Error | null): void => void (isOver || error || response.write(line, more));
  more();
}

it('a session that the server has forgotten is opened again, once', async () => {
  await using old = await startOldServer();
  await using it = await openTestGateway({ mcpServers: { old: old.entry } });
  assert.equal(await it.call('old_go'), 'call 1');
  old.forget();
  assert.equal(await it.call('old_go'), 'call 2');
  assert.deepEqual([old.state.opened, old.state.calls], [2, 2]);
  old.state.forgets = true;
  assert.match(await it.call('old_go'), /^upstream_failed: .*\(404\)/);
  old.state.forgets = false;
  await eventually(async () => (await it.call('old_go')) === 'call 3', 200);
  recordProof('F3:a-lost-session-is-opened-again');
});

it('a server that does not take the key any more is told so, offers nothing, and the key is nowhere', async () => {
  await using old = await startOldServer();
  await using it = await openTestGateway({ mcpServers: { old: old.entry } });
  assert.deepEqual(await it.list(), ['old_go']);
  old.state.key = 'another-key';
  const answer = await it.call('old_go');
  assert.match(answer, /^upstream_failed: .* refuses our credentials/);
  assert.ok(!JSON.stringify([answer, it.logged, it.audited]).includes('right-key-123'));
});

it('an answer over HTTP that never ends is cut', async () => {
  await using old = await startOldServer();
  await using it = await openTestGateway({ mcpServers: { old: old.entry } });
  await it.list();
  old.state.pours = true;
  assert.match(await it.call('old_go'), /^upstream_failed: .* since it sent/);
  old.state.pours = false;
  await eventually(async () => (await it.call('old_go')).startsWith('call'), 200);
});

it('a server that cannot be reached is told so, without its address', async () => {
  await using it = await openTestGateway({ mcpServers: { gone: { url: 'http://127.0.0.1:1/mcp?key=abc' } } });
  assert.match(
    await it.call('gone_go'),
    /^upstream_failed: The server gone behind the gateway cannot be reached/,
  );
  assert.deepEqual(await it.list(), []);
  assert.ok(!JSON.stringify(it.logged).includes('127.0.0.1:1'));
});
