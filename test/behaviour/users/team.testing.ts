import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport, type ClientOptions } from '@modelcontextprotocol/client';
import { loadConfig, type ServerConfig as Config } from '../../../src/server/settings.ts';
import { openDatabase } from '../../../src/ports/database/open.ts';
import { findPostgres, NO_POSTGRES } from '../../../src/ports/database/postgres.testing.ts';
import { furtherGroups, toolGroups } from '../../../src/core/offer/tool.ts';
import { createLog } from '../../../src/platform/observability/log.ts';
import { startWorkcrate } from '../../../src/server/start.ts';
import { getDatabaseLocation } from '../../../src/core/store-options.ts';
import { addUser } from '../../../src/core/users/keys.ts';
import type { Version } from '../../conformance/messages.testing.ts';

export interface Reply {
  readonly failed: boolean;
  readonly text: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- a test names the fields that it expects
  readonly data: any;
  readonly code: string | null;
}

/** Somebody with a key or token, and a real client. */
export interface Member extends AsyncDisposable {
  readonly name: string;
  readonly bearer: string;
  readonly client: Client;
  call(tool: string, input?: Record<string, unknown>): Promise<Reply>;
  fetch(path: string, init?: { method?: string }): Promise<Response>;
}

export interface Team extends AsyncDisposable {
  readonly url: string;
  readonly config: Config;
  readonly logged: string[];
  /** Adds a user and connects with the new key. */
  join(name: string, scopes?: readonly string[], version?: Version): Promise<Member>;
  /** Connects with a key or token that there is. */
  connect(name: string, bearer: string, version?: Version): Promise<Member>;
  /** Makes a key and connects nobody. */
  key(name: string, scopes?: readonly string[], expiresAt?: number | null): Promise<string>;
}

const everything = [...toolGroups, ...furtherGroups];

/** A real server in this process that asks for keys, unless told otherwise. */
export async function startTeam(overrides: Partial<Config> = {}): Promise<Team> {
  await using started = new AsyncDisposableStack();
  const data = await mkdtemp(join(tmpdir(), 'workcrate-team-'));
  started.defer(() => rm(data, { recursive: true, force: true }));
  const usual = { auth: ['keys'], sandbox: 'off', pythonPreload: [], guessLimit: 1e6 } as const;
  const config: Config = { ...loadConfig({ data, port: '0' }, {}).config, ...usual, ...overrides };
  const logged: string[] = [];
  const log = createLog('debug', (line) => void logged.push(line));
  const { url } = started.use(await startWorkcrate(config, { sharesMachine: false, log }));
  // As `workcrate user` does it: on a connection of its own.
  const database = started.adopt(await openDatabase(getDatabaseLocation(config)), (it) => it.close());
  const members = started.adopt(new Set<Member>(), closeAll);
  const key: Team['key'] = (name, scopes = everything, expiresAt = null) =>
    addUser(database, name, { scopes, expiresAt }, Date.now());
  const connect: Team['connect'] = async (name, bearer, version) => {
    const member = await memberOf(url, name, bearer, version);
    members.add(member);
    return member;
  };
  const all = started.move();
  return {
    url,
    config,
    logged,
    key,
    connect,
    join: async (name, scopes, version) => connect(name, await key(name, scopes), version),
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

async function closeAll(members: Set<Member>): Promise<void> {
  for (const member of members) await member[Symbol.asyncDispose]();
}

export const authorization = (bearer: string) => ({ Authorization: `Bearer ${bearer}` });

async function memberOf(url: string, name: string, bearer: string, version?: Version): Promise<Member> {
  const client = new Client({ name: 'team', version: '1' }, optionsOf(version));
  const requestInit = { headers: authorization(bearer) };
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${url}/mcp?structured=1`), { requestInit }),
  );
  return {
    name,
    bearer,
    client,
    call: (tool, input = {}) => callTool(client, tool, input),
    fetch: (path, init = {}) => fetch(`${url}${path}`, { ...init, headers: authorization(bearer) }),
    [Symbol.asyncDispose]: () => client.close(),
  };
}

function optionsOf(version: Version = '2025-11-25'): ClientOptions {
  return version === '2026-07-28'
    ? { versionNegotiation: { mode: { pin: version } } }
    : { supportedProtocolVersions: [version] };
}

export async function callTool(client: Client, name: string, input: Record<string, unknown>): Promise<Reply> {
  const result = await client.callTool({ name, arguments: input });
  const meta = result._meta?.['workcrate/error'] as { code: string } | undefined;
  return {
    failed: result.isError === true,
    text: JSON.stringify(result.content),
    data: result.structuredContent,
    code: meta?.code ?? null,
  };
}

/** Sends bytes in for somebody, and gives the file's id. */
export async function send({ call }: Pick<Member, 'call'>, filename: string, bytes: string): Promise<string> {
  const { data } = await call('request_upload', { filename });
  const answer = await fetch(data.uploadUrl as string, { method: 'PUT', body: bytes });
  if (answer.status !== 201) throw new Error(`upload answered ${answer.status}: ${await answer.text()}`);
  return ((await answer.json()) as { file_id: string }).file_id;
}

const postgres = await findPostgres();

/** Where the state may be, for suites that have to hold on both. */
export const databases = [
  { kind: 'sqlite', url: async (): Promise<string | null> => null, skip: false },
  {
    kind: 'postgres',
    url: async (): Promise<string | null> => postgres!.url(),
    skip: postgres === null ? NO_POSTGRES : false,
  },
] as const;
