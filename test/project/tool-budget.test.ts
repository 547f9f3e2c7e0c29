import assert from 'node:assert/strict';
import { it } from 'node:test';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { furtherGroups, operatorGroup, toolGroups } from '../../src/core/offer/tool.ts';
import { recordProof } from '../requirements/requirements.testing.ts';
import { countTokens } from '../tokens.testing.ts';
import { startServer } from '../server.testing.ts';

const maxTools = 40;
const maxTokens = 6500;
const maxTokensEach = 150;

/** What a client that asks for nothing special is told. */
async function connectPlainly(url: string) {
  const client = new Client({ name: 'budget', version: '1' });
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`)));
  return client;
}

/** What models pay for: clients send them name, description and input schema. */
const countTool = ({ name, description = '', inputSchema }: ListedTool): number =>
  countTokens(JSON.stringify({ name, description, inputSchema }));

interface ListedTool {
  readonly name: string;
  readonly description?: string | undefined;
  readonly inputSchema: object;
}

it('the default list of tools keeps its budget', async () => {
  await using server = await startServer({ sandbox: 'auto' });
  await using cleaning = new AsyncDisposableStack();
  const client = cleaning.adopt(await connectPlainly(server.url), (it) => it.close());
  const { tools } = await client.listTools();
  const counted = tools.map((tool) => [countTool(tool), tool.name] as const);
  const table = counted.toSorted(([a], [b]) => b - a).join('\n');
  const sum = counted.reduce((all, [tokens]) => all + tokens, 0);
  assert.ok(tools.length <= maxTools, `${tools.length} tools`);
  assert.ok(sum <= maxTokens, `${sum} tokens\n${table}`);
  assert.ok(sum / tools.length <= maxTokensEach, `${sum / tools.length} tokens each\n${table}`);
  recordProof('F7:at-most-40-tools-and-6500-tokens');
});

it('schemas have nothing that only costs tokens: no dialect, no pattern of a date, no largest integer', async () => {
  await using server = await startServer({ tools: ['all'] });
  await using cleaning = new AsyncDisposableStack();
  const client = cleaning.adopt(await connectPlainly(server.url), (it) => it.close());
  for (const { name, inputSchema, outputSchema } of (await client.listTools()).tools) {
    const schema = JSON.stringify(inputSchema);
    assert.equal(outputSchema, undefined, name);
    for (const costly of ['$schema', String(Number.MAX_SAFE_INTEGER), '\\\\d{4}'])
      assert.ok(!schema.includes(costly), `${name} has ${costly}: ${schema}`);
    for (const [, pattern] of schema.matchAll(/"pattern":"([^"]*)"/g))
      assert.ok(pattern!.length <= 60, `${name}: ${pattern}`);
  }
});

const scriptTools = [
  'save_script',
  'get_script',
  'list_scripts',
  'search_scripts',
  'run_script',
  'delete_script',
];

const packageTools = ['list_packages', 'remove_packages'];

it('every tool belongs to a group, and --tools chooses among them', async () => {
  const listed = async (tools: string[], auth: string[] = []) => {
    await using server = await startServer({ tools, auth: auth as never });
    await using cleaning = new AsyncDisposableStack();
    const client = cleaning.adopt(await connectPlainly(server.url), (it) => it.close());
    return (await client.listTools()).tools.map(({ name }) => name);
  };
  const all = await listed(['all']);
  const usual = await listed(['default']);
  assert.deepEqual(
    all.filter((name) => !usual.includes(name)),
    [...scriptTools, 'validate_crate', ...packageTools, 'search_audit'],
  );
  assert.deepEqual(await listed(['scripts']), scriptTools);
  assert.deepEqual(await listed(['validation']), ['validate_crate']);
  assert.deepEqual(await listed(['packages']), packageTools);
  assert.deepEqual((await listed(['default', 'scripts'])).toSorted(), [...usual, ...scriptTools].toSorted());
  // The tools of the gateway are those of other servers.
  const groups = [...toolGroups, ...furtherGroups, operatorGroup].filter((group) => group !== 'gateway');
  const byGroup = await Promise.all(groups.map((group) => listed([group])));
  assert.deepEqual(byGroup.flat().toSorted(), all.toSorted());
  assert.ok(byGroup.every((names) => names.length > 0));
  await assert.rejects(startServer({ tools: ['cod'] }), { code: 'config_invalid' });
  recordProof('F7:groups-switched-on-by-tools', 'D12:not-in-the-default-list');
});
