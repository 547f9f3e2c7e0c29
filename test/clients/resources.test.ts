import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { startServer, upload, type TestServer } from '../server.testing.ts';
import { installClients } from './packages.testing.ts';
import { claudeCode, codex, type Program } from './programs.testing.ts';
import { runClient } from './run-client.testing.ts';

const found = await installClients();
const packages = 'folder' in found ? found.folder : '';
const skip = 'reason' in found ? found.reason : false;

/** The client's own tools are called by their own names. */
const withOwnTools = (program: Program): Program => ({
  ...program,
  naming: { ...program.naming, tool: (name) => name },
});

/** The same client, started with what a person types. */
const withPrompt = (program: Program, typed: string): Program => ({
  ...program,
  prepare(stage) {
    const invocation = program.prepare(stage);
    return { ...invocation, args: invocation.args.map((arg) => (arg.startsWith('Do what') ? typed : arg)) };
  },
});

describe('resources and prompts in real clients', { skip }, () => {
  let server: TestServer;
  let uri: string;
  before(async () => {
    if (skip !== false) return;
    server = await startServer();
    uri = `workcrate://files/${await upload(server, 'notes.txt', 'the word is walrus')}`;
  });
  after(() => server?.[Symbol.asyncDispose]());

  const readers: readonly (readonly [Program, list: string, read: string])[] = [
    [claudeCode, 'ListMcpResourcesTool', 'ReadMcpResourceTool'],
    [codex, 'list_mcp_resources', 'read_mcp_resource'],
  ];
  for (const [program, list, read] of readers)
    it(
      `${program.title}: its model lists and reads a file`,
      { skip: skip || program.missing(packages) },
      async () => {
        const place = { url: `${server.url}/mcp` };
        const { received, output } = await runClient(withOwnTools(program), packages, place, [
          () => ({ tool: list, input: { server: 'wc' } }),
          () => ({ tool: read, input: { server: 'wc', uri } }),
        ]);
        assert.equal(received.length, 2, output);
        assert.ok(received[0]!.text.includes(uri) && received[0]!.text.includes('notes.txt'), output);
        assert.match(received[1]!.text, /the word is walrus/);
      },
    );

  it(
    'Claude Code: a prompt is a command, and its text reaches the model',
    { skip: skip || claudeCode.missing(packages) },
    async () => {
      const program = withPrompt(claudeCode, '/mcp__wc__analyse_file notes.txt');
      const { requests, output } = await runClient(program, packages, { url: `${server.url}/mcp` }, []);
      assert.match(JSON.stringify(requests[0]), /Analyse the file \S*notes\.txt\S*\.\S*1\. Find it/, output);
    },
  );
});
