import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { duplexPair } from 'node:stream';
import { text } from 'node:stream/consumers';
import { it } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { eventually } from '../../platform/eventually.testing.ts';
import { makeHello } from './client-hello.testing.ts';
import { get, openTunnelTo } from './client.testing.ts';
import { openWay, getPort, readAll, startOutside } from './outside.testing.ts';

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

it('a request that comes a little early waits for the answer before it', async () => {
  await using outside = await startOutside();
  await using way = await openWay(outside);
  outside.answer = (req, res) =>
    void setTimeout(() => res.end(`answer ${req.url};`), req.url === '/1' ? 100 : 0);
  const ask = (path: string, rest = ''): string =>
    `GET http://allowed.example${path} HTTP/1.1\r\nHost: allowed.example\r\n${rest}\r\n`;
  const answer = await way.say(ask('/1') + ask('/2', 'Connection: close\r\n'));
  assert.deepEqual(answer.match(/answer \/\d/g), ['answer /1', 'answer /2']);
  assert.deepEqual(outside.requests, ['GET allowed.example /1', 'GET allowed.example /2']);
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

/** Of 200 MB. Two connections are on the way, and Linux lets each grow to some 38 MB in its own buffers. */
const mostInKernel = 100e6;

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
  assert.ok((await settle(() => sent)) < mostInKernel, `${sent} bytes were taken`);
  sent = 0;
  const { socket } = await openTunnelTo(way, 'allowed.example:443');
  const secure = connectTls({ socket, servername: 'allowed.example', ca: outside.authority.certificate });
  await once(secure, 'secureConnect');
  secure.write('GET / HTTP/1.1\r\nHost: allowed.example\r\n\r\n');
  secure.pause();
  assert.ok((await settle(() => sent)) < mostInKernel, `${sent} bytes were taken`);
  const upload = await way.connect();
  upload.write(
    'POST http://allowed.example/ HTTP/1.1\r\nHost: allowed.example\r\nContent-Length: 200000000\r\n\r\n',
  );
  for (let at = 0; at < 3000; at++) upload.write(chunk);
  assert.ok((await settle(() => upload.bytesWritten - upload.writableLength)) < mostInKernel);
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

it('a connection of which somebody has read the beginning goes on from there', async () => {
  await using outside = await startOutside();
  await using way = await openWay(outside);
  const server = createServer((socket) => {
    const read = (): void => {
      if (socket.read(6) === null) return;
      socket.off('readable', read);
      setImmediate(() => way.network.accept(socket));
    };
    socket.on('readable', read);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const socket = connect({ host: '127.0.0.1', port: getPort(server) });
  const ask = 'GET http://allowed.example/ HTTP/1.1\r\nHost: allowed.example\r\nConnection: close\r\n\r\n';
  socket.write(`token\n${ask}`);
  assert.match(await readAll(socket), /hello from outside/);
  server.close();
});

it('one side of a tunnel can be done before the other', async () => {
  await using outside = await startOutside();
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    let seen = 0;
    socket
      .on('data', (chunk: Buffer) => (seen += chunk.length))
      .on('end', () => socket.end(`got ${seen} bytes`));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const addresses = new Map([['allowed.example', { address: '127.0.0.1', port: getPort(server) }]]);
  await using way = await openWay(outside, undefined, { addresses, connect: undefined });
  const { socket } = await openTunnelTo(way, 'allowed.example:443');
  const hello = makeHello({ names: ['allowed.example'] });
  socket.end(Buffer.concat([hello, Buffer.alloc(1_000_000)]));
  assert.equal(await readAll(socket), `got ${hello.length + 1_000_000} bytes`);
  server.close();
});
