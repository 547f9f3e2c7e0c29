import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Socket } from 'node:net';
import { it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { eventually } from '../../platform/eventually.testing.ts';
import { makeHello } from './client-hello.testing.ts';
import { openWay, readAll, startOutside } from './outside.testing.ts';

const get = 'GET http://allowed.example/ HTTP/1.1\r\nHost: allowed.example\r\n\r\n';

it('more connections than a run may have are told so, and those that it has go on', async () => {
  await using outside = await startOutside();
  await using way = await openWay(outside, undefined, { limits: { connections: 3 } });
  const held = await Promise.all([1, 2, 3].map(() => way.connect()));
  held[0]!.write(get);
  await once(held[0]!, 'data');
  assert.match(await way.say(get), /^HTTP\/1\.1 429 A run may have 3 connections at once/);
  held[0]!.destroy();
  await eventually(async () => /hello/.test(await way.say(get, 300)));
  assert.ok(way.network.usage.refused.some(({ why }) => why === 'too_many'));
});

it('all runs together have a limit too', async () => {
  await using outside = await startOutside();
  await using way = await openWay(outside, undefined, { limits: { allConnections: 1 } });
  const held = await way.connect();
  held.write(get);
  await once(held, 'data');
  assert.match(await way.say(get), /^HTTP\/1\.1 429 /);
});

it('a run has so many requests, refused ones not among them', async () => {
  await using outside = await startOutside();
  await using way = await openWay(outside, undefined, { limits: { requests: 2 } });
  const other = get.replaceAll('allowed', 'other');
  const answers: string[] = [];
  for (const bytes of [other, get, get, get]) answers.push((await way.say(bytes, 300)).slice(9, 12));
  assert.deepEqual(answers, ['403', '200', '200', '429']);
});

it('who begins a request and does not finish it is ended, byte by byte or not', async () => {
  await using outside = await startOutside();
  await using way = await openWay(outside, undefined, { limits: { headerMs: 300 } });
  const [silent, slow, kept] = await Promise.all([way.connect(), way.connect(), way.connect()]);
  const drip = setInterval(() => slow.write('x'), 50);
  slow.write('GET http://allowed.example/');
  kept.write(get);
  await once(kept, 'data');
  await Promise.all([silent, slow, kept].map((socket) => readAll(socket)));
  clearInterval(drip);
  assert.equal(outside.requests.length, 1);
});

it('a body that hardly moves ends', async () => {
  await using outside = await startOutside();
  await using way = await openWay(outside, undefined, { limits: { bodyMs: 200, bodyBytes: 100 } });
  outside.answer = () => {};
  const socket = await way.connect();
  socket.write(
    'POST http://allowed.example/ HTTP/1.1\r\nHost: allowed.example\r\nContent-Length: 1000\r\n\r\n',
  );
  const drip = setInterval(() => socket.write('x'), 50);
  const answer = await readAll(socket, 1000);
  clearInterval(drip);
  assert.match(answer, /^HTTP\/1\.1 408 The body of the request came too slowly/);
  assert.deepEqual(
    way.network.usage.refused.map(({ why }) => why),
    ['too_slow'],
  );
});

it('a slow body that moves enough, and a service that thinks, are let be', async () => {
  await using outside = await startOutside();
  await using way = await openWay(outside, undefined, {
    limits: { bodyMs: 1000, bodyBytes: 10, headerMs: 1000 },
  });
  outside.answer = (req, res) =>
    void req.resume().once('end', () => setTimeout(() => res.end('thought'), 1500));
  const socket = await way.connect();
  socket.write(
    'POST http://allowed.example/ HTTP/1.1\r\nHost: allowed.example\r\nContent-Length: 3000\r\n\r\n',
  );
  for (let at = 0; at < 30; at++) {
    socket.write('x'.repeat(100));
    await pause(50);
  }
  assert.match(await readAll(socket, 3000), /thought/);
});

it('what stands still ends: an answer, and a tunnel', async () => {
  await using outside = await startOutside();
  await using way = await openWay(outside, undefined, { limits: { idleMs: 200 } });
  outside.answer = () => {};
  assert.match(await way.say(get, 2000), /^HTTP\/1\.1 504 allowed\.example did not answer in time/);
  const socket = await way.connect();
  socket.write('CONNECT allowed.example:80 HTTP/1.1\r\nHost: allowed.example\r\n\r\n');
  socket.write(makeHello({ names: ['allowed.example'] }));
  await readAll(socket);
});

it('a tunnel into which nothing comes, or not enough, ends', async () => {
  await using outside = await startOutside();
  await using way = await openWay(outside, undefined, { limits: { helloMs: 200 } });
  const connect = 'CONNECT allowed.example:443 HTTP/1.1\r\nHost: allowed.example:443\r\n\r\n';
  const hello = makeHello({ names: ['allowed.example'] });
  for (const bytes of [Buffer.from(connect), Buffer.concat([Buffer.from(connect), hello.subarray(0, -1)])])
    assert.match(await way.say(bytes), /^HTTP\/1\.1 200 /);
  assert.deepEqual(way.network.usage.refused, [
    { host: 'allowed.example', port: 443, why: 'too_slow', count: 2 },
  ]);
  const [host] = way.network.usage.hosts;
  assert.equal(host!.sentBytes, 0, 'not a byte went out');
});

it('a host that does not answer, or whose name is not found in time, is told so', async () => {
  await using outside = await startOutside();
  const { promise: never } = Promise.withResolvers<never>();
  const limits = { connectMs: 200 };
  await using silent = await openWay(outside, undefined, { limits, connect: () => new Socket() });
  assert.match(await silent.say(get, 2000), /^HTTP\/1\.1 504 allowed\.example did not answer in time/);
  await using lost = await openWay(outside, undefined, { limits, lookUp: () => never });
  assert.match(await lost.say(get, 2000), /^HTTP\/1\.1 504 allowed\.example was not found in time/);
  await using busy = await openWay(outside, undefined, {
    limits: { connectMs: 5000, connections: 200 },
    lookUp: () => never,
  });
  const answers = await Promise.all(Array.from({ length: 110 }, () => busy.say(get, 1000)));
  assert.equal(
    answers.filter((answer) => answer.startsWith('HTTP/1.1 429')).length,
    8,
    'two run, a hundred wait',
  );
});

it('a header that is too long, or has too many lines, is refused', async () => {
  await using outside = await startOutside();
  await using way = await openWay(outside);
  const start = 'GET http://allowed.example/ HTTP/1.1\r\nHost: allowed.example\r\n';
  assert.match(await way.say(`${start}X: ${'x'.repeat(20_000)}\r\n\r\n`), /^HTTP\/1\.1 431 /);
  assert.match(await way.say(`${start}${'X: y\r\n'.repeat(100)}\r\n`), /^HTTP\/1\.1 431 /);
  assert.deepEqual(outside.requests, []);
});
