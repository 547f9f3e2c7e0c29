import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { it } from 'node:test';
import { getRequestListener } from '@hono/node-server';
import { z } from 'zod';
import { openingOf } from '../../../test/conformance/messages.testing.ts';
import { localCaller } from '../../core/identity.ts';
import { createLog } from '../../platform/observability/log.ts';
import { createMetrics } from '../../platform/observability/metrics.ts';
import { createMcpEndpoint } from './http.ts';
import { createServerFactory } from './server.ts';
import { defineTool, readEndOfCall, createStoppingError, type ToolContext } from '../../core/offer/tool.ts';

/** A server with one tool, which waits until it is told to end or its signal fires. */
async function startWaiting() {
  await using opened = new AsyncDisposableStack();
  const called = Promise.withResolvers<{ signal: ToolContext['signal']; end: () => void }>();
  const waiting = defineTool({
    name: 'waiting',
    group: 'code',
    title: 'Waits',
    description: 'Waits.',
    input: z.strictObject({}),
    output: z.object({}),
    annotations: {},
    auditFields: { subject: [] },
    async handle(_input, { signal }) {
      const ended = Promise.withResolvers<void>();
      called.resolve({ signal, end: ended.resolve });
      await Promise.race([ended.promise, once(signal, 'abort')]);
      signal.throwIfAborted();
      return { text: 'done', structured: {} };
    },
  });
  const cut = new AbortController();
  const terms = {
    metrics: createMetrics(),
    log: createLog('off'),
    sharesMachine: false,
    caller: localCaller,
    cutting: cut.signal,
    stateKey: new Uint8Array(32),
    tools: [waiting],
  };
  const endpoint = createMcpEndpoint({
    ...terms,
    factory: createServerFactory(terms),
    metadataUrl: () => null,
  });
  const mcp = opened.adopt(endpoint, (it) => it.close());
  const server = createServer(getRequestListener((message) => mcp.fetch(message, null)));
  opened.use(server.listen(0, '127.0.0.1'));
  await once(server, 'listening');
  const all = opened.move();
  return {
    port: (server.address() as AddressInfo).port,
    called: called.promise,
    cut,
    close: () => mcp.close(),
    [Symbol.asyncDispose]() {
      server.closeAllConnections();
      return all.disposeAsync();
    },
  };
}

const body = JSON.stringify(
  openingOf('2026-07-28').request(7, 'tools/call', { name: 'waiting', arguments: {} }),
);
const headers = {
  'Content-Type': 'application/json',
  'Content-Length': body.length,
  Accept: 'application/json, text/event-stream',
  'MCP-Protocol-Version': '2026-07-28',
  'Mcp-Method': 'tools/call',
  'Mcp-Name': 'waiting',
};

const call = (port: number) => {
  const sent = request({ port, path: '/mcp', method: 'POST', headers });
  sent.on('error', () => {});
  sent.end(body);
  return sent;
};

it('a call ends when its client goes away, before and after the headers', async () => {
  for (const waitsForHeaders of [false, true]) {
    await using server = await startWaiting();
    const sent = call(server.port);
    const { signal } = await server.called;
    if (waitsForHeaders) await once(sent, 'response');
    const aborted = once(signal, 'abort');
    sent.destroy();
    await aborted;
    assert.equal(readEndOfCall(signal), 'disconnected');
  }
});

it('a call that is cut off by the end of the server is answered', async () => {
  await using server = await startWaiting();
  const sent = call(server.port);
  const { signal } = await server.called;
  server.cut.abort(createStoppingError(null));
  assert.equal(readEndOfCall(signal), 'stopping');
  const [answer] = await once(sent, 'response');
  assert.match(Buffer.concat(await answer.toArray()).toString(), /"isError":true/);
});

it('calls end when the endpoint is closed', async () => {
  await using server = await startWaiting();
  call(server.port);
  const { signal } = await server.called;
  await server.close();
  assert.equal(readEndOfCall(signal), 'disconnected');
});
