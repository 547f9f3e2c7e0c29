import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { it } from 'node:test';
import { Client, type ClientOptions } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import yauzl from 'yauzl';
import * as z from 'zod';
import { eventually } from '../../../src/platform/eventually.testing.ts';
import { recordProof } from '../../requirements/requirements.testing.ts';
import { findOldNode } from './old-node.testing.ts';
import { environment, run, serve, temporaryFolder } from './program.testing.ts';

const root = join(import.meta.dirname, '../../..');

/** What the manifest of a Node bundle has, in version 0.3 of the format. */
const manifestShape = z.strictObject({
  manifest_version: z.literal('0.3'),
  name: z.string(),
  display_name: z.string(),
  version: z.string(),
  description: z.string(),
  long_description: z.string(),
  author: z.strictObject({ name: z.string() }),
  license: z.string(),
  keywords: z.array(z.string()),
  server: z.strictObject({
    type: z.literal('node'),
    entry_point: z.string(),
    mcp_config: z.strictObject({
      command: z.literal('node'),
      args: z.array(z.string()),
      env: z.record(z.string(), z.string()),
    }),
  }),
  tools_generated: z.literal(true),
  compatibility: z.strictObject({
    platforms: z.array(z.enum(['darwin', 'win32', 'linux'])),
    runtimes: z.strictObject({ node: z.string() }),
  }),
  user_config: z.record(
    z.string(),
    z.strictObject({
      type: z.literal('string'),
      title: z.string(),
      description: z.string(),
      default: z.string().optional(),
      sensitive: z.boolean().optional(),
      required: z.boolean(),
    }),
  ),
});

/** Builds the bundle and unpacks it, as an app does when it is installed. */
async function installBundle() {
  const folder = await temporaryFolder();
  const bundle = execFileSync(process.execPath, [join(root, 'scripts/mcpb.ts'), folder.path], {
    encoding: 'utf8',
  }).trim();
  const unpacked = join(folder.path, 'unpacked');
  await mkdir(unpacked);
  const zip = await yauzl.openPromise(bundle);
  for await (const entry of zip.eachEntry())
    await writeFile(join(unpacked, entry.fileName), await text(await zip.openReadStreamPromise(entry)));
  const manifest = manifestShape.parse(JSON.parse(await readFile(join(unpacked, 'manifest.json'), 'utf8')));
  return { ...folder, bundle, unpacked, manifest };
}

type Installed = Awaited<ReturnType<typeof installBundle>>;

/** Starts the bundle as its manifest says, with the oldest Node at hand and what the user has filled in. */
async function connect(
  { path, unpacked, manifest }: Installed,
  filledIn: Record<string, string>,
  options: ClientOptions = {},
) {
  const { command, args, env } = manifest.server.mcp_config;
  assert.equal(command, 'node');
  const [node, ...first] = (await findOldNode(path)).command;
  const fill = (value: string): string =>
    value
      .replaceAll('${__dirname}', unpacked)
      .replaceAll(/\$\{user_config\.(\w+)\}/g, (whole, name: string) => filledIn[name] ?? whole);
  const client = new Client({ name: 'bundle suite', version: '1' }, options);
  const filled = Object.fromEntries(Object.entries(env).map(([name, value]) => [name, fill(value)]));
  const transport = new StdioClientTransport({
    command: node!,
    args: [...first, ...args.map(fill)],
    env: { ...environment, ...filled },
    stderr: 'inherit',
  });
  try {
    await client.connect(transport);
  } catch (error) {
    await transport.close();
    throw error;
  }
  return {
    client,
    call: async (name: string, input: Record<string, unknown>) => {
      const { content } = await client.callTool({ name, arguments: input });
      return (content as { text?: string }[])[0]?.text ?? '';
    },
    [Symbol.asyncDispose]: () => client.close(),
  };
}

const eras: Record<string, ClientOptions> = {
  'by sessions (2025-11-25)': { supportedProtocolVersions: ['2025-11-25'] },
  'without sessions (2026-07-28)': { versionNegotiation: { mode: { pin: '2026-07-28' } } },
};

it('the bundle is small, names the version of the package, and is the same whenever it is built', async () => {
  await using first = await installBundle();
  await using second = await installBundle();
  const bytes = await readFile(first.bundle);
  assert.ok(bytes.equals(await readFile(second.bundle)));
  assert.ok(bytes.length < 32 * 1024, `${bytes.length} bytes`);
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string };
  assert.equal(first.manifest.version, version);
  assert.equal(first.manifest.user_config['key']?.sensitive, true);
});

for (const [how, options] of Object.entries(eras))
  it(`the bundle passes calls on to a running server, ${how}`, async () => {
    await using installed = await installBundle();
    await using server = await serve(['--data', join(installed.path, 'data')]);
    await using app = await connect(installed, { url: server.url }, options);
    const { tools } = await app.client.listTools();
    assert.ok(tools.some(({ name }) => name === 'share_file'));
    const [one, two] = await Promise.all([
      app.call('request_upload', { filename: 'größe.txt' }),
      app.call('list_files', {}),
    ]);
    assert.match(one, /\/uploads\//);
    assert.doesNotMatch(two, /\/uploads\//);
    recordProof('G4:mcpb');
  });

/** How many runs are under way on a server. */
async function countRuns(url: string): Promise<number> {
  const status = (await (await fetch(`${url}/status`)).json()) as { runs: { running: number } };
  return status.runs.running;
}

for (const [how, options] of Object.entries(eras))
  it(`a call that the app cancels ends on the server, ${how}`, async () => {
    await using installed = await installBundle();
    const withCode = ['--sandbox', 'subprocess', '--allow-sandbox', 'subprocess'];
    // Without sessions a client that cancels looks like one that is gone, whose runs have a while to be asked for.
    const atOnce = ['--orphan-grace', '0'];
    await using server = await serve(['--data', join(installed.path, 'data'), ...withCode, ...atOnce]);
    await using app = await connect(installed, { url: server.url }, options);
    const abort = new AbortController();
    const call = app.client.callTool(
      { name: 'execute_code', arguments: { language: 'bash', code: 'sleep 100', timeout_ms: 120_000 } },
      { signal: abort.signal },
    );
    await eventually(async () => (await countRuns(server.url)) === 1);
    abort.abort();
    await assert.rejects(call);
    await eventually(async () => (await countRuns(server.url)) === 0);
  });

it('the bundle goes on after the server was started again, which forgets its sessions', async () => {
  await using installed = await installBundle();
  const data = ['--data', join(installed.path, 'data')];
  const first = await serve(data);
  await using app = await connect(installed, { url: first.url }, eras['by sessions (2025-11-25)']);
  await app.call('list_files', {});
  assert.equal(await first.end('SIGTERM'), 0);
  await using second = await serve([...data, '--port', new URL(first.url).port]);
  assert.equal(second.url, first.url);
  assert.notEqual(await app.call('list_files', {}), '');
});

it('the bundle says what to do where no server runs, and where one asks for a key', async () => {
  await using installed = await installBundle();
  const gone = await serve(['--data', join(installed.path, 'gone')]);
  assert.equal(await gone.end('SIGTERM'), 0);
  await assert.rejects(
    connect(installed, { url: gone.url }),
    /No Workcrate answers at http:\/\/127\.0\.0\.1:\d+ \(ECONNREFUSED\)\. Start one with: npx workcrate serve\./,
  );
  const data = join(installed.path, 'data');
  const { stdout } = await run(['user', 'add', 'ada', '--data', data]);
  await using server = await serve(['--data', data, '--auth', 'keys']);
  await assert.rejects(
    connect(installed, { url: server.url }),
    /asks for a key\. Put yours into the settings/,
  );
  const key = /wck_[\w-]{43}/.exec(stdout)![0];
  await using app = await connect(installed, { url: `${server.url}/`, key });
  assert.notEqual(await app.call('list_files', {}), '');
});
