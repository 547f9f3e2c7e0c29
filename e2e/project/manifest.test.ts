import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { it } from 'node:test';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { settings } from '../../src/config/settings.ts';
import { environment, temporaryFolder } from '../cli/program.testing.ts';

/**
 * The manifest is in package.json under `workcrate`. A gateway starts `command` with the file that `main` names, and
 * puts `mcpName` and `_` before each tool. The `mcpName` that the MCP Registry knows is another: a string at the top,
 * such as `io.github.somebody/workcrate`.
 */
interface Package {
  readonly main: string;
  readonly files: string[];
  readonly workcrate: {
    readonly mcpName: string;
    readonly transport: string;
    readonly sensitive: boolean;
    readonly command: string;
    readonly timeout: number;
  };
}

const root = join(import.meta.dirname, '../..');
const {
  main,
  files,
  workcrate: manifest,
} = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Package;

/** Starts the server as the gateway does, from a folder of its own, and gives its tools under their new names. */
async function gateway(home: string) {
  const client = new Client({ name: 'gateway', version: '1' });
  const env = { ...environment, HOME: home, XDG_DATA_HOME: home };
  const { command, mcpName, timeout } = manifest;
  await client.connect(
    new StdioClientTransport({ command, args: [resolve(root, main)], cwd: home, env, stderr: 'ignore' }),
  );
  const { tools } = await client.listTools();
  const originals = new Map(tools.map(({ name }) => [`${mcpName}_${name}`, name]));
  return {
    names: [...originals.keys()],
    call: (name: string, input: Record<string, unknown>) =>
      client.callTool({ name: originals.get(name)!, arguments: input }, { timeout }),
    [Symbol.asyncDispose]: () => client.close(),
  };
}

it('D16: the package carries a manifest, and publishes what it names', () => {
  const { mcpName, transport, sensitive } = manifest;
  assert.deepEqual(
    { mcpName, transport, sensitive },
    { mcpName: 'codexec', transport: 'stdio', sensitive: true },
  );
  assert.ok(files.includes(main.split('/')[0]!));
});

it('D16: the gateway is told to wait longer than the longest run', () => {
  assert.ok(manifest.timeout > settings.runMaxTimeout.fallback({}) * 1000);
});

it('D16: a gateway starts the server by the manifest, and every tool has a name that models take', async () => {
  await using home = await temporaryFolder();
  await using server = await gateway(home.path);
  for (const name of server.names) assert.match(name, /^[a-zA-Z0-9_-]{1,64}$/);
  const { isError, structuredContent } = await server.call('codexec_list_files', {});
  assert.notEqual(isError, true);
  assert.deepEqual((structuredContent as { files: unknown[] }).files, []);
});

it('D16: a gateway exposes execute_code as codexec_execute_code, and code runs by it', async (t) => {
  await using home = await temporaryFolder();
  await using server = await gateway(home.path);
  assert.ok(server.names.includes('codexec_execute_code'), server.names.join(', '));
  const result = await server.call('codexec_execute_code', { language: 'bash', code: 'echo hi' });
  if (unavailable(result._meta)) return t.skip('no sandbox works on this machine');
  const { stdout, exit_code } = result.structuredContent as { stdout: string; exit_code: number };
  assert.deepEqual({ stdout, exit_code }, { stdout: 'hi\n', exit_code: 0 });
});

function unavailable(meta: Record<string, unknown> | undefined): boolean {
  const error = meta?.['workcrate/error'] as { code: string } | undefined;
  return error?.code === 'sandbox_unavailable';
}
