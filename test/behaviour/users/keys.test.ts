import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { filesHolding } from '../../secrets.testing.ts';
import { argumentsOf, command, environment, temporaryFolder } from '../../conformance/cli.testing.ts';
import { handshake, openingOf, versions } from '../../conformance/messages.testing.ts';
import { timeOf } from '../../server.testing.ts';
import { postForm, readFormToken } from '../pages/forms.testing.ts';
import { authorization, callTool, send, startTeam, type Member, type Team } from './team.testing.ts';
import { recordProof } from '../../requirements/requirements.testing.ts';

const plain = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' };

describe('a server that asks for keys', () => {
  let team: Team;
  let ada: Member;
  before(async () => {
    team = await startTeam();
    ada = await team.join('ada');
  });
  after(() => team?.[Symbol.asyncDispose]());

  /** As it is written: `fetch` would put the path right first. */
  async function raw(path: string, headers: Record<string, string | string[]> = {}, method = 'GET') {
    const { hostname, port } = new URL(team.url);
    const sent = request({ hostname, port, path, method, headers, setHost: !('Host' in headers) });
    const [answer] = (await once(sent.end(), 'response')) as [IncomingMessage];
    return { status: answer.statusCode, headers: answer.headers, body: await text(answer) };
  }

  for (const path of [
    '/',
    '/mcp',
    '/metrics',
    '/status',
    '/executions',
    '/executions/exec_000000000000',
    '/ada/artifacts',
    '/ada/artifacts/x',
    '/nothing',
  ])
    it(`${path} asks for a key, and tells no more`, async () => {
      for (const method of ['GET', 'POST', 'DELETE', 'OPTIONS', 'HEAD']) {
        const { status, headers } = await raw(path, {}, method);
        assert.equal(status, 401);
        assert.equal(headers['www-authenticate'], 'Bearer realm="workcrate"');
      }
    });

  for (const path of ['/livez', '/readyz'])
    it(`${path} is open`, async () => {
      assert.equal((await raw(path)).status, 200);
    });

  it('the metadata of OAuth is not there where no tokens are taken', async () => {
    assert.equal((await raw('/.well-known/oauth-protected-resource')).status, 404);
  });

  for (const path of [
    '/%6Dcp',
    '//mcp',
    '/./mcp',
    '/livez/../mcp',
    '/livez/',
    '/livez%2f..%2fmcp',
    '/LIVEZ',
    '/livez;/mcp',
    '/livez#/mcp',
    '/readyz/../metrics',
    'http://127.0.0.1/metrics',
    '/files/a/b',
    '/uploads',
    '/.well-known/../metrics',
  ])
    it(`no other spelling gets past it: ${path}`, async () => {
      const { status } = await raw(path);
      assert.ok(status === 401 || status === 400, String(status));
    });

  it('a Host that holds a path does not lead an open route elsewhere', async () => {
    for (const Host of [
      'localhost/metrics?',
      'localhost/mcp#',
      '127.0.0.1/executions?x=',
      'localhost/ada/artifacts?',
    ]) {
      const { status, body } = await raw('/livez', { Host });
      assert.ok(
        status === 400 || status === 401 || status === 403 || status === 500 || body === 'ok\n',
        `${Host}: ${status} ${body}`,
      );
    }
  });

  for (const [what, header] of Object.entries({
    'an unknown key': `Bearer wck_${'A'.repeat(43)}`,
    'no key at all': 'Bearer ',
    'two keys': 'Bearer wck_a wck_b',
    'a key of another form': 'Bearer wck_',
    'a long key': `Bearer wck_${'A'.repeat(8000)}`,
  }))
    it(`${what} is 401 with invalid_token`, async () => {
      const { status, headers } = await raw('/executions', { Authorization: header });
      assert.equal(status, 401);
      assert.match(
        headers['www-authenticate'] ?? '',
        /^Bearer realm="workcrate", error="invalid_token", error_description="[^"]+"$/,
      );
    });

  it('another scheme is as good as none', async () => {
    const { status, headers } = await raw('/executions', {
      Authorization: `Basic ${btoa(`ada:${ada.bearer}`)}`,
    });
    assert.deepEqual([status, headers['www-authenticate']], [401, 'Bearer realm="workcrate"']);
  });

  it('a key in the URL is refused, even a good one', async () => {
    for (const headers of [{}, authorization(ada.bearer)])
      for (const name of ['access_token', 'key'])
        assert.equal((await raw(`/executions?${name}=${ada.bearer}`, headers)).status, 400);
    assert.ok(!team.logged.some((line) => line.includes(ada.bearer)));
  });

  it('the scheme is read whatever its case', async () => {
    assert.equal((await raw('/executions', { Authorization: `bearer ${ada.bearer}` })).status, 200);
  });

  it('two keys in one request are refused, even if both are good', async () => {
    const twice = [`Bearer ${ada.bearer}`, `Bearer ${ada.bearer}`];
    assert.equal((await raw('/executions', { Authorization: twice })).status, 400);
  });

  it('/metrics is for operators and programs that measure', async () => {
    const refused = await ada.fetch('/metrics');
    assert.equal(refused.status, 403);
    assert.match(refused.headers.get('www-authenticate')!, /error="insufficient_scope".*scope="metrics"/);
    const operator = await team.key('root', ['operator']);
    assert.equal((await raw('/metrics', authorization(operator))).status, 200);
    assert.equal((await raw('/executions', authorization(operator))).status, 403);
    assert.equal((await raw('/root/artifacts', authorization(operator))).status, 403);
    assert.equal((await raw('/%6Detrics', authorization(ada.bearer))).status, 403);
  });

  it('a key for metrics reads /metrics and /status, and is refused everywhere else', async () => {
    const bearer = await team.key('prometheus', ['metrics']);
    for (const path of ['/metrics', '/status'])
      assert.equal((await raw(path, authorization(bearer))).status, 200, path);
    const end = { method: 'POST', path: '/operate/runs/exec_000000000000/end' };
    const revoke = { method: 'POST', path: '/operate/links/00000000/revoke' };
    const pages = ['/', '/operate', '/operate/users', '/operate/runs', '/operate/links', '/operate/audit'];
    const others = ['/executions', '/skills', '/prometheus/artifacts', '/library', '/%6Detrics', '/status/'];
    const asked = [...pages, ...others].map((path) => ({ method: 'GET', path }));
    for (const { method, path } of [...asked, end, revoke, { method: 'POST', path: '/mcp' }]) {
      const { status, body } = await raw(path, authorization(bearer), method);
      assert.equal(status, 403, path);
      assert.match(body, /reads \/metrics and \/status, and nothing else/, path);
    }
    await assert.rejects(team.connect('prometheus', bearer));
    // No browser is signed in by it either.
    const form = await readFormToken(`${team.url}/sign-in`);
    const signedIn = await postForm(`${team.url}/sign-in`, { token: form, key: bearer });
    assert.deepEqual([signedIn.status, signedIn.headers.getSetCookie()], [403, []]);
  });

  it('a key for metrics and files is not one of operators', async () => {
    const ops = await team.join('gauge', ['metrics', 'files']);
    assert.equal((await ops.fetch('/metrics')).status, 200);
    assert.equal((await ops.call('list_files')).failed, false);
    assert.equal((await ops.fetch('/operate')).status, 403);
    assert.equal((await ops.call('search_audit')).failed, true);
  });

  it('the path of artifacts has to name the caller, and tells nothing of others', async () => {
    await team.key('bob');
    assert.equal((await ada.fetch('/ada/artifacts')).status, 200);
    const answers = await Promise.all(
      ['bob', 'nobody', 'local', 'oauth-0', '%61da2', '%00', '%ff'].map(async (name) => {
        const [list, one] = [await ada.fetch(`/${name}/artifacts`), await ada.fetch(`/${name}/artifacts/x`)];
        return [list.status, await list.text(), one.status, await one.text()].join(' ');
      }),
    );
    assert.equal(new Set(answers).size, 1, answers.join('\n'));
    assert.match(answers[0]!, /^403 /);
    recordProof('A10:no-byte-by-path');
  });

  for (const version of versions)
    it(`the caller is the holder of the key, and scopes bind tools, with MCP ${version}`, async () => {
      const name = `eve-${version}`;
      const eve = await team.join(name, ['files'], version);
      const id = await send(eve, 'eve.txt', 'of eve');
      assert.deepEqual(
        (await eve.call('list_files')).data.files.map((file: { file_id: string }) => file.file_id),
        [id],
      );
      assert.equal((await ada.call('share_file', { file_id: id })).code, 'not_found');
      assert.equal((await eve.call('search_executions')).code, 'forbidden');
      const { tools } = await eve.client.listTools();
      assert.ok(tools.some((tool) => tool.name === 'list_files'));
      assert.ok(!tools.some((tool) => tool.name === 'search_executions'), 'not listed without its scope');
      const told = eve.client.getInstructions() ?? '';
      assert.ok(told.includes('share_file') && !told.includes('execute_code'), told);
      assert.ok(team.logged.some((line) => line.includes(`"user":"${name}"`)));
      recordProof('F7:only-what-scopes-allow');
    });

  it('a session belongs to who opened it: to others it is as unknown as any', async () => {
    const bob = await team.key('bob2');
    const [initialize, initialized] = handshake('2025-11-25');
    const post = (bearer: string, headers: Record<string, string>, message: unknown) =>
      fetch(`${team.url}/mcp`, {
        method: 'POST',
        headers: { ...plain, ...headers, ...authorization(bearer) },
        body: JSON.stringify(message),
      });
    const opened = await post(ada.bearer, {}, initialize);
    await opened.body?.cancel();
    const id = opened.headers.get('mcp-session-id')!;
    assert.equal((await post(ada.bearer, { 'mcp-session-id': id }, initialized)).status, 202);
    const listing = openingOf('2025-11-25').request(7, 'tools/list');
    const seen = async (session: string, method: string) => {
      const headers = { ...plain, 'mcp-session-id': session, ...authorization(bob) };
      const body = method === 'POST' ? { body: JSON.stringify(listing) } : {};
      const answer = await fetch(`${team.url}/mcp`, { method, headers, ...body });
      return `${answer.status} ${await answer.text()}`;
    };
    for (const method of ['POST', 'GET', 'DELETE']) {
      assert.equal(await seen(id, method), await seen(crypto.randomUUID(), method));
      assert.match(await seen(id, method), /^404 /);
    }
    assert.equal(
      (await post(ada.bearer, { 'mcp-session-id': id }, listing)).status,
      200,
      'it is still there for her',
    );
  });

  it('a key is in no file and in no log', async () => {
    const key = await team.key('secretive');
    assert.equal((await raw('/executions', authorization(key))).status, 200);
    assert.deepEqual(await filesHolding(team.config.data, key), []);
    assert.ok(!team.logged.some((line) => line.includes(key)));
  });

  it('quotas are of the user', async () => {
    await using small = await startTeam({ quotaUserBytes: 10, quotaUserFiles: 1 });
    const [first, second] = [await small.join('first'), await small.join('second')];
    await send(first, 'a', '0123456789');
    assert.equal((await first.call('request_upload', { filename: 'b', size: 1 })).code, 'quota_exceeded');
    await send(second, 'a', '0123456789');
  });
});

it('a key that expires is dead from then on', async (t) => {
  const goOn = timeOf(t);
  await using team = await startTeam();
  const key = await team.key('soon', ['code'], Date.now() + 60_000);
  const status = async () => (await fetch(`${team.url}/executions`, { headers: authorization(key) })).status;
  assert.equal(await status(), 200);
  goOn(59);
  assert.equal(await status(), 200);
  goOn(2);
  assert.equal(await status(), 401);
});

it('after too many failures an address has to wait, but not those whose keys are good', async () => {
  await using team = await startTeam({ guessLimit: 5 });
  const key = await team.key('ada');
  const get = async (bearer: string): Promise<number> =>
    (await fetch(`${team.url}/executions`, { headers: authorization(bearer) })).status;
  const statuses: number[] = [];
  for (let round = 0; round < 7; round++) statuses.push(await get(`wck_${'B'.repeat(43)}`));
  assert.deepEqual(statuses, [401, 401, 401, 401, 401, 429, 429]);
  assert.equal(await get(key), 200);
});

it('other addresses than loopback need --auth, and the refusal says how', async () => {
  for (const host of ['0.0.0.0', '::', '192.0.2.1'])
    await assert.rejects(startTeam({ auth: [], host }), {
      code: 'bind_refused',
      message: /--auth keys .*workcrate user add NAME/,
    });
});

it('without --auth there is no key to show, and one that is shown changes nothing', async () => {
  await using team = await startTeam({ auth: [] });
  const answer = await fetch(`${team.url}/executions`, { headers: authorization('anything') });
  assert.equal(answer.status, 200);
});

it('over stdio the caller is local and shows no key, while --stdio-http beside it asks for one', async () => {
  await using opened = new AsyncDisposableStack();
  const { path } = opened.use(await temporaryFolder());
  const args = argumentsOf(
    'stdio',
    '--stdio-http',
    '--structured',
    '--port',
    '0',
    '--data',
    path,
    '--auth',
    'keys',
    '--sandbox',
    'off',
  );
  const client = opened.adopt(new Client({ name: 'stdio', version: '1' }), (it) => it.close());
  await client.connect(new StdioClientTransport({ command, args, env: environment, stderr: 'ignore' }));
  const { uploadUrl } = (await callTool(client, 'request_upload', { filename: 'a' })).data;
  assert.equal((await fetch(uploadUrl, { method: 'PUT', body: 'x' })).status, 201);
  assert.equal((await callTool(client, 'list_files', {})).data.files.length, 1);
  assert.equal((await fetch(`${new URL(uploadUrl).origin}/executions`)).status, 401);
});
