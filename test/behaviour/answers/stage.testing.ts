/**
 * A real server with everything switched on, and a client that keeps every answer it gets. Its clients ask for
 * structured content, so that each answer has both forms.
 */
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import {
  StreamableHTTPClientTransport,
  type CallToolResult,
  type Client,
  type ClientCapabilities,
} from '@modelcontextprotocol/client';
import type { ServerConfig as Config } from '../../../src/server/settings.ts';
import {
  article,
  articles,
  collection,
  key,
  serveZotero,
} from '../../../packages/zotero/zotero-server.testing.ts';
import { startPythonIndex } from '../../../src/features/packages/registries.testing.ts';
import { connectBy, type Connected } from '../client-files/clients.testing.ts';
import { honest } from '../client-files/honest.testing.ts';
import { makeProject, type Project } from '../client-files/project.testing.ts';
import { replyOf, startServer, type TestServer, type ToolReply } from '../../server.testing.ts';

/** A call that was answered. */
export interface Recorded {
  readonly tool: string;
  readonly input: Record<string, unknown>;
  readonly result: CallToolResult;
}

export interface Stage extends AsyncDisposable {
  readonly client: Client;
  readonly server: TestServer;
  readonly project: Project;
  /** Folders of crates: one stays, the other is removed on the way. */
  readonly sources: readonly [string, string];
  /** What the operator gives: `skills` and `tools` below it. */
  readonly operator: string;
  readonly recorded: Recorded[];
  /** A call that has to succeed. */
  call: Call;
  /** A call that has to fail. */
  refuse: Call;
  /** Another client, that has these ways of being asked. */
  connect(capabilities: ClientCapabilities): Promise<Caller>;
}

export type Call = (tool: string, input: Record<string, unknown>) => Promise<ToolReply>;

export interface Caller extends Pick<Connected, 'client'>, AsyncDisposable {
  readonly call: Call;
  readonly refuse: Call;
}

const limits = {
  runMemory: 256 * 1024 ** 2,
  runProcesses: 24,
  runDisk: 24 * 1024 ** 2,
  warmPython: 1,
  warmNode: 0,
  warmBash: 1,
};

/** Too long for the text of an answer. */
const longReference = {
  ...article(9, { collections: ['ABSTRAC2'] }),
  csljson: { type: 'book', title: 'Long', abstract: 'x'.repeat(20_000) },
};

/** Opens it, with these settings besides. `sandbox` is the one thing that a machine may lack. */
export async function openStage(overrides: Partial<Config>): Promise<Stage> {
  await using opened = new AsyncDisposableStack();
  const project = opened.use(await makeProject());
  const zotero = opened.use(
    await serveZotero({
      items: [...articles(3, { collections: ['METHODS2'] }), longReference],
      collections: [collection('METHODS2', 'Methods'), collection('ABSTRAC2', 'Abstracts')],
    }),
  );
  const index = opened.use(
    await startPythonIndex([
      { name: 'alpha', version: '1.0' },
      { name: 'alpha', version: '2.0' },
      { name: 'beta', version: '1.5' },
    ]),
  );
  const sources = [await makeFolder(opened), await makeFolder(opened)] as const;
  const operator = await makeFolder(opened);
  // Settings of a package of its own, which the type of the server's does not have.
  const ofZotero = { zoteroLibrary: 'users/475425', zoteroUrl: zotero.url, zoteroKey: key };
  const server = opened.use(
    await startServer({
      ...limits,
      tools: ['all'],
      auditLevel: 'trace',
      crateSources: sources.map((folder) => pathToFileURL(folder).href),
      crateInterval: 0,
      ...ofZotero,
      ...(await allowSite(await makeFolder(opened), new URL(zotero.url).host)),
      pipIndexUrl: index.url,
      packagesAllow: ['alpha', 'beta', 'pip', 'left'],
      skillsPath: join(operator, 'skills'),
      replaceSkills: ['write-report'],
      toolsPath: join(operator, 'tools'),
      ...overrides,
    }),
  );
  const recorded: Recorded[] = [];
  const connect = (capabilities: ClientCapabilities) =>
    connectCaller(server.url, project.root, recorded, capabilities);
  const { client, call, refuse } = opened.use(await connect({}));
  const all = opened.move();
  return {
    client,
    server,
    project,
    sources,
    operator,
    recorded,
    call,
    refuse,
    connect,
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

/** Runs may speak to one host, for which there is a secret. */
async function allowSite(folder: string, address: string): Promise<Partial<Config>> {
  const networkSecrets = join(folder, 'secrets.yaml');
  const entry = '{ name: site-key, scheme: http, host: site.test, header: X-Key, value: s3cret-v4lue }';
  await writeFile(networkSecrets, `secrets:\n  - ${entry}\n`, { mode: 0o600 });
  return {
    sandboxNetwork: 'allow:site.test',
    networkAddresses: [`site.test=${address}`],
    networkSecrets,
  };
}

async function makeFolder(opened: AsyncDisposableStack): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'workcrate-answers-'));
  opened.defer(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** Writes files below a folder. */
export async function writeFiles(
  folder: string,
  files: Readonly<Record<string, string | Uint8Array>>,
): Promise<void> {
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), content);
  }
}

async function connectCaller(
  url: string,
  root: string,
  recorded: Recorded[],
  capabilities: ClientCapabilities,
): Promise<Caller> {
  const transport = new StreamableHTTPClientTransport(new URL(`${url}/mcp?structured=1`));
  const wish = { version: '2025-11-25', capabilities, manners: honest(root), name: 'answers' } as const;
  return recordCalls(await connectBy(transport, wish), recorded);
}

/** Keeps every answer that a client gets. */
export function recordCalls(connected: Connected, recorded: Recorded[]): Caller {
  const callAny = async (tool: string, input: Record<string, unknown>): Promise<ToolReply> => {
    const result = await connected.client.callTool({ name: tool, arguments: input });
    recorded.push({ tool, input, result });
    return replyOf(result);
  };
  return {
    client: connected.client,
    async call(tool, input) {
      const reply = await callAny(tool, input);
      assert.equal(reply.failed, false, `${tool}: ${reply.text}`);
      return reply;
    },
    async refuse(tool, input) {
      const reply = await callAny(tool, input);
      assert.equal(reply.failed, true, `${tool}: ${reply.text}`);
      return reply;
    },
    [Symbol.asyncDispose]: () => connected[Symbol.asyncDispose](),
  };
}

/** Every link has another token, and a moment later another second to end at. */
export const withoutChance = (text: string): string =>
  text.replaceAll(/[\w-]{43}/g, 'TOKEN').replaceAll(/\d{2}:\d{2}(:\d{2})?Z/g, 'TIME');
