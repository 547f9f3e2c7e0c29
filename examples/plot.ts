/**
 * Has Python draw a plot without any plotting library, and fetches it by its link.
 *
 *   node examples/plot.ts [URL of a running workcrate]
 *
 * Without a URL it starts a server of its own, on a data folder that it removes at the end.
 */
import assert from 'node:assert/strict';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { startOwn } from './own-server.ts';

const code = `
import math
points = [(x, 100 - 80 * math.exp(-x / 200) * math.cos(x / 20)) for x in range(0, 601, 2)]
line = " ".join(f"{x},{y:.1f}" for x, y in points)
svg = f'''<svg xmlns="http://www.w3.org/2000/svg" viewBox="-20 0 640 220" font-family="sans-serif">
  <rect x="-20" width="640" height="220" fill="white"/>
  <path d="M0 10V190H600M0 100H600" stroke="#999" fill="none"/>
  <polyline points="{line}" stroke="#0a6" stroke-width="2" fill="none"/>
  <text x="300" y="212" text-anchor="middle" font-size="12">a damped oscillation, {len(points)} points</text>
</svg>'''
with open("/artifacts/oscillation.svg", "w") as file:
    file.write(svg)
print(f"{len(points)} points drawn")
`;

const [url] = process.argv.slice(2);
await using server = url === undefined ? await startOwn() : null;
const client = new Client({ name: 'plot', version: '1' });
await client.connect(new StreamableHTTPClientTransport(new URL(`${server?.url ?? url}/mcp?structured=1`)));

const ran = await call('execute_code', { language: 'python', code });
assert.equal(ran['stdout'], '301 points drawn\n');
assert.deepEqual((ran['artifacts'] as { created: string[] }).created, ['/artifacts/oscillation.svg']);

const { downloadUrl, sha256 } = await call('get_artifact', { name: 'oscillation.svg' });
const answer = await fetch(downloadUrl as string);
const picture = await answer.text();
await client.close();

assert.equal(answer.headers.get('content-type'), 'image/svg+xml');
assert.match(picture, /^<svg [^]*<polyline points="0,20\.0 [^]*<\/svg>$/);
const saved = join(await mkdtemp(join(tmpdir(), 'workcrate-plot-')), 'oscillation.svg');
await writeFile(saved, picture);
console.log(
  `${ran['execution_id'] as string} took ${ran['duration_ms'] as number} ms; the plot is ${saved}, sha256 ${sha256 as string}`,
);

async function call(name: string, input: Record<string, unknown>): Promise<Record<string, unknown>> {
  const result = await client.callTool({ name, arguments: input });
  assert.ok(!result.isError, JSON.stringify(result.content));
  return result.structuredContent as Record<string, unknown>;
}
