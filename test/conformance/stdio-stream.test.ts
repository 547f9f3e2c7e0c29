import assert from 'node:assert/strict';
import { once } from 'node:events';
import { it } from 'node:test';
import { startCli, temporaryFolder } from './cli.testing.ts';
import { openingOf, versions } from './messages.testing.ts';
import { startStdio, startStdioWithFixtures } from './stdio.testing.ts';

for (const version of versions) {
  it(`stdout holds protocol lines only, whatever is logged, with MCP ${version}`, async () => {
    await using stdio = await startStdio('--log-level', 'debug');
    const { opening, request } = openingOf(version);
    stdio.write(...opening, request(2, 'tools/list'), request(3, 'tools/call', callOf('list_files', {})));
    await stdio.until((message) => message.id === 3);
    stdio.child.stdin.write('this is no JSON\n');
    stdio.write(request(4, 'tools/call', callOf('delete_file', { file_id: 'file_none' })));
    await stdio.until((message) => message.id === 4);
    stdio.child.stdin.end();
    await once(stdio.child, 'close');
    assert.deepEqual(
      stdio.messages.map(({ jsonrpc }) => jsonrpc),
      stdio.messages.map(() => '2.0'),
    );
    assert.match(stdio.logged(), /"event":"tool.called"/);
  });

  it(`it ends when stdin closes, even in the middle of a call, with MCP ${version}`, async () => {
    await using stdio = await startStdioWithFixtures();
    const { opening, request } = openingOf(version);
    const params = callOf('test_cancellable', { call: 'left alone' }, { progressToken: 1 });
    stdio.write(...opening, request(2, 'tools/call', params));
    await stdio.until((message) => message.method === 'notifications/progress');
    stdio.child.stdin.end();
    const [code] = await once(stdio.child, 'exit');
    assert.equal(code, 0);
  });
}

for (const command of ['serve', 'stdio'])
  it(`${command} --tools with a group that does not exist says which there are`, async () => {
    await using folder = await temporaryFolder();
    const child = startCli([command, '--tools', 'files,magic', '--port', '0', '--data', folder.path]);
    let said = '';
    child.stderr.on('data', (chunk) => (said += chunk));
    const [code] = await once(child, 'close');
    assert.equal(code, 2);
    assert.match(
      said,
      /^workcrate: There is no group of tools magic\. There are: default, all, code, artifacts, files, crates, documents, client, skills, discovery, scripts, validation, packages, gateway, operator\.$/m,
    );
  });

const callOf = (name: string, input: Record<string, unknown>, meta: Record<string, unknown> = {}) => ({
  name,
  arguments: input,
  _meta: meta,
});
