import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it, test } from 'node:test';
import {
  StreamableHTTPClientTransport,
  type CallToolResult,
  type Client,
  type Transport,
} from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { connect, connectBy, type Connected } from '../client-files/clients.testing.ts';
import { serve, type Served } from '../client-files/servers.testing.ts';
import { argumentsOf, command, environment, temporaryFolder } from '../../conformance/cli.testing.ts';
import { versions, type Version } from '../../conformance/messages.testing.ts';
import { withoutChance } from './stage.testing.ts';
import { recordProof } from '../../requirements/requirements.testing.ts';

const asking = { _meta: { 'workcrate/structured': true } };
const wishOf = (version: Version) => ({ version, capabilities: {}, manners: {} });

/** Gives a file to share. */
async function giveFile({ client }: Connected): Promise<string> {
  const { content } = await client.callTool({ name: 'request_upload', arguments: { filename: 'a.txt' } });
  const [uploadUrl] = /http:\S+\/uploads\/\S+/.exec((content[0] as { text: string }).text)!;
  const answer = await fetch(uploadUrl, { method: 'PUT', body: 'hello' });
  return ((await answer.json()) as { file_id: string }).file_id;
}

const typesOf = ({ content }: CallToolResult): string[] => content.map(({ type }) => type);
const textOf = ({ content }: CallToolResult): string => withoutChance((content[0] as { text: string }).text);

/** Neither the list nor an answer has a typed form. Gives the text. */
async function demandTextAlone(client: Client, call: { name: string; arguments: object }): Promise<string> {
  const { tools } = await client.listTools();
  assert.ok(tools.length > 20);
  assert.deepEqual(
    tools.filter(({ outputSchema }) => outputSchema !== undefined),
    [],
  );
  const result = await client.callTool(call as Parameters<Client['callTool']>[0]);
  assert.ok(!('structuredContent' in result));
  assert.deepEqual(typesOf(result), ['text']);
  return textOf(result);
}

/** Both are there, and the text is what it is without asking. */
async function demandBoth(
  client: Client,
  call: { name: string; arguments: object },
  text: string,
  meta: object = {},
): Promise<void> {
  const { tools } = await client.listTools(meta);
  assert.deepEqual(
    tools.filter(({ outputSchema }) => outputSchema?.type !== 'object'),
    [],
  );
  const result = await client.callTool({ ...call, ...meta } as Parameters<Client['callTool']>[0]);
  const { filename, downloadUrl } = result.structuredContent as Record<string, string>;
  assert.equal(filename, 'a.txt');
  assert.deepEqual(typesOf(result), ['text', 'resource_link']);
  assert.equal((result.content[1] as { uri: string }).uri, downloadUrl);
  assert.equal(textOf(result), text);
}

describe('structured content is for programs that ask for it', () => {
  const served: Partial<Record<'http' | 'stdio' | 'structured', Served>> = {};
  before(async () => {
    served.http = await serve('HTTP', { structured: false });
    served.stdio = await serve('stdio', { structured: false });
    served.structured = await serve('stdio', { structured: true });
  });
  after(() => Promise.all(Object.values(served).map((one) => one[Symbol.asyncDispose]())));

  const overHttp = (query: string): Transport =>
    new StreamableHTTPClientTransport(new URL(`${served.http!.url}/mcp${query}`));

  for (const version of versions) {
    it(`over HTTP with MCP ${version}, by its URL or by a request`, async () => {
      await using plain = await connectBy(overHttp(''), wishOf(version));
      const call = { name: 'share_file', arguments: { file_id: await giveFile(plain) } };
      const text = await demandTextAlone(plain.client, call);
      await demandBoth(plain.client, call, text, asking);
      for (const query of ['?structured=1', '?structured']) {
        await using program = await connectBy(overHttp(query), wishOf(version));
        await demandBoth(program.client, call, text);
      }
      await using refusing = await connectBy(overHttp('?structured=0'), wishOf(version));
      await demandTextAlone(refusing.client, call);
      recordProof('C1:structured-content-only-on-request');
    });

    it(`over stdio with MCP ${version}, by a setting or by a request`, async () => {
      await using plain = await connect(served.stdio!, wishOf(version));
      const call = { name: 'share_file', arguments: { file_id: await giveFile(plain) } };
      const text = await demandTextAlone(plain.client, call);
      await demandBoth(plain.client, call, text, asking);
      await using program = await connect(served.structured!, wishOf(version));
      const its = { name: 'share_file', arguments: { file_id: await giveFile(program) } };
      await demandBoth(program.client, its, text.replaceAll(served.stdio!.url, served.structured!.url));
      recordProof('C1:structured-content-only-on-request');
    });
  }

  it('an error is the same in both forms', async () => {
    await using plain = await connectBy(overHttp(''), wishOf('2025-11-25'));
    const call = { name: 'delete_file', arguments: { file_id: 'file_none' } };
    const [without, with_] = [
      await plain.client.callTool(call),
      await plain.client.callTool({ ...call, ...asking }),
    ];
    assert.deepEqual(without, with_);
    assert.equal(without.isError, true);
  });
});

test('the program over stdio has --structured', async () => {
  await using folder = await temporaryFolder();
  for (const flags of [[], ['--structured']]) {
    const args = argumentsOf(
      'stdio',
      '--port',
      '0',
      '--data',
      join(folder.path, 'data'),
      '--sandbox',
      'off',
      ...flags,
    );
    const transport = new StdioClientTransport({ command, args, env: environment, stderr: 'ignore' });
    await using program = await connectBy(transport, wishOf('2025-11-25'));
    const { tools } = await program.client.listTools();
    const result = await program.client.callTool({ name: 'list_files', arguments: {} });
    const has = flags.length > 0;
    assert.equal(
      tools.every(({ outputSchema }) => (outputSchema !== undefined) === has),
      true,
    );
    assert.equal(result.structuredContent !== undefined, has);
  }
});
