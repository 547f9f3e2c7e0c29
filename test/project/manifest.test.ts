import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { it } from 'node:test';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { settings } from '../../src/platform/config/settings.ts';
import { environment, temporaryFolder } from '../behaviour/cli/program.testing.ts';
import { noSandbox } from '../code.testing.ts';
import { recordProof } from '../requirements/requirements.testing.ts';

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

/** Starts the server by the manifest alone, as a gateway does, from a folder of its own. */
async function startByManifest(home: string) {
  const client = new Client({ name: 'gateway', version: '1' });
  const env = { ...environment, HOME: home, XDG_DATA_HOME: home };
  const { command, timeout } = manifest;
  await client.connect(
    new StdioClientTransport({ command, args: [resolve(root, main)], cwd: home, env, stderr: 'ignore' }),
  );
  const { tools } = await client.listTools();
  return {
    names: tools.map(({ name }) => name),
    call: (name: string, input: Record<string, unknown>) =>
      client.callTool({ name, arguments: input }, { timeout }),
    [Symbol.asyncDispose]: () => client.close(),
  };
}

it('the package carries a manifest, and publishes what it names', () => {
  const { mcpName, transport, sensitive } = manifest;
  assert.deepEqual(
    { mcpName, transport, sensitive },
    { mcpName: 'codexec', transport: 'stdio', sensitive: true },
  );
  assert.ok(files.includes(main.split('/')[0]!));
  recordProof('D16:manifest');
});

it('the gateway is told to wait longer than the longest run', () => {
  assert.ok(manifest.timeout > settings.runMaxTimeout.fallback({}) * 1000);
});

it('every tool of the server that the manifest starts has a name that models take behind the prefix', async () => {
  await using home = await temporaryFolder();
  await using server = await startByManifest(home.path);
  assert.ok(server.names.includes('list_files'), server.names.join(', '));
  for (const name of server.names) {
    assert.match(`codexec_${name}`, /^[a-zA-Z0-9_-]{1,64}$/);
    // A gateway puts the prefix before it: a name that has it already would have it twice.
    assert.ok(!name.startsWith('codexec'), name);
  }
  recordProof('D16:names-fit-behind-the-prefix');
});

it('the server that the manifest starts runs code by execute_code', { skip: noSandbox }, async () => {
  await using home = await temporaryFolder();
  await using server = await startByManifest(home.path);
  const result = await server.call('execute_code', { language: 'bash', code: 'echo hi' });
  const [answer] = result.content as { text: string }[];
  assert.match(answer!.text, /^hi\n/);
  recordProof('D16:started-by-the-manifest');
});

it('an installation without development packages has the driver for PostgreSQL', () => {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    readonly packages: Readonly<
      Record<string, { readonly dev?: boolean; readonly optionalDependencies?: Record<string, string> }>
    >;
  };
  assert.ok('pg' in packages['']!.optionalDependencies!);
  const left = Object.entries(packages).filter(
    ([name, { dev }]) => /^node_modules\/pg(?:-[a-z0-9-]+)?$/.test(name) && dev,
  );
  assert.deepEqual(
    left.map(([name]) => name),
    [],
  );
});

it('no package that runs in production runs a script when it is installed', () => {
  interface Locked {
    readonly packages: Readonly<
      Record<string, { readonly dev?: boolean; readonly hasInstallScript?: boolean }>
    >;
  }
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as Locked;
  const found = Object.entries(packages).filter(([, one]) => one.hasInstallScript && one.dev !== true);
  assert.deepEqual(
    found.map(([name]) => name),
    [],
  );
});
