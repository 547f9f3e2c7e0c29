import assert from 'node:assert/strict';
import { once } from 'node:events';
import { duplexPair } from 'node:stream';
import { text } from 'node:stream/consumers';
import { it } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { recordProof } from '../../../test/requirements/requirements.testing.ts';
import { get, openTunnelTo } from './client.testing.ts';
import { openWay, readAll, startOutside, type Outside, type Way } from './outside.testing.ts';

async function getByTls(
  way: Way,
  outside: Outside,
  host: string,
  path: string,
  ca = outside.authority.certificate,
  headers = '',
): Promise<string> {
  const { answer, socket } = await openTunnelTo(way, `${host}:443`);
  assert.match(answer, /^HTTP\/1\.1 200 /);
  const secure = connectTls({ socket, servername: host, ca });
  secure.on('error', () => {});
  secure.write(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\n${headers}Connection: close\r\n\r\n`);
  return readAll(secure);
}

it('plain HTTP goes to an allowed host by its name, and its answer comes back', async () => {
  await using outside = await startOutside();
  await using way = await openWay(outside);
  outside.answer = (req, res) => {
    void text(req).then((body) =>
      res.writeHead(201, { 'X-Own': 'a', 'Set-Cookie': ['b', 'c'] }).end(`got ${body}`),
    );
  };
  const answer = await get(way, 'http://Allowed.example/a?b=c', { method: 'POST', body: 'ä' });
  assert.deepEqual(
    [answer.status, answer.headers['x-own'], answer.headers['set-cookie'], answer.text],
    [201, 'a', ['b', 'c'], 'got ä'],
  );
  assert.deepEqual(outside.requests, ['POST allowed.example /a?b=c']);
  const { hosts, refused, more } = way.network.close();
  assert.deepEqual(
    hosts.map(({ host, port, requests, secrets }) => ({ host, port, requests, secrets })),
    [{ host: 'allowed.example', port: 80, requests: 1, secrets: [] }],
  );
  assert.ok(hosts[0]!.sentBytes > 50 && hosts[0]!.receivedBytes > 50);
  assert.deepEqual([refused, more], [[], 0]);
});

it('a tunnel carries TLS to an allowed host, end to end', async () => {
  await using outside = await startOutside();
  await using way = await openWay(outside);
  assert.match(
    await getByTls(way, outside, 'api.allowed.example', '/t'),
    /^HTTP\/1\.1 200 OK[^]*hello from outside/,
  );
  assert.deepEqual(outside.requests, ['GET api.allowed.example /t']);
  assert.deepEqual(outside.contacts, ['93.184.216.34:443']);
  const [host] = way.network.usage.hosts;
  assert.equal(host!.requests, 1);
  assert.ok(host!.sentBytes > 200 && host!.receivedBytes > 500);
  recordProof('D21:hosts-by-name');
});

it('what is refused is told to the agent: which host, why, and what to do', async () => {
  await using outside = await startOutside();
  await using way = await openWay(outside);
  const other = await get(way, 'http://other.example/');
  assert.equal(other.status, 403);
  assert.match(
    other.text,
    /^other\.example is not allowed in this sandbox\. Allowed: allowed\.example, \*\.allowed\.example, secret\.example\./,
  );
  assert.match(other.reason, /^other\.example is not allowed/);
  assert.match(
    (await get(way, 'http://allowed.example:22/')).text,
    /^Port 22 of allowed\.example is not allowed/,
  );
  assert.match((await get(way, 'http://10.0.0.1/')).text, /use the name of the host/);
  assert.match(
    (await openTunnelTo(way, 'other.example:443')).answer,
    /^HTTP\/1\.1 403 other\.example is not allowed in this sandbox/,
  );
  outside.names.set('inside.allowed.example', ['93.184.216.34', '10.1.2.3']);
  const inside = await get(way, 'http://inside.allowed.example/');
  assert.match(inside.text, /^inside\.allowed\.example is at a private address/);
  assert.ok(!inside.text.includes('10.1.2.3'));
  const missing = await get(way, 'http://missing.allowed.example/');
  assert.deepEqual(
    [missing.status, missing.text],
    [502, 'missing.allowed.example was not found: there is no such host.\n'],
  );
  assert.deepEqual(outside.contacts, []);
  assert.deepEqual(way.network.close().refused, [
    { host: 'other.example', port: 80, why: 'host_not_allowed', count: 1 },
    { host: 'allowed.example', port: 22, why: 'port_not_allowed', count: 1 },
    { host: '10.0.0.1', port: 80, why: 'ip_address', count: 1 },
    { host: 'other.example', port: 443, why: 'host_not_allowed', count: 1 },
    { host: 'inside.allowed.example', port: 80, why: 'private_address', count: 1 },
  ]);
  assert.deepEqual(
    outside.logged
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .filter(({ event }) => event === 'egress.refused')
      .map(({ user, run, host, why }) => [user, run, host, why])[0],
    ['alice', 'exec_1', 'other.example', 'host_not_allowed'],
  );
});

it('headers for one hop stay here, in both directions', async () => {
  await using outside = await startOutside();
  await using way = await openWay(outside);
  let seen: string[] = [];
  outside.answer = (req, res) => {
    seen = req.rawHeaders;
    res
      .writeHead(200, {
        Connection: 'close, X-Hop',
        'X-Hop': '1',
        'Keep-Alive': 'timeout=9',
        'Proxy-Authenticate': 'Basic',
        'X-End': '2',
      })
      .end('x');
  };
  const { headers } = await get(way, 'http://allowed.example/', {
    headers: {
      Connection: 'keep-alive, X-Mine',
      'X-Mine': '1',
      'Proxy-Authorization': 'Basic eDp5',
      'Proxy-Connection': 'keep-alive',
      TE: 'trailers',
      Upgrade: 'h2c',
      'X-Kept': '2',
    },
  });
  assert.deepEqual(seen, ['Host', 'allowed.example', 'X-Kept', '2', 'Connection', 'close']);
  assert.deepEqual(
    [headers['x-hop'], headers['proxy-authenticate'], headers['x-end']],
    [undefined, undefined, '2'],
  );
});

it('a name leads where the operator says, and only with its port', async () => {
  await using outside = await startOutside();
  const addresses = new Map([
    ['mapped.allowed.example:8080', { address: '10.9.8.7', port: 1 }],
    ['all.allowed.example', { address: '93.184.216.35', port: 80 }],
  ]);
  await using way = await openWay(outside, '*.allowed.example,mapped.allowed.example:8080', { addresses });
  assert.match((await get(way, 'http://mapped.allowed.example:8080/')).text, /THROUGH/);
  assert.match((await get(way, 'http://all.allowed.example/')).text, /hello/);
  assert.deepEqual(outside.contacts, ['10.9.8.7:1', '93.184.216.35:80']);
  outside.names.set('mapped.allowed.example', ['10.9.8.7']);
  assert.equal((await get(way, 'http://mapped.allowed.example/')).status, 403);
  assert.equal(outside.contacts.length, 2);
});

it('a registry at a private address is reached where the grant names its host and port, and nowhere else', async () => {
  await using outside = await startOutside();
  const privateHosts = [
    { host: 'registry.internal', port: 4873 },
    { host: '127.0.0.1', port: outside.earPort },
  ];
  await using way = await openWay(outside, 'allowed.example', {}, { privateHosts });
  outside.names.set('registry.internal', ['10.0.0.9']);
  assert.match((await get(way, 'http://registry.internal:4873/')).text, /THROUGH/);
  assert.match((await get(way, `http://127.0.0.1:${outside.earPort}/`)).text, /THROUGH/);
  assert.equal((await get(way, 'http://registry.internal/')).status, 403);
  assert.equal((await get(way, 'http://127.0.0.1/')).status, 403);
  const other = way.egress.open({ user: 'bob', run: 'exec_2', rules: [] });
  const [here, there] = duplexPair();
  other.accept(there);
  here.write('GET http://registry.internal:4873/ HTTP/1.0\r\n\r\n');
  assert.match(await readAll(here), /^HTTP\/1\.1 403 /);
  recordProof('D21:named-registry');
});

it('more hosts and refusals than anybody reads are counted', async () => {
  await using outside = await startOutside();
  await using way = await openWay(outside);
  const socket = await way.connect();
  for (let at = 0; at < 60; at++) {
    const [host, other] = [`h${at}.allowed.example`, `h${at}.example`];
    outside.names.set(host, ['93.184.216.34']);
    for (const name of [host, other]) {
      socket.write(`HEAD http://${name}/ HTTP/1.1\r\nHost: ${name}\r\n\r\n`);
      await once(socket, 'data');
    }
  }
  socket.destroy();
  const { hosts, refused, more } = way.network.close();
  assert.deepEqual([hosts.length, refused.length, more], [50, 50, 20]);
  recordProof('D21:usage-counted');
});
