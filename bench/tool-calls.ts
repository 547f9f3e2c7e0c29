/**
 * Code that calls tools: what a call costs beyond the tool itself, and how many tokens reach the model when code looks
 * things up in place of the model. The tools are played by this process: three servers, whose answers are tables.
 * Needs Linux with what `workcrate doctor` asks for.
 *
 *   node bench/tool-calls.ts
 */
import { openCallsBench, playToolbox, type CallsBench } from '../test/behaviour/code-mode/bench.testing.ts';
import type { ToolContext } from '../src/core/offer/tool.ts';
import { joinToolboxes, type Toolbox } from '../src/core/offer/toolbox.ts';
import { countTokens } from '../test/tokens.testing.ts';
import { head, tell } from './runs-table.ts';
import { median, timed } from './timed.ts';

const rowsOfAnswer = 60;
const lookUps = 20;

/** A table of the kind that servers answer with: some words and numbers in each row. */
const makeTable = (subject: string, number: number) =>
  Array.from({ length: rowsOfAnswer }, (_, at) => ({
    id: `${subject}-${number}-${at}`,
    title: `The ${at}th ${subject} of page ${number}`,
    updated: new Date(1.7e12 + at * 1e8).toISOString(),
    value: (at * 37 + number) % 101,
    tags: [subject, at % 2 === 0 ? 'open' : 'closed'],
  }));

const playServer = (name: string): Toolbox =>
  playToolbox(name, {
    find: async ({ page }) => {
      const found = makeTable(name, Number(page));
      return { content: [{ type: 'text', text: JSON.stringify(found) }], structuredContent: { found } };
    },
    nothing: async () => ({ content: [{ type: 'text', text: 'ok' }] }),
  });

const servers = ['tickets', 'papers', 'weather'];
const toolbox = joinToolboxes(servers.map(playServer));

/** The same tool, called as code calls it but in this process. */
async function measureInProcess(): Promise<number> {
  const call = async (): Promise<void> => void (await toolbox.call('tickets_nothing', {}, {} as ToolContext));
  return median(await timed(call, 2000));
}

const timeInside = {
  python: `import time
from mcp.tickets import nothing
times = []
for _ in range(2000):
    began = time.perf_counter()
    nothing()
    times.append((time.perf_counter() - began) * 1000)
print(sorted(times)[1000])`,
  node: `import { nothing } from '/tools/mcp/tickets/index.mjs';
const times = [];
for (let count = 0; count < 2000; count++) {
  const began = performance.now();
  await nothing();
  times.push(performance.now() - began);
}
console.log(times.sort((one, other) => one - other)[1000]);`,
} as const;

async function tellOverhead(bench: CallsBench): Promise<void> {
  const inProcess = await measureInProcess();
  for (const language of ['python', 'node'] as const) {
    const { out, err } = await bench.run(language, timeInside[language], toolbox, { mostCalls: 10_000 });
    const over = Number(out) - inProcess;
    if (Number.isNaN(over)) throw new Error(err);
    const what = `a call from ${language}, median, over the tool itself`;
    tell({ what, seen: `${over.toFixed(2)} ms`, asked: '≤ 1 ms', ok: over <= 1 });
  }
}

const lookUpAll = `from mcp import tickets, papers, weather
best = {}
for number in range(${lookUps}):
    server = (tickets, papers, weather)[number % 3]
    for item in server.find(page=number)["found"]:
        kind = item["tags"][0]
        if item["value"] > best.get(kind, {"value": -1})["value"]: best[kind] = item
for kind, item in best.items(): print(kind, item["id"], item["value"])`;

/** Without code, each answer goes through the model: its call, and the text of its result. */
async function countDirect(): Promise<number> {
  let tokens = 0;
  for (let number = 0; number < lookUps; number++) {
    const name = `${servers[number % 3]}_find`;
    const result = await toolbox.call(name, { page: number }, {} as ToolContext);
    const [text] = 'content' in result ? result.content : [];
    tokens += countTokens(JSON.stringify({ name, arguments: { page: number } }));
    tokens += countTokens(text?.type === 'text' ? text.text : '');
  }
  return tokens;
}

/** With code, the call with its code, and what it printed. */
async function tellTokens(bench: CallsBench): Promise<void> {
  const direct = await countDirect();
  const { out, err, calls } = await bench.run('python', lookUpAll, toolbox);
  if (calls.length !== lookUps) throw new Error(err);
  const call = { language: 'python', code: lookUpAll, tools: ['*_find'] };
  const coded = countTokens(JSON.stringify({ name: 'execute_code', arguments: call })) + countTokens(out);
  const share = (coded / direct) * 100;
  const seen = `${coded} of ${direct}: ${share.toFixed(1)} %`;
  tell({ what: `${lookUps} look-ups over three servers, tokens`, seen, asked: '≤ 3 %', ok: share <= 3 });
}

head('what', 'seen', 'asked for', 'ok');
await using bench = await openCallsBench();
await tellOverhead(bench);
await tellTokens(bench);
