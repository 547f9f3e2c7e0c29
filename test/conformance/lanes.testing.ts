import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import {
  argumentsWithFixtures,
  command,
  environment,
  startServeWithFixtures,
  temporaryFolder,
} from './cli.testing.ts';
import { versions, type Version } from './messages.testing.ts';

export interface Lane {
  readonly transport: 'HTTP' | 'stdio';
  readonly version: Version;
}

/** Every way in which a client can speak to Workcrate. */
export const lanes: readonly Lane[] = (['HTTP', 'stdio'] as const).flatMap((transport) =>
  versions.map((version) => ({ transport, version })),
);

export interface Connection extends AsyncDisposable {
  readonly client: Client;
  /** Where the links point. Null over stdio, which takes a free port. */
  readonly url: string | null;
}

/** The real program with the fixtures, and the real client held to one version. */
export async function connect(lane: Lane): Promise<Connection> {
  await using opened = new AsyncDisposableStack();
  const { transport, url } = lane.transport === 'HTTP' ? await overHttp(opened) : await overStdio(opened);
  const client = clientOf(lane.version);
  await client.connect(transport);
  opened.defer(() => client.close());
  const open = opened.move();
  return { client, url, [Symbol.asyncDispose]: () => open.disposeAsync() };
}

async function overHttp(opened: AsyncDisposableStack) {
  const { url } = opened.use(await startServeWithFixtures());
  return { transport: new StreamableHTTPClientTransport(new URL(`${url}/mcp?structured=1`)), url };
}

async function overStdio(opened: AsyncDisposableStack) {
  const { path } = opened.use(await temporaryFolder());
  const cwd = await makeProject(path);
  const args = argumentsWithFixtures('stdio', '--structured', '--port', '0', '--data', join(path, 'data'));
  const transport = new StdioClientTransport({ command, args, cwd, env: environment, stderr: 'ignore' });
  return { transport, url: null };
}

/** A folder as a client starts the program in, with what may be shared from it and what may not. */
async function makeProject(parent: string): Promise<string> {
  const project = join(parent, 'project');
  await mkdir(join(project, 'results'), { recursive: true });
  await writeFile(join(parent, 'outside.txt'), 'not yours');
  await writeFile(join(project, 'results', 'plot.svg'), '<svg/>');
  await writeFile(join(project, '.env'), 'SECRET=1');
  await symlink('../outside.txt', join(project, 'way-out.txt'));
  return project;
}

function clientOf(version: Version): Client {
  const who = { name: 'lanes', version: '1' };
  if (version === '2026-07-28') return new Client(who, { versionNegotiation: { mode: { pin: version } } });
  return new Client(who, { supportedProtocolVersions: [version] });
}
