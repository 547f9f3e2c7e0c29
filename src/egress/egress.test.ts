import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { duplexPair } from 'node:stream';
import { text } from 'node:stream/consumers';
import { it } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { eventually } from '../eventually.testing.ts';
import { openWay, readAll, startOutside, type Outside, type Way } from './outside.testing.ts';

/** Through the proxy, as HTTP clients do. */
async function get(
  way: Way,
  url: string,
  {
    method = 'GET',
    headers = {},
    body,
  }: { method?: string; headers?: Record<string, string>; body?: string } = {},
): Promise<{ status: number; reason: string; headers: IncomingMessage['headers']; text: string }> {
  const outgoing = request({
    host: '127.0.0.1',
    port: way.port,
    path: url,
    method,
    agent: false,
    headers: { Host: new URL(url).host, ...headers },
  });
  outgoing.end(body);
  const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage];
  return {
    status: incoming.statusCode!,
    reason: incoming.statusMessage!,
    headers: incoming.headers,
    text: await text(incoming),
  };
}

/** A tunnel that was opened, or its refusal. */
async function openTunnelTo(
  way: Way,
  authority: string,
): Promise<{ answer: string; socket: Awaited<ReturnType<Way['connect']>> }> {
  const socket = await way.connect();
  socket.write(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n\r\n`);
  const [chunk] = (await once(socket, 'data')) as [Buffer];
  return { answer: chunk.toString(), socket };
}

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

it('one connection serves many requests, one after the other', async () => {
  await using outside = await startOutside();
  await using way = await openWay(outside);
  const socket = await way.connect();
  for (let at = 0; at < 3; at++) {
    socket.write(`GET http://allowed.example/${at} HTTP/1.1\r\nHost: allowed.example\r\n\r\n`);
    let answer = '';
    while (!answer.includes('hello from outside')) answer += String((await once(socket, 'data')) as [Buffer]);
  }
  socket.destroy();
  assert.equal(outside.requests.length, 3);
  assert.equal(outside.contacts.length, 3, 'each on a connection of its own');
});

it('a client that has sent everything and says so still gets its answer, through both ways', async () => {
  await using outside = await startOutside();
  await using way = await openWay(outside);
  outside.answer = (_, res) => void setTimeout(() => res.end('late'), 50);
  const socket = await way.connect();
  socket.end('GET http://allowed.example/ HTTP/1.0\r\n\r\n');
  assert.match(await readAll(socket), /late$/);
});

it('a body is asked for only where the request is carried', async () => {
  await using outside = await startOutside();
  await using way = await openWay(outside);
  outside.answer = (req, res) => void text(req).then((body) => res.end(body));
  const send = (host: string) =>
    `POST http://${host}/ HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n`;
  assert.match(await way.say(send('other.example'), 500), /^HTTP\/1\.1 403 /);
  const socket = await way.connect();
  socket.write(send('allowed.example'));
  assert.match(String(((await once(socket, 'data')) as [Buffer])[0]), /^HTTP\/1\.1 100 Continue\r\n\r\n$/);
  socket.write('body');
  assert.match(await readAll(socket, 500), /^HTTP\/1\.1 200 OK[^]*body/);
});

it('nothing is collected: who does not read stops the sender, in both ways and directions', async () => {
  await using outside = await startOutside();
  await using way = await openWay(outside);
  const chunk = Buffer.alloc(64 * 1024);
  let sent = 0;
  outside.answer = (req, res) => {
    if (req.method === 'POST') return;
    const write = (): void => {
      while (sent < 200e6) {
        sent += chunk.length;
        if (!res.write(chunk)) return void res.once('drain', write);
      }
      res.end();
    };
    write();
  };
  const settle = async (count: () => number): Promise<number> => {
    let before = -1;
    await eventually(() => {
      const isStill = count() === before;
      before = count();
      return isStill && before > 0;
    }, 300);
    return before;
  };
  const plain = await way.connect();
  plain.pause();
  plain.write('GET http://allowed.example/ HTTP/1.1\r\nHost: allowed.example\r\n\r\n');
  assert.ok((await settle(() => sent)) < 30e6, `${sent} bytes were taken`);
  sent = 0;
  const { socket } = await openTunnelTo(way, 'allowed.example:443');
  const secure = connectTls({ socket, servername: 'allowed.example', ca: outside.authority.certificate });
  await once(secure, 'secureConnect');
  secure.write('GET / HTTP/1.1\r\nHost: allowed.example\r\n\r\n');
  secure.pause();
  assert.ok((await settle(() => sent)) < 30e6, `${sent} bytes were taken`);
  const upload = await way.connect();
  upload.write(
    'POST http://allowed.example/ HTTP/1.1\r\nHost: allowed.example\r\nContent-Length: 200000000\r\n\r\n',
  );
  for (let at = 0; at < 500; at++) upload.write(chunk);
  assert.ok((await settle(() => upload.bytesWritten - upload.writableLength)) < 30e6);
});

it('an answer that breaks off is not a whole one', async () => {
  await using outside = await startOutside();
  await using way = await openWay(outside);
  outside.answer = (_, res) => {
    res.writeHead(200).write('half');
    setTimeout(() => res.destroy(), 50);
  };
  const answer = await way.say('GET http://allowed.example/ HTTP/1.1\r\nHost: allowed.example\r\n\r\n');
  assert.match(answer, /half/);
  assert.ok(!answer.endsWith('0\r\n\r\n'), answer);
  outside.answer = (_, res) => void res.destroy();
  assert.equal((await get(way, 'http://allowed.example/')).status, 502);
});

it('the end of a run ends everything at once', async () => {
  await using outside = await startOutside();
  await using way = await openWay(outside);
  outside.answer = () => {};
  const plain = await way.connect();
  plain.write('GET http://allowed.example/ HTTP/1.1\r\nHost: allowed.example\r\n\r\n');
  const idle = await way.connect();
  const { socket } = await openTunnelTo(way, 'allowed.example:443');
  const secure = connectTls({ socket, servername: 'allowed.example', ca: outside.authority.certificate });
  await once(secure, 'secureConnect');
  await eventually(() => outside.requests.length === 1);
  const usage = way.network.close();
  await Promise.all([plain, idle, secure].map((stream) => readAll(stream)));
  assert.deepEqual(
    usage.hosts.map(({ port, requests }) => [port, requests]),
    [
      [80, 1],
      [443, 1],
    ],
  );
  const late = await way.connect();
  assert.equal(await readAll(late), '');
  assert.deepEqual(
    way.network.usage.hosts.map(({ requests }) => requests),
    [1, 1],
  );
});

it('any stream can be a connection', async () => {
  await using outside = await startOutside();
  await using way = await openWay(outside);
  const [here, there] = duplexPair();
  way.network.accept(there);
  here.write('GET http://allowed.example/ HTTP/1.1\r\nHost: allowed.example\r\nConnection: close\r\n\r\n');
  assert.match(await readAll(here), /hello from outside/);
  const [near, far] = duplexPair();
  way.network.accept(far);
  near.write('CONNECT allowed.example:443 HTTP/1.1\r\n\r\n'.replace('HTTP/1.1', 'HTTP/1.0'));
  assert.match(String(((await once(near, 'data')) as [Buffer])[0]), /^HTTP\/1\.1 200 /);
  const secure = connectTls({
    socket: near as never,
    servername: 'allowed.example',
    ca: outside.authority.certificate,
  });
  secure.write('GET / HTTP/1.1\r\nHost: allowed.example\r\nConnection: close\r\n\r\n');
  assert.match(await readAll(secure), /hello from outside/);
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
});
