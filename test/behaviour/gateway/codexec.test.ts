import assert from 'node:assert/strict';
import { join } from 'node:path';
import { it } from 'node:test';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { recordProof } from '../../requirements/requirements.testing.ts';
import { environment, fromSource, temporaryFolder } from '../cli/program.testing.ts';
import { noSandbox } from '../../code.testing.ts';
import { startTeam } from '../users/team.testing.ts';
import { writeServers } from './servers.testing.ts';

const root = join(import.meta.dirname, '../../..');

/** Our own package, by its manifest, with folders of its own. */
const ownPackage = (home: string) => ({
  packages: [{ path: root, env: { XDG_DATA_HOME: home, WORKCRATE_PYTHON_PRELOAD: 'none' } }],
});

it(
  'the gateway exposes codexec_execute_code from the manifest, and it runs code',
  { skip: noSandbox },
  async () => {
    await using folder = await temporaryFolder();
    await using team = await startTeam({ gateway: await writeServers(folder.path, ownPackage(folder.path)) });
    const ann = await team.join('ann', undefined, '2026-07-28');
    const { tools } = await ann.client.listTools();
    const tool = tools.find(({ name }) => name === 'codexec_execute_code')!;
    assert.equal(tool._meta?.['workcrate/sensitive'], true);
    for (const { name } of tools) assert.match(name, /^[a-zA-Z0-9_-]{1,64}$/);
    const { text } = await ann.call('codexec_execute_code', { language: 'bash', code: 'echo $((6 * 7))' });
    assert.match(text, /"text":"42\\n/);
    recordProof('D16:exposed-by-the-gateway-of-f3');
  },
);

it('a client over stdio gets the tools behind the gateway too', { skip: noSandbox }, async () => {
  await using folder = await temporaryFolder();
  const file = await writeServers(folder.path, ownPackage(folder.path));
  const [command, ...args] = fromSource;
  const client = new Client({ name: 'stdio suite', version: '1' });
  const data = join(folder.path, 'outer');
  const env = { ...environment, HOME: folder.path, WORKCRATE_SANDBOX: 'off' };
  await client.connect(
    new StdioClientTransport({
      command: command!,
      args: [...args, 'stdio', '--data', data, '--port', '0', '--gateway', file],
      env,
      stderr: 'ignore',
    }),
  );
  try {
    const { tools } = await client.listTools();
    assert.ok(tools.some(({ name }) => name === 'codexec_list_files'));
    const result = await client.callTool({ name: 'codexec_list_files', arguments: {} });
    assert.notEqual(result.isError, true, JSON.stringify(result));
  } finally {
    await client.close();
  }
});
