/**
 * What the server itself pays, in its own processor time: a call that does nothing, in both eras of MCP, and a run in
 * each language; and what a start takes until it is ready, with the memory that it holds then. Processor time scatters
 * less than time on a busy machine; the load is told with it.
 *
 *   node bench/costs.ts [ROUNDS]
 */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { Agent, request, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { readLoad, reportFigure } from './figures.ts';
import { readProcessorMs } from './processor-time.ts';
import { startProgram, temporaryFolder, type Program } from './program.ts';
import { median } from './timed.ts';

const rounds = Number(process.argv[2] ?? 5);
const callsEach = 400;
const runsEach = 150;
const agent = new Agent({ keepAlive: true, maxSockets: 1 });
/** Its answer is counted from memory. */
const nothing = { name: 'guide_cache_file', arguments: {} };
let nextId = 1;

interface Case {
  readonly name: string;
  readonly asked: number | null;
  readonly count: number;
  readonly call: () => Promise<void>;
}

console.log(`load at the start ${readLoad()}`);
using folder = temporaryFolder();
{
  await using program = await startProgram({ data: join(folder.path, 'data') });
  const session = await openSession(program.url);
  const codes = { python: 'print("hi")', node: 'console.log("hi")', bash: 'echo hi' };
  const cases: Case[] = [
    {
      name: 'a call that does nothing, 2026-07-28',
      asked: 0.3,
      count: callsEach,
      call: () => callNow(program),
    },
    {
      name: 'a call that does nothing, 2025-11-25',
      asked: 0.3,
      count: callsEach,
      call: () => callIn(program, session),
    },
    ...Object.entries(codes).map(([language, code]) => ({
      name: `a run of ${language}, the server's part`,
      asked: null,
      count: runsEach,
      call: async () => void (await program.call('execute_code', { language, code })),
    })),
  ];
  await measureCalls(program, cases);
}
agent.destroy();
await measureStarts();

async function measureCalls(program: Program, cases: readonly Case[]): Promise<void> {
  const costs = new Map<Case, number[]>(cases.map((one) => [one, []]));
  // The first round only warms up.
  for (let round = 0; round <= rounds; round++)
    for (const one of cases) {
      const before = readProcessorMs(program.pid);
      for (let count = 0; count < one.count; count++) await one.call();
      // What it does behind the last answers belongs to them.
      await pause(500);
      const cost = (readProcessorMs(program.pid) - before) / one.count;
      if (round > 0) costs.get(one)!.push(cost);
    }
  for (const [{ name, asked }, seen] of costs) tell(name, seen, 'ms', asked);
}

async function measureStarts(): Promise<void> {
  const [times, memories]: [number[], number[]] = [[], []];
  for (let round = 0; round <= rounds; round++) {
    const started = performance.now();
    await using program = await startProgram({ data: join(folder.path, 'starts') });
    const ready = await fetch(`${program.url}/readyz`);
    if (!ready.ok) throw new Error(`it is not ready: ${await ready.text()}`);
    const time = performance.now() - started;
    await pause(2000);
    // What it compiled is kept for the next start, so the first one is no measure.
    if (round === 0) continue;
    times.push(time);
    memories.push(
      Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${program.pid}/smaps_rollup`, 'utf8'))![1]) / 1024,
    );
  }
  tell('serve until it is ready', times, 'ms', 1000);
  tell('memory of the server two seconds later (PSS)', memories, 'MB', 90);
}

function tell(name: string, seen: readonly number[], unit: string, asked: number | null): void {
  reportFigure(`costs: ${name}, ${unit}`, seen);
  const digits = unit === 'ms' && seen[0]! < 100 ? 2 : 0;
  const range = [Math.min(...seen), Math.max(...seen)].map((value) => value.toFixed(digits)).join('–');
  const limit = asked === null ? '' : `, asked ≤ ${asked}`;
  console.log(`  ${name.padEnd(46)} ${median(seen).toFixed(digits)} ${unit} (${range})${limit}`);
}

async function post(url: string, body: object, headers: Record<string, string>): Promise<IncomingMessage> {
  const bytes = Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...body }));
  const sent = request(`${url}/mcp`, {
    method: 'POST',
    agent,
    headers: {
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      'Content-Length': bytes.length,
      ...headers,
    },
  });
  sent.end(bytes);
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  return answer;
}

async function demandAnswer(answer: IncomingMessage): Promise<void> {
  const text = Buffer.concat(await answer.toArray()).toString();
  if (!text.includes('Cached for you')) throw new Error(`${answer.statusCode} ${text.slice(0, 500)}`);
}

async function callNow({ url }: Program): Promise<void> {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const headers = {
    'MCP-Protocol-Version': '2026-07-28',
    'Mcp-Method': 'tools/call',
    'Mcp-Name': nothing.name,
  };
  const body = { id: 1, method: 'tools/call', params: { ...nothing, _meta } };
  await demandAnswer(await post(url, body, headers));
}

async function openSession(url: string): Promise<Record<string, string>> {
  const params = {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'bench', version: '1' },
  };
  const answer = await post(url, { id: 0, method: 'initialize', params }, {});
  const id = answer.headers['mcp-session-id'];
  answer.resume();
  if (typeof id !== 'string') throw new Error(`no session: ${answer.statusCode}`);
  const headers = { 'Mcp-Session-Id': id, 'MCP-Protocol-Version': '2025-11-25' };
  (await post(url, { method: 'notifications/initialized' }, headers)).resume();
  return headers;
}

async function callIn({ url }: Program, session: Record<string, string>): Promise<void> {
  await demandAnswer(await post(url, { id: nextId++, method: 'tools/call', params: nothing }, session));
}
