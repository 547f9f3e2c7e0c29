/** Whatever a client hears of a server under a guard, a key is in none of it: every message that comes is looked at. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { recordProof } from '../../requirements/requirements.testing.ts';
import { noSandbox } from '../../code.testing.ts';
import { replyOf, startServer, upload, type TestServer } from '../../server.testing.ts';

const key = 'AKIAIOSFODNN7EXAMPLE';
const blank = '[redacted: aws-key]';
const address = 'ada@example.org';
/** Makes files with names that are secrets, without having them in its code. */
const makeFiles = `
key = "AKIA" + "iosfodnn7example".upper()
open(f"/artifacts/{key}.txt", "w").write(f"it is {key}")
open("/artifacts/ada" + "@" + "example.org.txt", "w").write("x")
open("/artifacts/plain.txt", "w").write(f"it is {key}")`;

describe('all that a client hears of a server with the shipped rules', { skip: noSandbox }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'workcrate-doors-'));
  const heard: string[] = [];
  let server: TestServer;
  let client: Client;
  let questions = 0;

  before(async () => {
    const gateway = join(folder, 'servers.json');
    const args = [join(import.meta.dirname, 'leaking-server.testing.ts'), key];
    writeFileSync(gateway, JSON.stringify({ mcpServers: { leak: { command: process.execPath, args } } }));
    const settings = {
      guard: 'shipped',
      gateway,
      tools: ['all'],
      sandbox: 'bubblewrap',
      warmPython: 0,
    } as const;
    server = await startServer({ ...settings, tools: [...settings.tools] });
    client = new Client({ name: 'doors', version: '1' }, { capabilities: { elicitation: { form: {} } } });
    client.setRequestHandler('elicitation/create', () => {
      questions++;
      return { action: 'accept', content: {} };
    });
    const transport = new StreamableHTTPClientTransport(new URL(`${server.url}/mcp?structured=1`));
    await client.connect(transport);
    const { onmessage } = transport;
    transport.onmessage = (...message: Parameters<NonNullable<typeof onmessage>>) => {
      heard.push(JSON.stringify(message[0]));
      onmessage?.(...message);
    };
    const code = { language: 'python', code: makeFiles };
    await client.callTool({ name: 'execute_code', arguments: code });
    await upload(server, `${key}.csv`, 'a');
  });
  after(async () => {
    await client?.close();
    await server?.[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
  });
  /** What a client hears of one request: something was blanked in it, and neither secret is there. */
  async function hear(what: string, ask: () => Promise<unknown>, shows: string = blank): Promise<string> {
    const from = heard.length;
    await ask().catch(() => {});
    const all = heard.slice(from).join('\n');
    assert.ok(all.includes(shows), `${what} shows ${shows}: ${all}`);
    assert.ok(!all.includes(key) && !all.includes(address) && !all.includes('ada%40'), `${what}: ${all}`);
    return all;
  }
  const call = (name: string, input: Record<string, unknown> = {}) =>
    client.callTool({ name, arguments: input }, { onprogress: () => {} });

  it('tools say no key, in their answers and in names of files', async () => {
    await hear('a run', () => call('execute_code', { language: 'python', code: makeFiles }));
    await hear('artifacts', () => call('list_artifacts'));
    await hear('files', () => call('list_files'));
    const found = await call('search_executions', {});
    const id = (replyOf(found).data.executions as { execution_id: string }[])[0]!.execution_id;
    await hear('a record', () => call('get_execution', { execution_id: id }));
    await hear('a link', () => call('get_artifact', { name: `${key}.txt` }));
    await hear('an error', () => call('get_artifact', { name: `${key}.none` }));
    await hear('call_tool', () => call('call_tool', { name: 'list_artifacts', arguments: {} }));
    await hear('search_tools', () => call('search_tools', { query: 'leak say' }));
    const { isError, structuredContent } = await call('list_artifacts');
    assert.equal(isError ?? false, false);
    assert.ok(JSON.stringify(structuredContent).includes('[redacted: email-address]'));
  });

  it('tools of other servers say no key: answers, errors, progress, questions and lists', async () => {
    await hear('a tool', () => call('leak_say'));
    await hear('a failing tool', () => call('leak_fail'));
    await hear('progress', () => call('leak_report'));
    await hear('a question', () => call('leak_ask'), 'guard_blocked');
    assert.equal(questions, 0);
    await hear('the list of tools', () => client.listTools({}, { cacheMode: 'bypass' }));
  });

  it('resources say no key: lists, templates, contents, errors', async () => {
    const all = await hear('the list', () => client.listResources({}, { cacheMode: 'bypass' }));
    assert.ok(all.includes('email-address'), all);
    await hear('templates', () => client.listResourceTemplates({}, { cacheMode: 'bypass' }));
    for (const uri of [
      'workcrate://artifacts/plain.txt',
      `workcrate://artifacts/${key}.txt`,
      'gateway://leak/leak://a',
      'gateway://leak/leak://none',
    ])
      await hear(uri, () => client.readResource({ uri }, { cacheMode: 'bypass' }));
  });

  it('prompts and completions say no key', async () => {
    await hear('the list', () => client.listPrompts({}, { cacheMode: 'bypass' }));
    await hear('a prompt', () => client.getPrompt({ name: 'leak_leak' }));
    await hear('a prompt of ours', () =>
      client.getPrompt({ name: 'analyse_file', arguments: { file: `${key}.csv` } }),
    );
    const ref = { type: 'ref/resource', uri: 'workcrate://artifacts/{name}' } as const;
    await hear('a completion', () => client.complete({ ref, argument: { name: 'name', value: 'AKI' } }));
    const promptRef = { type: 'ref/prompt', name: 'leak_leak' } as const;
    await hear('a completion elsewhere', () =>
      client.complete({ ref: promptRef, argument: { name: 'x', value: '' } }),
    );
    recordProof('F4:every-door-judged');
  });
});

it('a client over stdio, which is answered before the server is open, hears no key either', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'workcrate-doors-stdio-'));
  const gateway = join(folder, 'servers.json');
  const args = [join(import.meta.dirname, 'leaking-server.testing.ts'), key];
  writeFileSync(gateway, JSON.stringify({ mcpServers: { leak: { command: process.execPath, args } } }));
  const program = join(import.meta.dirname, '../../../bin/workcrate.js');
  const flags = [
    '--guard',
    'shipped',
    '--gateway',
    gateway,
    '--data',
    join(folder, 'data'),
    '--sandbox',
    'off',
  ];
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [program, 'stdio', ...flags],
    cwd: folder,
    stderr: 'ignore',
  });
  const client = new Client({ name: 'doors', version: '1' });
  try {
    await client.connect(transport);
    const { contents } = await client.readResource({ uri: 'gateway://leak/leak://a' });
    assert.match(JSON.stringify(contents), /key=\[redacted: aws-key\]/);
    const { prompts } = await client.listPrompts();
    assert.ok(prompts.some(({ name }) => name === 'leak_leak') && !JSON.stringify(prompts).includes(key));
  } finally {
    await client.close();
    rmSync(folder, { recursive: true, force: true });
  }
});
