import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { Client, StreamableHTTPClientTransport, type CallToolResult } from '@modelcontextprotocol/client';
import { loadConfig, type ServerConfig as Config } from '../src/server/settings.ts';
import { findPostgres, type TestPostgres } from '../src/ports/database/postgres.testing.ts';
import { createLog, type Log } from '../src/platform/observability/log.ts';
import { startWorkcrate } from '../src/server/start.ts';

/** Which backends the behaviour suite runs on: `WORKCRATE_TEST_DATABASE=postgres`, `WORKCRATE_TEST_STORAGE=s3`. */
const databaseKind = process.env['WORKCRATE_TEST_DATABASE'] ?? 'sqlite';
const storageKind = (process.env['WORKCRATE_TEST_STORAGE'] ?? 'disk') as Config['storage'];

export const backends = `${databaseKind} + ${storageKind}`;

/** A part of the store for each server under test. The store itself is started by scripts/test.ts. */
export function storageSettings(): Partial<Config> {
  const prefix = `e2e-${randomBytes(8).toString('hex')}`;
  switch (storageKind) {
    case 's3': {
      const store = JSON.parse(process.env['WORKCRATE_TEST_S3']!) as TestS3;
      return {
        storage: 's3',
        s3Bucket: store.bucket,
        s3Prefix: prefix,
        s3Endpoint: store.endpoint,
        s3Region: store.region,
        s3AccessKeyId: store.accessKeyId,
        s3SecretAccessKey: store.secretAccessKey,
      };
    }
    case 'azure': {
      const store = JSON.parse(process.env['WORKCRATE_TEST_AZURE']!) as TestAzure;
      return {
        storage: 'azure',
        azureContainer: store.container,
        azurePrefix: prefix,
        azureEndpoint: store.endpoint,
        azureAccount: store.account,
        azureKey: store.key,
      };
    }
    default:
      return { storage: storageKind };
  }
}

type TestS3 = Record<'endpoint' | 'bucket' | 'region' | 'accessKeyId' | 'secretAccessKey', string>;
type TestAzure = Record<'endpoint' | 'container' | 'account' | 'key', string>;

let postgres: Promise<TestPostgres | null> | null = null;

/** A database of its own for a server under test, which goes with it, or null for SQLite in its data folder. */
async function databaseUrl(cleaning: AsyncDisposableStack): Promise<string | null> {
  if (databaseKind === 'sqlite') return null;
  postgres ??= findPostgres();
  const server = await postgres;
  if (server === null)
    throw new Error('WORKCRATE_TEST_DATABASE=postgres, but no PostgreSQL can be started here');
  const url = await server.url();
  cleaning.defer(() => server.drop(url));
  return url;
}

export interface TestServer extends AsyncDisposable {
  readonly url: string;
  readonly data: string;
  readonly config: Config;
  /** Every line logged, as text. */
  readonly logged: string[];
  readonly client: Client;
  call(tool: string, input: Record<string, unknown>): Promise<ToolReply>;
  /** Stops it and starts another on the same data. */
  restart(overrides?: Partial<Config>): Promise<void>;
}

export interface ToolReply {
  readonly failed: boolean;
  readonly text: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- a test names the fields that it expects
  readonly data: any;
  readonly code: string | null;
  readonly raw: { content: unknown[] };
}

/** A real server in this process, on a free port and a folder of its own, with a real MCP client. */
export async function startServer(overrides: Partial<Config> = {}): Promise<TestServer> {
  await using cleaning = new AsyncDisposableStack();
  const data = await mkdtemp(join(tmpdir(), 'workcrate-e2e-'));
  cleaning.defer(() => rm(data, { recursive: true, force: true }));
  const defaults = { ...loadConfig({ data, port: '0' }, {}).config, ...storageSettings() };
  // Most tests run no code, and a sandbox takes a moment to be made ready; libraries and interpreters take a second.
  const quick = { sandbox: 'off', pythonPreload: [], warmPython: 1, warmNode: 0, warmBash: 1 } as const;
  const usual = { ...quick, guessLimit: 1e6, database: await databaseUrl(cleaning) };
  const quiet = quietStore({ ...defaults, ...overrides });
  const settings: Config = { ...defaults, ...usual, ...quiet, ...overrides };
  const logged: string[] = [];
  const log = createLog('debug', (line) => void logged.push(line));
  let running = await start(settings, log);
  cleaning.defer(() => running[Symbol.asyncDispose]());
  const all = cleaning.move();
  return {
    get url() {
      return running.url;
    },
    get client() {
      return running.client;
    },
    data,
    config: settings,
    logged,
    call: (tool, input) => call(running.client, tool, input),
    async restart(more = {}) {
      await running[Symbol.asyncDispose]();
      running = await start({ ...settings, port: portOf(running.url), ...more }, log);
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

/** Packed crates go to the store there, and looking at it takes a process that most tests have no use for. */
const quietStore = ({ storage }: Config): Partial<Config> =>
  storage === 's3' || storage === 'azure' ? { crateInterval: 0 } : {};

const portOf = (url: string): number => Number(new URL(url).port);

async function start(config: Config, log: Log) {
  const workcrate = await startWorkcrate(config, { sharesMachine: false, log });
  const client = new Client({ name: 'behaviour suite', version: '1' });
  try {
    await client.connect(new StreamableHTTPClientTransport(new URL(`${workcrate.url}/mcp?structured=1`)));
  } catch (error) {
    await workcrate[Symbol.asyncDispose]();
    throw error;
  }
  return {
    url: workcrate.url,
    client,
    async [Symbol.asyncDispose]() {
      await client.close();
      await workcrate[Symbol.asyncDispose]();
    },
  };
}

async function call(client: Client, name: string, input: Record<string, unknown>): Promise<ToolReply> {
  return replyOf(await client.callTool({ name, arguments: input }));
}

export function replyOf(result: CallToolResult): ToolReply {
  const [first] = result.content as { text?: string }[];
  const meta = result._meta?.['workcrate/error'] as { code: string } | undefined;
  return {
    failed: result.isError === true,
    text: first?.text ?? '',
    data: result.structuredContent,
    code: meta?.code ?? null,
    raw: result as unknown as { content: unknown[] },
  };
}

/**
 * Lets the time of day stand still until the test moves it on by so many seconds: what expires does so when it is meant
 * to, however long the machine takes. To be called before the server starts, which then goes by it.
 */
export function timeOf(t: TestContext): (seconds: number) => void {
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() });
  return (seconds) => t.mock.timers.tick(seconds * 1000);
}

/** Sends bytes in and gives the file's id. */
export async function upload(
  server: TestServer,
  filename: string,
  bytes: Uint8Array | string,
): Promise<string> {
  const { data } = await server.call('request_upload', { filename });
  const answer = await fetch(data.uploadUrl, { method: 'PUT', body: bytes as string });
  if (answer.status !== 201) throw new Error(`upload answered ${answer.status}: ${await answer.text()}`);
  return ((await answer.json()) as { file_id: string }).file_id;
}

/** Sends bytes in and shares them. */
export async function share(
  server: TestServer,
  bytes: Uint8Array | string,
  more: { filename?: string; single_use?: boolean; ttl_seconds?: number } = {},
): Promise<{ downloadUrl: string; token: string; fileId: string; sha256: string }> {
  const { filename = 'file.bin', ...terms } = more;
  const fileId = await upload(server, filename, bytes);
  const { data } = await server.call('share_file', { file_id: fileId, ...terms });
  return { ...data, fileId };
}
