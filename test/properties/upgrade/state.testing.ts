import assert from 'node:assert/strict';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { createTaskClient, type Came } from '../../conformance/tasks.testing.ts';

/** A user with a real client. */
export interface Member extends AsyncDisposable {
  /** The structured answer; what fails is an error of the test. */
  call(tool: string, input?: Record<string, unknown>): Promise<Came>;
}

export async function connect(url: string, bearer: string): Promise<Member> {
  const client = new Client({ name: 'upgrade suite', version: '1' });
  const headers = { Authorization: `Bearer ${bearer}` };
  const target = new URL(`${url}/mcp?structured=1`);
  await client.connect(new StreamableHTTPClientTransport(target, { requestInit: { headers } }));
  return {
    async call(name, input = {}) {
      const result = await client.callTool({ name, arguments: input });
      // A run that fails is an answer all the same.
      assert.ok(result.structuredContent !== undefined, `${name}: ${JSON.stringify(result.content)}`);
      return result.structuredContent as Came;
    },
    [Symbol.asyncDispose]: () => client.close(),
  };
}

export const serverArguments = (data: string): string[] => [
  '--data',
  data,
  '--auth',
  'keys',
  '--tools',
  'all',
  '--file-ttl',
  '86400',
  '--audit-days',
  '3650',
];

/** What was made, by which a state is asked for. */
export interface Made {
  readonly keys: { readonly ada: string; readonly bob: string };
  /** Paths of links. */
  readonly rights: readonly string[];
  readonly tasks: readonly string[];
}

/** All that a server says of what its users have. */
export async function readState(url: string, { keys, rights, tasks }: Made) {
  await using ada = await connect(url, keys.ada);
  await using bob = await connect(url, keys.bob);
  // A folder that was moved is read again.
  await ada.call('sync_index');
  const runs = await listAll(ada, 'search_executions', 'executions', 100);
  const crates = await listAll(ada, 'search_index', 'results', 50);
  const detailed = createTaskClient(url, { bearer: keys.ada });
  return {
    runs: await Promise.all(runs.map(({ execution_id }) => ada.call('get_execution', { execution_id }))),
    runsOfBob: await listAll(bob, 'search_executions', 'executions', 100),
    sessions: await ada.call('list_sessions'),
    scripts: await listAll(ada, 'list_scripts', 'scripts', 100),
    script: await ada.call('get_script', { name: 'double@1' }),
    artifacts: await ada.call('list_artifacts'),
    artifactsOfBob: await bob.call('list_artifacts'),
    files: await ada.call('list_files'),
    crates,
    crateFiles: await Promise.all(crates.map(({ crate_id }) => ada.call('list_crate_files', { crate_id }))),
    found: await ada.call('search_index', { query: 'random walk' }),
    foundByBob: await bob.call('search_index', { query: 'random walk' }),
    links: await Promise.all(rights.map((path) => download(`${url}${path}`))),
    tasks: await Promise.all(tasks.map((id) => detailed.getTask(id))),
  };
}

export type State = Awaited<ReturnType<typeof readState>>;

async function listAll(member: Member, tool: string, key: string, limit: number): Promise<Came[]> {
  return (await member.call(tool, tool === 'search_index' ? { query: '', limit } : { limit }))[key] as Came[];
}

/** HEAD uses no link up. */
async function download(url: string) {
  const { status, headers } = await fetch(url, { method: 'HEAD' });
  return { status, size: headers.get('content-length'), etag: headers.get('etag') };
}
