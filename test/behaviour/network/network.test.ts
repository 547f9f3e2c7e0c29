import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { searchAudit } from '../../../src/core/audit/tools.ts';
import { getAuditFolder } from '../../../src/core/audit/audit.ts';
import { recordProof } from '../../requirements/requirements.testing.ts';
import { noSandbox } from '../../code.testing.ts';
import { startServer, type TestServer, type ToolReply } from '../../server.testing.ts';

/** A server on loopback that stands for one outside, and remembers what it was asked. */
async function startSite() {
  const asked: { url: string; host: string; headers: IncomingHttpHeaders }[] = [];
  const site = createServer((request, response) => {
    asked.push({ url: request.url!, host: request.headers.host!, headers: request.headers });
    if (request.url === '/away') return response.writeHead(302, { Location: 'http://127.0.0.1:9/' }).end();
    return response.end(`hello from ${request.headers.host}`);
  });
  await once(site.listen(0, '127.0.0.1'), 'listening');
  return { asked, port: (site.address() as AddressInfo).port, close: () => site.close() };
}

const fetches = {
  python: (url: string) => `import urllib.request
try: print(urllib.request.urlopen('${url}', timeout=10).read().decode())
except urllib.error.HTTPError as error: print(error.code, error.read().decode())
except OSError as error: print('no', error)`,
  node: (url: string) => `try {
  const answer = await fetch('${url}');
  console.log(answer.status === 200 ? '' : answer.status, await answer.text());
} catch (error) { console.log('no', error.cause?.code ?? error.message) }`,
  bash: (url: string) => `curl -sS --max-time 10 '${url}' 2>&1`,
};

describe('a network by allow-list', { skip: noSandbox }, () => {
  let site: Awaited<ReturnType<typeof startSite>>;
  let server: TestServer;
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'workcrate-network-'));
    site = await startSite();
    const secrets = join(folder, 'secrets.yaml');
    await writeFile(
      secrets,
      'secrets:\n  - { name: api-key, scheme: http, host: site.test, header: Authorization, value: s3cret-v4lue }\n',
      { mode: 0o600 },
    );
    const at = `127.0.0.1:${site.port}`;
    server = await startServer({
      sandbox: 'bubblewrap',
      sandboxNetwork: 'allow:site.test,*.wild.test',
      networkAddresses: [`site.test=${at}`, `a.wild.test=${at}`, `other.test=${at}`],
      networkSecrets: secrets,
    });
  });
  after(async () => {
    await server?.[Symbol.asyncDispose]();
    site?.close();
    await rm(folder, { recursive: true, force: true });
  });
  const run = (language: keyof typeof fetches, url: string, more: object = {}): Promise<ToolReply> =>
    server.call('execute_code', { language, code: fetches[language](url), ...more });

  for (const language of ['python', 'node', 'bash'] as const)
    it(`${language} reaches a host that is allowed, by name`, async () => {
      const { text, data } = await run(language, 'http://site.test/a');
      assert.match(data.stdout, /hello from site\.test/, text);
      const [host] = data.network.hosts;
      assert.deepEqual(
        [host.host, host.port, host.requests, host.secrets],
        ['site.test', 80, 1, ['api-key']],
      );
      assert.ok(host.sent_bytes > 0 && host.received_bytes > 0);
      assert.match(text, /Network: site\.test:80 1 request, .* sent, .* received, with api-key/);
      recordProof('D21:by-name-through-one-proxy', 'D21:hosts-and-bytes-are-recorded');
    });

  it('a host that is not allowed is refused with what is, and recorded', async () => {
    for (const language of ['python', 'node', 'bash'] as const) {
      const before = site.asked.length;
      const { text, data } = await run(language, 'http://other.test/a');
      assert.match(data.stdout, /other\.test is not allowed.*site\.test, \*\.wild\.test/s, text);
      assert.deepEqual(data.network.refused, [
        { host: 'other.test', port: 80, why: 'host_not_allowed', count: 1 },
      ]);
      assert.match(text, /Network refused: other\.test:80 host_not_allowed/);
      assert.equal(site.asked.length, before);
    }
    recordProof('D21:refusals-are-recorded');
  });

  it('a wildcard, a redirect to this machine, and private addresses', async () => {
    assert.match((await run('python', 'http://a.wild.test/')).data.stdout, /hello from a\.wild\.test/);
    const away = await run('python', 'http://site.test/away');
    assert.match(away.data.stdout, /^(?:403|no)/, away.text);
    const address = await run('python', `http://127.0.0.1:${site.port}/`, {});
    assert.match(address.data.stdout, /^(?:403|no)/);
    const direct = `import socket\ntry: socket.create_connection(('127.0.0.1', ${site.port}), 3); print('through')\nexcept OSError: print('no')`;
    assert.equal(
      (await server.call('execute_code', { language: 'python', code: direct })).data.stdout,
      'no\n',
    );
    recordProof('D21:private-addresses-are-refused');
  });

  it('a secret is added outside, and is nowhere inside', async () => {
    await run('python', 'http://site.test/secret');
    assert.equal(
      site.asked.findLast(({ url }) => url === '/secret')!.headers['authorization'],
      's3cret-v4lue',
    );
    const look = `grep -rl 's3cret-v4lue' /workspace /artifacts /tmp /home /opt /etc /proc/self/environ 2>/dev/null; env | grep -c s3cret; true`;
    assert.equal((await server.call('execute_bash', { command: look })).data.stdout, '0\n');
    assert.ok(!server.logged.some((line) => line.includes('s3cret-v4lue')));
    recordProof('D21:secrets-are-added-outside');
  });

  it('a call may ask for fewer hosts, for none, and not for more', async () => {
    const fewer = await run('python', 'http://a.wild.test/', { network: ['site.test'] });
    assert.match(fewer.data.stdout, /a\.wild\.test is not allowed/);
    const variables = { language: 'bash', code: 'env | grep -ci proxy; true' };
    assert.equal((await server.call('execute_code', { ...variables, network: [] })).data.stdout, '0\n');
    assert.notEqual((await server.call('execute_code', variables)).data.stdout, '0\n');
    const more = await run('python', 'http://x.test/', { network: ['x.test'] });
    assert.deepEqual([more.failed, more.code], [true, 'invalid_input']);
    assert.match(more.text, /x\.test is not allowed here\. Allowed: site\.test, \*\.wild\.test/);
    recordProof('D21:narrower-for-a-call');
  });

  it('cells of a session have it too, each with its own record', async () => {
    const cell = (url: string) =>
      server.call('execute_code', { language: 'python', code: fetches.python(url), session_id: 'net' });
    assert.match((await cell('http://site.test/1')).data.stdout, /hello/);
    const second = await cell('http://a.wild.test/2');
    assert.deepEqual(
      second.data.network.hosts.map(({ host }: { host: string }) => host),
      ['a.wild.test'],
    );
  });

  it('it is in the record, the audit log and the crate', async () => {
    const { data } = await run('python', 'http://site.test/kept');
    const record = await server.call('get_execution', { execution_id: data.execution_id });
    assert.deepEqual(record.data.network, data.network);
    assert.match(record.text, /Network: site\.test:80/);
    const { lines } = await searchAudit(getAuditFolder(server.data), { limit: 1000 }, { key: null });
    const line = lines.find(
      ({ operation, subject }) => operation === 'network' && subject === data.execution_id,
    );
    assert.equal(line?.details?.['hosts'], 'site.test:80');
    const packed = await server.call('pack_crate', { execution_id: data.execution_id, title: 'Net' });
    const metadata = await server.call('read_crate_file', {
      crate_id: packed.data.crate_id,
      path: 'ro-crate-metadata.json',
    });
    assert.match(metadata.text, /site\.test:80: 1 requests/);
    recordProof('D21:in-record-audit-and-crate');
  });
});

it('by default there is no network, no proxy and no variable for one', { skip: noSandbox }, async () => {
  await using server = await startServer({ sandbox: 'bubblewrap' });
  const code = 'env | grep -ci proxy; (exec 4<>/dev/tcp/127.0.0.1/3128) 2>/dev/null && echo through; true';
  const { data } = await server.call('execute_code', { language: 'bash', code });
  assert.equal(data.stdout, '0\n');
  const record = await server.call('get_execution', { execution_id: data.execution_id });
  assert.equal(record.data.network, null);
  const asked = await server.call('execute_code', { language: 'bash', code, network: ['site.test'] });
  assert.deepEqual([asked.failed, asked.code], [true, 'invalid_input']);
  recordProof('D21:none-by-default');
});

it('a list that is wrong is told at the start, with the setting', async () => {
  for (const list of ['allow:https://site.test', 'allow:*', 'allow:a b', 'allow:127.0.0.1'])
    await assert.rejects(startServer({ sandboxNetwork: list as 'none' }), {
      code: 'config_invalid',
      message: /--sandbox-network/,
    });
});
