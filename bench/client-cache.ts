/**
 * What it takes to read a file of the client's that is remembered: read_client_file over HTTP with keep-alive, against
 * tools of the same server that do next to nothing.
 */
import { once } from 'node:events';
import { Agent, request, type IncomingMessage } from 'node:http';
import { startProgram, temporaryFolder } from './program.ts';
import { median, timed } from './timed.ts';
import { reportFigure, toRatios } from './figures.ts';

const asked = 1;
const [rounds, callsEach] = [40, 50];

interface Way {
  readonly name: string;
  readonly tool: string;
  readonly input: Record<string, unknown>;
  /** What the answer has to hold. */
  readonly proof: string;
}

const nothing: Way = {
  name: 'guide_cache_file',
  tool: 'guide_cache_file',
  input: {},
  proof: 'Cached for you',
};
const fields: Way = {
  name: 'list_searchable_fields',
  tool: 'list_searchable_fields',
  input: {},
  proof: '"structuredContent"',
};
const sizes = [1_000, 10_000];
const hits = sizes.map((size): Way => ({
  name: `a hit, ${size} bytes`,
  tool: 'read_client_file',
  input: { path: `docs/${size}.txt` },
  proof: '"cached":true',
}));
const line = 'a line of text, as long as lines often are in what people write\n';

const agent = new Agent({ keepAlive: true, maxSockets: 1 });
using folder = temporaryFolder();
await using program = await startProgram({ data: folder.path, flags: ['--sandbox', 'off'] });
const files = sizes.map((size) => ({ path: `docs/${size}.txt`, content: line.repeat(size).slice(0, size) }));
await call({ name: 'fill', tool: 'guide_cache_file', input: { files }, proof: '"stored"' });

const ways = [nothing, fields, ...hits];
const times = new Map<Way, number[]>(ways.map((way) => [way, []]));
for (const way of ways) await timed(() => call(way), callsEach * 10);
// In turns, so that whatever else the machine does falls on all of them.
for (let round = 0; round < rounds; round++)
  for (const way of ways) times.get(way)!.push(...(await timed(() => call(way), callsEach)));

const base = median(times.get(nothing)!);
for (const [way, all] of times) {
  const p50 = median(all);
  if (way !== nothing)
    reportFigure(`client-cache: ${way.name} × ${nothing.name}`, toRatios(all, times.get(nothing)!));
  console.log(
    `  ${way.name.padEnd(24)} p50 ${p50.toFixed(3)} ms  ${(p50 / base).toFixed(2)} times ${nothing.name}`,
  );
}
const most = Math.max(...hits.map((way) => median(times.get(way)!)));
console.log(`  asked: at most ${asked} ms for a hit; ${most <= asked ? 'held' : 'NOT held'}`);
if (most > asked) process.exitCode = 1;
agent.destroy();

/** One call of MCP 2026-07-28, which needs no session, by a client that cannot be asked anything. */
async function call({ tool, input, proof }: Way): Promise<void> {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const params = { name: tool, arguments: input, _meta };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
  const headers = {
    'Content-Type': 'application/json',
    Accept: 'application/json, text/event-stream',
    'Content-Length': Buffer.byteLength(body),
    'MCP-Protocol-Version': '2026-07-28',
    'Mcp-Method': 'tools/call',
    'Mcp-Name': tool,
  };
  const sent = request(`${program.url}/mcp?structured=1`, { method: 'POST', agent, headers });
  sent.end(body);
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  const text = Buffer.concat(await answer.toArray()).toString();
  if (!text.includes(proof)) throw new Error(`${tool}: ${answer.statusCode} ${text.slice(0, 500)}`);
}
