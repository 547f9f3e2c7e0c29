import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { it } from 'node:test';
import { getRequestListener } from '@hono/node-server';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import fc from 'fast-check';
import { z } from 'zod';
import { connectByHand } from '../../../test/conformance/by-hand.testing.ts';
import { openingOf, versions } from '../../../test/conformance/messages.testing.ts';
import { localCaller } from '../../core/identity.ts';
import { createLog } from '../../platform/observability/log.ts';
import { createMetrics } from '../../platform/observability/metrics.ts';
import { recordProof } from '../../../test/requirements/requirements.testing.ts';
import { createMcpEndpoint } from './http.ts';
import { stepAfter } from './progress.ts';
import { createServerFactory } from './server.ts';
import { defineTool, type ToolContext } from '../../core/offer/tool.ts';

type Report = ToolContext['progress'];

/** A server with one tool, which is silent until it is told to end, and may report meanwhile. */
async function startSilent(aliveMs: number) {
  await using opened = new AsyncDisposableStack();
  const log = createLog('off');
  let called = Promise.withResolvers<{ report: Report; end: () => void }>();
  const silent = defineTool({
    name: 'silent',
    group: 'code',
    title: 'Is silent',
    description: 'Is silent.',
    input: z.strictObject({}),
    output: z.object({}),
    annotations: {},
    auditFields: { subject: [] },
    async handle(_input, { progress: report }) {
      const { promise, resolve: end } = Promise.withResolvers<void>();
      called.resolve({ report, end });
      await promise;
      return { text: 'done', structured: {} };
    },
  });
  const terms = { metrics: createMetrics(), log, sharesMachine: false, caller: localCaller, aliveMs };
  const factory = createServerFactory({ ...terms, tools: [silent] });
  const mcp = opened.adopt(
    createMcpEndpoint({ factory, tools: [silent], metadataUrl: () => null, log, aliveMs }),
    (it) => it.close(),
  );
  const listener = getRequestListener((request) => mcp.fetch(request, null));
  const server = opened.use(createServer(listener).listen(0, '127.0.0.1'));
  await once(server, 'listening');
  const all = opened.move();
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** What the call that comes next can do. */
    async called() {
      const call = await called.promise;
      called = Promise.withResolvers();
      return call;
    },
    [Symbol.asyncDispose]() {
      server.closeAllConnections();
      return all.disposeAsync();
    },
  };
}

/** Reads a stream until it contains what is looked for; gives all that came so far. */
function createStreamReader(response: Response) {
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let came = '';
  return async (isThere: (came: string) => boolean): Promise<string> => {
    while (!isThere(came)) {
      const { done, value } = await reader.read();
      if (done) return came;
      came += value;
    }
    return came;
  };
}

const toEnd = (): boolean => false;
const readProgress = (came: string) =>
  [...came.matchAll(/^data: (.*notifications\/progress.*)$/gm)].map(
    ([, line]) => JSON.parse(line!).params as { progress: number; total?: number; message?: string },
  );

for (const version of versions) {
  const call = (meta: Record<string, unknown>) =>
    openingOf(version).request(7, 'tools/call', { name: 'silent', arguments: {}, _meta: meta });

  it(`a silent call has its headers at once, and signs of life until its answer, with MCP ${version}`, async () => {
    await using server = await startSilent(5);
    const client = await connectByHand(server.url, version, {});
    // It resolves with the headers, and the tool does not end before it is told to.
    const response = await client.send(call({ progressToken: 'p' }));
    assert.deepEqual([response.status, response.headers.get('content-type')], [200, 'text/event-stream']);
    const readUntil = createStreamReader(response);
    const { report, end } = await server.called();
    await readUntil((came) => readProgress(came).length >= 3);
    report(0, 9, 'own');
    report(5, 9, 'own');
    const before = readProgress(await readUntil((came) => came.split('"own"').length > 2)).length;
    await readUntil((came) => readProgress(came).length >= before + 2);
    end();
    const came = await readUntil(toEnd);
    const told = readProgress(came);
    for (const [at, { progress, total = Infinity }] of told.entries()) {
      assert.ok(progress > (told[at - 1]?.progress ?? 0), JSON.stringify(told));
      assert.ok(progress <= total);
    }
    assert.ok(told.some(({ progress, message }) => progress === 5 && message === 'own'));
    assert.match(told.at(-1)!.message!, /^running, \d+ s$/);
    assert.ok(told.at(-1)!.progress < 6, 'it leaves the next whole number to the tool');
    assert.match(came.trimEnd().split('\n').at(-1)!, /"text":"done"/);
    recordProof('D10:sign-of-life-every-10-s');
  });

  it(`a silent call without a progress token gets comments, with MCP ${version}`, async () => {
    await using server = await startSilent(5);
    const client = await connectByHand(server.url, version, {});
    const readUntil = createStreamReader(await client.send(call({})));
    const { end } = await server.called();
    await readUntil((came) => came.split(': keepalive').length > 2);
    end();
    const came = await readUntil(toEnd);
    assert.deepEqual(readProgress(came), []);
    assert.match(came, /"text":"done"[^\n]*\s*$/);
  });

  it(`a call that ends soon gets its answer and nothing else, with MCP ${version}`, async () => {
    await using server = await startSilent(60_000);
    const client = await connectByHand(server.url, version, {});
    const readUntil = createStreamReader(await client.send(call({ progressToken: 'p' })));
    const { report, end } = await server.called();
    end();
    const came = await readUntil(toEnd);
    report(1, null, 'too late');
    assert.equal(came.split('"jsonrpc"').length, 2, came);
    assert.doesNotMatch(came, /keepalive|progress/);
  });
}

it('the official client hears signs of life, and none after the answer', async () => {
  for (const mode of ['auto', 'legacy'] as const) {
    await using server = await startSilent(5);
    const client = new Client({ name: 'patient', version: '1' }, { versionNegotiation: { mode } });
    await client.connect(new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`)));
    const heard: string[] = [];
    const enough = Promise.withResolvers<void>();
    const result = client.callTool(
      { name: 'silent', arguments: {} },
      {
        resetTimeoutOnProgress: true,
        onprogress: ({ message = '' }) => void (heard.push(message) > 2 && enough.resolve()),
      },
    );
    const { end } = await server.called();
    await enough.promise;
    end();
    assert.equal((await result).isError, undefined);
    const count = heard.length;
    await client.listTools();
    assert.equal(heard.length, count);
    await client.close();
  }
});

it('a client that takes nothing but JSON gets JSON', async () => {
  await using server = await startSilent(5);
  const json = { Accept: 'application/json' };
  const client = await connectByHand(server.url, '2026-07-28', {}, json);
  const call = { name: 'silent', arguments: {} };
  const response = client.send(openingOf('2026-07-28').request(7, 'tools/call', call));
  (await server.called()).end();
  const answer = (await (await response).json()) as { result: { content: unknown[] } };
  assert.deepEqual(answer.result.content[0], { type: 'text', text: 'done' });
});

it('a step is always higher, and leaves the next whole number to the tool for a day', () => {
  const steps = (24 * 60 * 60) / 10;
  for (const whole of [0, 1, 1000]) {
    let last = whole;
    for (let count = 0; count < steps; count++) {
      const next = stepAfter(last);
      assert.ok(next > last && next < whole + 1, `${last} → ${next}`);
      last = next;
    }
  }
  fc.assert(fc.property(fc.double({ min: 0, max: 2 ** 52, noNaN: true }), (last) => stepAfter(last) > last));
});
