/**
 * What the models of real clients receive for common results, in tokens of o200k, as the clients of test/clients send it.
 *
 *   node bench/clients.ts                  all of them
 *   node bench/clients.ts codex gemini     only those whose title has one of the words
 *   SHOW=1 node bench/clients.ts codex     also the texts
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Script } from '../test/clients/conversation.testing.ts';
import { installClients } from '../test/clients/packages.testing.ts';
import { claudeCode, codex, geminiCli, opencode, type Program } from '../test/clients/programs.testing.ts';
import { runClient } from '../test/clients/run-client.testing.ts';
import { countTokens } from '../test/tokens.testing.ts';
import { startProgram, temporaryFolder, uploadTo } from './program.ts';

/** Claude Code lists names alone and has its model search for the rest. This is the list that it stands for. */
const withoutToolSearch: Program = {
  ...claudeCode,
  title: 'Claude Code, no tool search',
  prepare(stage) {
    const invocation = claudeCode.prepare(stage);
    return { ...invocation, env: { ...invocation.env, ENABLE_TOOL_SEARCH: 'false' } };
  },
};

const python = (code: string, more: object = {}) => ({
  tool: 'execute_code',
  input: { language: 'python', code, ...more },
});

/** Each with the most tokens that it may cost, where that was asked for. */
const cases: readonly { title: string; atMost?: number; turn: Script[number] }[] = [
  { title: 'print(42)', atMost: 35, turn: () => python('print(42)') },
  { title: 'list_files, 33 files', atMost: 1400, turn: () => ({ tool: 'list_files', input: {} }) },
  { title: 'traceback', turn: () => python('def f(x):\n    return 1 / x\n\nf(0)') },
  { title: 'timeout', turn: () => python('import time\ntime.sleep(9)', { timeout_ms: 200 }) },
  {
    title: '(writes 1.8 KB)',
    turn: () => python("import os\nopen('/artifacts/plot.png', 'wb').write(os.urandom(1848))"),
  },
  { title: 'link', atMost: 100, turn: () => ({ tool: 'get_artifact', input: { name: 'plot.png' } }) },
  {
    title: 'base64 of 1.8 KB',
    turn: () => ({ tool: 'get_artifact', input: { name: 'plot.png', delivery: 'base64' } }),
  },
  { title: 'request_upload', turn: () => ({ tool: 'request_upload', input: { filename: 'data.csv' } }) },
  {
    title: 'pdf + docx',
    atMost: 250,
    turn: () => ({
      tool: 'build_exports_content',
      input: {
        documentContent: '# Report\n\nAll is well.',
        formats: ['pdf', 'docx'],
        outputBasename: 'report',
      },
    }),
  },
  {
    title: 'search_index, one hit',
    atMost: 250,
    turn: () => ({ tool: 'search_index', input: { query: 'glaciers of Jotunheimen' } }),
  },
  {
    title: 'pack_crate',
    turn: (_, [first]) => ({
      tool: 'pack_crate',
      input: { execution_id: /exec_\w+/.exec(first!.text)?.[0], title: 'An answer' },
    }),
  },
];

const found = await installClients();
if ('reason' in found) throw new Error(found.reason);
const words = process.argv.slice(2);
const rows = Object.fromEntries(
  [
    'tool list',
    ...cases.map(({ title, atMost }) => (atMost === undefined ? title : `${title}, ≤ ${atMost}`)),
  ].map((title) => [title, {} as Record<string, number>]),
);
for (const program of [claudeCode, withoutToolSearch, codex, geminiCli, opencode])
  if (words.length === 0 || words.some((word) => program.title.toLowerCase().includes(word)))
    await measure(program, found.folder);
console.table(rows);

async function measure(program: Program, packages: string): Promise<void> {
  using folder = temporaryFolder();
  const source = writeSource(folder.path);
  const flags = ['--crate-sources', source, '--warm-node', '0', '--warm-bash', '0'];
  await using server = await startProgram({ data: join(folder.path, 'data'), flags });
  for (let i = 1; i <= 33; i++) await uploadTo(server, `measurements-${i}.csv`, `year,value\n2026,${i}\n`);
  await server.call('sync_index', {});
  const place = { url: `${server.url}/mcp` };
  const { received, requests, output } = await runClient(
    program,
    packages,
    place,
    cases.map(({ turn }) => turn),
  );
  if (received.length < cases.length) throw new Error(`${program.title} stopped: ${output}`);
  const counts = [countList(requests[0]), ...received.map(({ text }) => countTokens(text))];
  for (const [i, row] of Object.values(rows).entries()) row[program.title] = counts[i]!;
  if (process.env['SHOW'])
    for (const [i, { text }] of received.entries())
      console.log(`--- ${program.title}: ${cases[i]!.title}\n${text}`);
}

/** All that stands in a request for our tools: whole ones, and names where a client gives no more than those. */
function countList(request: unknown): number {
  const { tools, ...rest } = request as { tools: unknown[] };
  const whole = collectTools(tools).map((tool) => JSON.stringify(tool));
  const names = [...JSON.stringify(rest).matchAll(/mcp__wc__(?!\w*__)\w+/g)].map(([name]) => name);
  return countTokens([...whole, ...new Set(names)].join('\n'));
}

function collectTools(value: unknown): object[] {
  if (typeof value !== 'object' || value === null) return [];
  const { name } = value as { name?: unknown };
  if (typeof name === 'string' && /^(?:mcp_+)?wc(?:_|$)/.test(name)) return [value];
  return Object.values(value).flatMap(collectTools);
}

/** A folder with one crate, described as one finds them. */
function writeSource(folder: string): string {
  const source = join(folder, 'source');
  mkdirSync(join(source, 'glaciers'), { recursive: true });
  const graph = [
    { '@id': 'ro-crate-metadata.json', '@type': 'CreativeWork', about: { '@id': './' } },
    {
      '@id': './',
      '@type': 'Dataset',
      name: 'Lengths of glaciers in Jotunheimen',
      description: 'Front positions of eleven glaciers, measured every autumn from 1901 to 2024.',
      author: { '@id': '#ada' },
      datePublished: '2024-11-02',
      license: { '@id': 'https://creativecommons.org/licenses/by/4.0/' },
      keywords: ['glaciers', 'climate'],
      hasPart: [{ '@id': 'lengths.csv' }],
    },
    { '@id': '#ada', '@type': 'Person', name: 'Ada Lovelace' },
    { '@id': 'lengths.csv', '@type': 'File', name: 'Lengths of glaciers, by year' },
  ];
  const metadata = { '@context': 'https://w3id.org/ro/crate/1.1/context', '@graph': graph };
  writeFileSync(join(source, 'glaciers/ro-crate-metadata.json'), JSON.stringify(metadata));
  writeFileSync(join(source, 'glaciers/lengths.csv'), 'year,metres\n2023,812\n2024,805\n');
  return source;
}
