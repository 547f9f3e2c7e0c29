import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { recordProof } from '../../requirements/requirements.testing.ts';
import { audited } from '../audit/lines.testing.ts';
import { connect } from '../client-files/clients.testing.ts';
import { honest } from '../client-files/honest.testing.ts';
import { makeProject } from '../client-files/project.testing.ts';
import { serve } from '../client-files/servers.testing.ts';
import { versions } from '../../conformance/messages.testing.ts';
import { startServer, type TestServer } from '../../server.testing.ts';
import { startTeam } from '../users/team.testing.ts';

interface Found {
  readonly name: string;
  readonly effect: string;
  readonly arguments: string | null;
  readonly input_schema: string | null;
}

describe('tools that are not in the list', () => {
  let server: TestServer;
  before(async () => void (server = await startServer({ auditLevel: 'trace' })));
  after(() => server?.[Symbol.asyncDispose]());

  const search = async (query: string, more: Record<string, unknown> = {}): Promise<Found[]> =>
    (await server.call('search_tools', { query, ...more })).data.tools;

  it('are found by what they do, and called by name, with an answer as if they were called directly', async () => {
    const { tools } = await server.client.listTools();
    const listed = new Set(tools.map(({ name }) => name));
    assert.ok(['search_tools', 'call_tool'].every((name) => listed.has(name)));
    assert.ok(!listed.has('save_script') && !listed.has('list_packages'));
    const [best] = await search('keep this code under a name');
    assert.equal(best!.name, 'save_script');
    const given = { name: 'hello', description: 'Says one', code: 'print(1)', language: 'python' };
    const saved = await server.call('call_tool', { name: 'save_script', arguments: given });
    assert.equal(saved.failed, false, saved.text);
    assert.deepEqual([saved.data.tool, saved.data.server], ['save_script', 'workcrate']);
    assert.equal(saved.data.result.name, 'hello');
    await using direct = await startServer({ tools: ['scripts'] });
    const withoutTime = (text: string): string => text.replaceAll(/\d{4}-\S+Z/g, 'TIME');
    assert.equal(withoutTime(saved.text), withoutTime((await direct.call('save_script', given)).text));
    for (const name of ['list_scripts', 'run_script', 'validate_crate'])
      assert.ok(
        (await search(name.replace('_', ' '))).some((found) => found.name === name),
        name,
      );
    recordProof('F7:groups-found-by-search-tools');
  });

  it('names, brief and full say ever more, and a limit is kept', async () => {
    const [byName] = await search('delete a stored file', { detail: 'names', limit: 1 });
    assert.deepEqual(byName, {
      name: 'delete_file',
      server: 'workcrate',
      effect: 'may_destroy',
      description: null,
      arguments: null,
      input_schema: null,
    });
    const [brief] = await search('delete a stored file', { limit: 1 });
    assert.match(brief!.arguments!, /^file_id: string/);
    const full = await search('delete a stored file', { detail: 'full', limit: 3 });
    assert.equal(full.length, 3);
    const { tools } = await server.client.listTools();
    const { inputSchema } = tools.find(({ name }) => name === 'delete_file')!;
    assert.deepEqual(JSON.parse(full[0]!.input_schema!), inputSchema);
    assert.deepEqual(await search('xyzzy quux'), []);
  });

  it('a call that does not fit says what the tool takes, and a wrong name what is near it', async () => {
    const unfit = await server.call('call_tool', { name: 'save_script', arguments: { nam: 'x' } });
    assert.equal(unfit.code, 'invalid_input');
    assert.match(unfit.text, /save_script takes: name: string, description: string, language\?: python/);
    const unknown = await server.call('call_tool', { name: 'save_skript' });
    assert.equal(unknown.code, 'not_found');
    assert.match(unknown.text, /save_script/);
    for (const name of ['call_tool', 'search_tools'])
      assert.equal((await server.call('call_tool', { name })).code, 'invalid_input');
    const failed = await server.call('call_tool', { name: 'get_script', arguments: { name: 'none' } });
    assert.equal(failed.code, 'not_found');
  });

  it('each call has its line in the audit log, and so has the way to it', async () => {
    const skill = 'none-of-the-audit';
    await server.call('call_tool', { name: 'read_skill', arguments: { name: skill } });
    const about = await audited(
      server.data,
      ({ subject }) => [skill, 'read_skill'].includes(subject ?? ''),
      2,
    );
    assert.deepEqual(
      about.map(({ operation, subject, result }) => [operation, subject, result]),
      [
        ['read_skill', skill, 'not_found'],
        ['call_tool', 'read_skill', 'not_found'],
      ],
    );
  });

  it('destructive hints are honest: whoever calls any tool may destroy', async () => {
    const { tools } = await server.client.listTools();
    const { annotations } = tools.find(({ name }) => name === 'call_tool')!;
    assert.equal(annotations?.destructiveHint, true);
    assert.notEqual(annotations?.readOnlyHint, true);
    assert.equal(tools.find(({ name }) => name === 'search_tools')!.annotations?.readOnlyHint, true);
  });
});

for (const version of versions)
  it(`a question of the called tool reaches the client, and its answer the tool, over MCP ${version}`, async () => {
    await using served = await serve('HTTP');
    await using project = await makeProject();
    await mkdir(join(project.root, 'docs'), { recursive: true });
    await writeFile(join(project.root, 'docs/asked.txt'), 'what was asked for');
    const capabilities = { roots: {}, elicitation: { form: {} } };
    await using window = await connect(served, { version, capabilities, manners: honest(project.root) });
    const given = { path: 'docs/asked.txt', via: 'form' };
    const { data, text } = await window.call('call_tool', { name: 'read_client_file', arguments: given });
    assert.equal(data?.result?.text, 'what was asked for', text);
  });

it('a key finds and calls what its scopes allow, and nothing else', async () => {
  await using team = await startTeam();
  const coder = await team.join('coder', ['code']);
  const found = await coder.call('search_tools', { query: 'share a stored file by link', limit: 50 });
  const names = found.data.tools.map(({ name }: Found) => name);
  assert.ok(!names.includes('share_file') && !names.includes('search_audit'), names.join(' '));
  for (const name of ['share_file', 'search_audit', 'save_script'])
    assert.equal((await coder.call('call_tool', { name, arguments: {} })).code, 'not_found', name);
  const sharer = await team.join('sharer', ['files']);
  const { tools } = await sharer.client.listTools();
  assert.ok(!tools.some(({ name }) => name === 'call_tool'));
  assert.equal((await sharer.call('call_tool', { name: 'list_files' })).code, 'forbidden');
  recordProof('F7:only-what-scopes-allow');
});

it('a file of the operator adds groups and routes, and one that cannot be used stops the start', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'workcrate-routes-'));
  const toolRoutes = join(folder, 'routes.json');
  const route = {
    group: 'keeping',
    when: ['squirrel away'],
    examples: ['squirrel away the results'],
    counterexamples: ['a squirrel in the garden'],
  };
  try {
    await assert.rejects(startServer({ toolRoutes }), { code: 'config_invalid', message: /no such file/ });
    await writeFile(toolRoutes, '{');
    await assert.rejects(startServer({ toolRoutes }), { code: 'config_invalid', message: /no JSON/ });
    await writeFile(toolRoutes, JSON.stringify({ routes: [route] }));
    await assert.rejects(startServer({ toolRoutes }), {
      code: 'config_invalid',
      message: /no group "keeping"/,
    });
    const groups = { keeping: ['save_*'] };
    const wrong = { ...route, counterexamples: ['squirrel away, little one'] };
    await writeFile(toolRoutes, JSON.stringify({ groups, routes: [wrong] }));
    await assert.rejects(startServer({ toolRoutes }), { code: 'config_invalid', message: /should not lead/ });
    await writeFile(toolRoutes, JSON.stringify({ groups, routes: [route] }));
    await using server = await startServer({ toolRoutes });
    const { data } = await server.call('search_tools', { query: 'squirrel away' });
    assert.deepEqual(
      data.tools.map(({ name }: Found) => name),
      ['save_script'],
    );
  } finally {
    await rm(folder, { recursive: true });
  }
});
