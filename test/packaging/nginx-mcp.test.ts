import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { noSandbox } from '../code.testing.ts';
import { startServer, type TestServer } from '../server.testing.ts';
import { freePort } from '../../src/platform/free-port.testing.ts';
import { noNginx, startNginx, type Nginx } from './nginx.testing.ts';

/** An older client has a session with a server, a newer one has none. nginx knows callers by their key. */
async function connect(proxy: string, version: '2025-11-25' | '2026-07-28', key = 'one') {
  const who = { name: 'behind nginx', version: '1' };
  const requestInit = { headers: { Authorization: `Bearer ${key}` } };
  const transport = new StreamableHTTPClientTransport(new URL(`${proxy}/mcp?structured=1`), { requestInit });
  const client =
    version === '2026-07-28'
      ? new Client(who, { versionNegotiation: { mode: { pin: version } } })
      : new Client(who, { supportedProtocolVersions: [version] });
  await client.connect(transport);
  return { client, transport, [Symbol.asyncDispose]: () => client.close() };
}

const listed = (client: Client) => client.callTool({ name: 'list_files', arguments: {} });

describe('MCP through nginx to one server', { skip: noNginx }, () => {
  let server: TestServer;
  let nginx: Nginx;
  let proxy: string;

  before(async () => {
    const port = await freePort();
    proxy = `https://127.0.0.1:${port}`;
    const code = { sandbox: 'bubblewrap', warmPython: 1, warmNode: 0, warmBash: 0 } as const;
    server = await startServer({ publicUrl: proxy, ...(noSandbox ? {} : code) });
    nginx = await startNginx({ port, servers: [server.url] });
  });
  after(async () => {
    await nginx?.[Symbol.asyncDispose]();
    await server?.[Symbol.asyncDispose]();
  });

  for (const version of ['2025-11-25', '2026-07-28'] as const) {
    it(`tools are called with MCP ${version}`, async () => {
      await using connection = await connect(proxy, version);
      assert.equal((await listed(connection.client)).isError ?? false, false);
    });

    it(`output arrives while the run goes on, with MCP ${version}`, { skip: noSandbox }, async () => {
      await using connection = await connect(proxy, version);
      const go = `go-${version}`;
      const code = `import os, time\nprint('begun', flush=True)\nwhile not os.path.exists('/artifacts/${go}'): time.sleep(0.05)\nprint('ended')`;
      // The run ends only once its output has been seen: held back by the proxy, it would run into its timeout.
      const seen = async (): Promise<void> => writeFile(join(server.data, 'places/1/artifacts', go), '');
      const result = await connection.client.callTool(
        { name: 'execute_code', arguments: { language: 'python', code, timeout_ms: 60_000 } },
        { onprogress: ({ message }) => void (message?.includes('begun') && seen()) },
      );
      assert.match(JSON.stringify(result.structuredContent), /begun\\nended/);
    });
  }

  it('the public name is answered to, and another is refused', async () => {
    assert.equal((await fetch(`${proxy}/livez`)).status, 200);
    assert.equal(
      (await fetch(`${proxy}/livez`, { headers: { Origin: 'https://evil.example' } })).status,
      403,
    );
  });
});

describe('MCP through nginx to two servers', { skip: noNginx }, () => {
  let servers: TestServer[];
  let nginx: Nginx;
  let proxy: string;

  before(async () => {
    const port = await freePort();
    proxy = `https://127.0.0.1:${port}`;
    servers = [await startServer({ publicUrl: proxy }), await startServer({ publicUrl: proxy })];
    nginx = await startNginx({ port, servers: servers.map(({ url }) => url) });
  });
  after(async () => {
    await nginx?.[Symbol.asyncDispose]();
    for (const server of servers ?? []) await server[Symbol.asyncDispose]();
  });

  it('sessions of older clients stay with the server that they began on', async () => {
    await using opened = new AsyncDisposableStack();
    const letters = new Set<string>();
    for (let count = 0; count < 12; count++) {
      const { client, transport } = opened.use(await connect(proxy, '2025-11-25', `key-${count}`));
      letters.add(transport.sessionId!.slice(0, 2));
      for (let call = 0; call < 3; call++) assert.equal((await listed(client)).isError ?? false, false);
    }
    assert.deepEqual([...letters].toSorted(), ['a-', 'b-']);
  });

  it('all calls of a newer client go to one server, and those of several clients to both', async () => {
    const count = (): number[] =>
      servers.map(({ logged }) => logged.filter((line) => line.includes('"tool":"list_files"')).length);
    const served = new Set<number>();
    for (let client = 0; client < 12; client++) {
      await using connection = await connect(proxy, '2026-07-28', `key-${client}`);
      const before = count();
      for (let call = 0; call < 6; call++) await listed(connection.client);
      const calls = count().map((after, index) => after - before[index]!);
      assert.deepEqual(
        calls.toSorted((one, other) => one - other),
        [0, 6],
      );
      served.add(calls.indexOf(6));
    }
    assert.equal(served.size, 2);
  });

  it('a session whose server has gone is told to begin anew, and the next one works', async () => {
    await using opened = new AsyncDisposableStack();
    const connections = [];
    for (let count = 0; count < 12; count++)
      connections.push(opened.use(await connect(proxy, '2025-11-25', `key-${count}`)));
    const lost = connections.find(({ transport }) => transport.sessionId!.startsWith('a-'))!;
    const kept = connections.find(({ transport }) => transport.sessionId!.startsWith('b-'))!;
    await servers.shift()![Symbol.asyncDispose]();
    await assert.rejects(listed(lost.client), /404|Session not found/);
    assert.equal((await listed(kept.client)).isError ?? false, false);
    const anew = opened.use(await connect(proxy, '2025-11-25'));
    assert.match(anew.transport.sessionId!, /^b-/);
    assert.equal((await listed(anew.client)).isError ?? false, false);
  });
});
