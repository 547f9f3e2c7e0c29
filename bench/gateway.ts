/**
 * What the gateway adds to a call: one server over stdio, called by an MCP client directly and through the gateway, in
 * turns; then the same through a whole server over HTTP, beside a tool of its own that does nothing.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { startServer } from '../test/server.testing.ts';
import { hostile, openTestGateway } from '../src/features/gateway/gateway.testing.ts';
import { reportFigure, toDifferences } from './figures.ts';

const rounds = 1500;
const servers = { mcpServers: { one: hostile() } };

async function timeInTurns(
  ways: Readonly<Record<string, () => Promise<unknown>>>,
): Promise<Map<string, number[]>> {
  const times = new Map(Object.keys(ways).map((name) => [name, [] as number[]]));
  for (let round = -100; round < rounds; round++)
    for (const [name, call] of Object.entries(ways)) {
      const started = performance.now();
      await call();
      if (round >= 0) times.get(name)!.push(performance.now() - started);
    }
  return times;
}

const quantile = (times: readonly number[], part: number): number =>
  times.toSorted((one, other) => one - other)[Math.floor(times.length * part)]!;

function print(times: Map<string, number[]>): void {
  for (const [name, all] of times)
    console.log(
      `${name.padEnd(34)} p50 ${quantile(all, 0.5).toFixed(2)} ms   p95 ${quantile(all, 0.95).toFixed(2)} ms`,
    );
}

async function connectDirectly(): Promise<Client> {
  const { command, args } = servers.mcpServers.one;
  const client = new Client({ name: 'bench', version: '1' });
  await client.connect(new StdioClientTransport({ command, args: [...args], stderr: 'ignore' }));
  return client;
}

{
  const direct = await connectDirectly();
  await using it = await openTestGateway(servers);
  const times = await timeInTurns({
    'the server, directly': () => direct.callTool({ name: 'count', arguments: {} }),
    'the server, through the gateway': () => it.call('one_count'),
  });
  print(times);
  const [alone, through] = [...times.values()];
  const added = quantile(through!, 0.5) - quantile(alone!, 0.5);
  reportFigure('gateway: added to a call, ms', toDifferences(through!, alone!));
  console.log(`the gateway adds ${added.toFixed(2)} ms (asked for: at most 1 ms)`);
  await direct.close();
}

const folder = mkdtempSync(join(tmpdir(), 'workcrate-bench-'));
try {
  const gateway = join(folder, 'servers.json');
  writeFileSync(gateway, JSON.stringify(servers));
  await using server = await startServer({ gateway, logLevel: 'off' });
  const direct = await connectDirectly();
  const client = new Client({ name: 'bench', version: '1' }, { versionNegotiation: { mode: 'auto' } });
  await client.connect(new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`)));
  print(
    await timeInTurns({
      'the server, directly': () => direct.callTool({ name: 'count', arguments: {} }),
      'list_files over HTTP': () => client.callTool({ name: 'list_files', arguments: {} }),
      'the server by the gateway over HTTP': () => client.callTool({ name: 'one_count', arguments: {} }),
    }),
  );
  await client.close();
  await direct.close();
} finally {
  rmSync(folder, { recursive: true, force: true });
}
