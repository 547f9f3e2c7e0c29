import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { run, temporaryFolder, type Ended, type Program } from '../behaviour/cli/program.testing.ts';
import { noSandbox } from '../code.testing.ts';
import { readFormToken, signInByKey } from '../behaviour/pages/forms.testing.ts';
import { startTeam } from '../properties/several/team.testing.ts';
import { authorization, callTool } from '../behaviour/users/team.testing.ts';
import { freePort } from '../../src/platform/free-port.testing.ts';
import { noNginx, startNginx } from './nginx.testing.ts';

const team = await startTeam();
const skip = noNginx || noSandbox || (typeof team === 'string' && team);

/** As the guide has it: PostgreSQL, an object store, keys, and nginx with the shipped files. */
describe('two servers that share everything, behind nginx', { skip }, () => {
  it('sessions stay with their server, and pages, uploads and links work through both', async () => {
    if (typeof team === 'string') return;
    await using opened = new AsyncDisposableStack();
    opened.use(team);
    const port = await freePort();
    const proxy = `https://127.0.0.1:${port}`;
    const settings = ['--public-url', proxy, '--auth', 'keys', '--sandbox', 'bubblewrap'];
    const servers = [await team.start(settings), await team.start(settings)];
    opened.use(await startNginx({ port, servers: servers.map(({ url }) => url) }));
    const folder = opened.use(await temporaryFolder());
    const at = ['--data', folder.path];
    const added = await run(['user', 'add', 'olga', '--scopes', 'operator,code', ...at], { env: team.env });
    const olga = readKey(added);
    const having = new Set<string>();
    for (const name of ['ada', 'bob', 'cyd', 'dan', 'eve', 'fay', 'gus', 'hal']) {
      const key = readKey(await run(['user', 'add', name, ...at], { env: team.env }));
      const client = await connect(proxy, key);
      for (let call = 1; call <= 6; call++) {
        const cell = { language: 'bash', session_id: 's1', code: 'n=$((n + 1)); echo "cell $n"' };
        const { failed, text } = await callTool(client, 'execute_code', cell);
        assert.ok(!failed && text.includes(`cell ${call}`), `${name}, call ${call}: ${text}`);
      }
      having.add(await findServer(servers, key));
      const { data } = await callTool(client, 'request_upload', { filename: 'a.txt' });
      const sent = await fetch(data.uploadUrl as string, { method: 'PUT', body: `of ${name}` });
      const { file_id } = (await sent.json()) as { file_id: string };
      const { data: link } = await callTool(client, 'share_file', { file_id });
      for (let time = 0; time < 3; time++)
        assert.equal(await (await fetch(link.downloadUrl as string)).text(), `of ${name}`);
      const cookie = await signInByKey(proxy, key);
      for (let time = 0; time < 3; time++)
        assert.ok((await readFormToken(`${proxy}/library`, cookie)).length > 0);
      await client.close();
    }
    // Which server a key leads to is as good as random: eight lead to one of them in one of 128 cases.
    for (let further = 1; having.size < 2 && further <= 16; further++) {
      const key = readKey(await run(['user', 'add', `further${further}`, ...at], { env: team.env }));
      const client = await connect(proxy, key);
      await callTool(client, 'execute_code', { language: 'bash', session_id: 's1', code: 'true' });
      await client.close();
      having.add(await findServer(servers, key));
    }
    assert.equal(having.size, 2, 'callers are spread over both');
    await checkNames(proxy, servers, olga);
  });
});

function readKey({ stdout, stderr }: Ended): string {
  const key = /^wck_\S+/.exec(stdout)?.[0];
  assert.ok(key !== undefined, stderr);
  return key;
}

/** The page of operators names one server, however often it is loaded, and each run has the name of its own. */
async function checkNames(proxy: string, servers: readonly Program[], key: string): Promise<void> {
  const headers = { cookie: await signInByKey(proxy, key) };
  const read = async (path: string): Promise<string> => (await fetch(`${proxy}${path}`, { headers })).text();
  for (const path of ['/operate', '/operate/runs', '/operate/audit', '/operate/audit/verify']) {
    const names = new Set<string>();
    for (let time = 0; time < 6; time++)
      names.add(/Answered by the server\s*<code>([^<]+)<\/code>/.exec(await read(path))?.[1] ?? 'none');
    assert.equal(names.size, 1, `${path}: ${[...names].join(', ')}`);
    assert.ok(!names.has('none'), path);
  }
  const places: string[] = [];
  for (const { url } of servers) {
    const client = await connect(url, key);
    await callTool(client, 'execute_code', { language: 'bash', code: 'sleep 100', background: true });
    await client.close();
    const status = await fetch(`${url}/status`, { headers: authorization(key) });
    places.push(((await status.json()) as { server: string }).server);
  }
  assert.equal(new Set(places).size, 2);
  const runs = await read('/operate/runs');
  for (const place of places) assert.ok(runs.includes(`>${place}</td>`), `${place} in ${runs}`);
}

/** The server that has the session: the other one says that it is elsewhere. */
async function findServer(servers: readonly { readonly url: string }[], key: string): Promise<string> {
  for (const { url } of servers) if (await hasSession(url, key)) return url;
  throw new Error('no server has the session');
}

async function hasSession(url: string, key: string): Promise<boolean> {
  const client = await connect(url, key);
  const cell = { language: 'bash', session_id: 's1', code: 'true' };
  const { failed, code, text } = await callTool(client, 'execute_code', cell);
  await client.close();
  assert.ok(!failed || code === 'session_elsewhere', text);
  return !failed;
}

async function connect(url: string, key: string): Promise<Client> {
  const newest = { versionNegotiation: { mode: { pin: '2026-07-28' } } } as const;
  const client = new Client({ name: 'team', version: '1' }, newest);
  const requestInit = { headers: authorization(key) };
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${url}/mcp?structured=1`), { requestInit }),
  );
  return client;
}
