import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { argumentsOf, command, environment, temporaryFolder } from '../conformance/cli.testing.ts';
import { ask, prove } from './asking.testing.ts';
import { connectBy } from './clients.testing.ts';
import { honest } from './honest.testing.ts';
import { furnish, makeProject, umlauts } from './project.testing.ts';

test('the program itself, started in a project: first by upload, then directly once that is proven', async () => {
  await using project = await makeProject();
  const { root } = project;
  const folder = await furnish(project, 'program');
  await using data = await temporaryFolder();
  const args = argumentsOf(
    'stdio',
    '--structured',
    '--port',
    '0',
    '--data',
    join(data.path, 'data'),
    '--sandbox',
    'off',
  );
  const transport = new StdioClientTransport({
    command,
    args,
    cwd: root,
    env: environment,
    stderr: 'ignore',
  });
  const wish = { version: '2025-11-25', capabilities: { roots: {} }, manners: honest(root) } as const;
  await using client = await connectBy(transport, wish);
  const path = `${folder}/grüße an alle.txt`;
  const sent = await ask(client, root, 'read_client_file', { path });
  assert.equal(sent.data?.text, umlauts, sent.text);
  assert.equal(sent.data.rung, 'upload');
  await prove(client, root, folder);
  const read = await client.call('read_client_file', { path });
  assert.equal(read.data?.text, umlauts, read.text);
  assert.equal(read.data.rung, 'direct');
});
