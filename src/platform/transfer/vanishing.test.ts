import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { eventually } from '../eventually.testing.ts';
import { body, dial, fileObject, noise, request, serve, streamObject, whole } from './loopback.testing.ts';
import { buffersInUse, type BodySegment, type Sent } from './transfer.ts';

const MB = 1024 * 1024;
const CUT_OFF = { complete: false };

test('200 clients that read nothing hold a bounded amount of memory', async () => {
  await using object = await fileObject(Buffer.alloc(50 * MB));
  await using server = await serve(body(() => [whole(object)], { length: object.size }));
  const clients = await Promise.all(Array.from({ length: 200 }, () => dial(server.port)));
  for (const client of clients) client.pause().write(request());
  await eventually(() => buffersInUse().count >= 200);
  await setTimeout(300);
  assert.equal(buffersInUse().count, 200);
  assert.ok(buffersInUse().bytes <= 40 * MB, `${buffersInUse().bytes} bytes`);
  for (const client of clients) client.destroy();
  for (const sent of await Promise.all(server.outcomes)) assert.equal(sent.complete, false);
  assert.equal(buffersInUse().count, 0);
});

test('a client that leaves half-way is no error and leaves nothing behind', async () => {
  await using object = await fileObject(noise(20 * MB));
  await using server = await serve(body(() => [whole(object)], { length: object.size }));
  const before = descriptors();
  for (let i = 0; i < 40; i += 1) {
    const client = await dial(server.port);
    client.write(request());
    await once(client, 'data');
    if (i % 2 === 0) client.destroy();
    else client.resetAndDestroy();
    const sent = await server.outcomes[i];
    assert.ok(sent && !sent.complete && sent.sent < object.size);
  }
  await eventually(() => descriptors() === before);
  assert.equal(buffersInUse().count, 0);
});

test('the owner of the segments may close its object when the client left', async () => {
  let closed = 0;
  async function* segments(): AsyncGenerator<BodySegment> {
    await using object = await fileObject(noise(20 * MB));
    try {
      yield whole(object);
    } finally {
      closed += 1;
    }
  }
  await using server = await serve(body(segments, { length: 20 * MB }));
  const client = await dial(server.port);
  client.write(request());
  await once(client, 'data');
  client.destroy();
  assert.equal((await server.outcomes[0])?.complete, false);
  assert.equal(closed, 1);
});

test('a client that stops reading is cut off, one that reads slowly is not', async () => {
  await using object = await fileObject(noise(40 * MB));
  const options = { length: object.size, idleMs: 4000 };
  await using server = await serve(body(() => [whole(object)], options));
  const [stopped, slow] = [await dial(server.port), await dial(server.port)];
  stopped.pause().write(request());
  slow.write(request());
  let got = 0;
  for await (const chunk of slow) {
    got += (chunk as Buffer).length;
    if (got > object.size) break;
    // 40 MB in eight seconds and more, so twice the limit.
    await setTimeout((chunk as Buffer).length / 5_000);
  }
  assert.deepEqual(await server.outcomes[1], { sent: object.size, complete: true });
  partial(await server.outcomes[0], CUT_OFF);
});

test('a signal cuts the transfer off, before it began or in its middle', async () => {
  await using object = await fileObject(noise(20 * MB));
  const controller = new AbortController();
  const options = { length: object.size, signal: controller.signal };
  await using server = await serve(body(() => [whole(object)], options));
  const client = await dial(server.port);
  client.pause().write(request());
  await eventually(() => buffersInUse().count === 1);
  controller.abort();
  partial(await server.outcomes[0], CUT_OFF);
  const late = await dial(server.port);
  late.resume().write(request());
  await once(late, 'close');
  assert.deepEqual(await server.outcomes[1], { sent: 0, complete: false });
});

test('storage that streams is told when the client leaves, however it takes that', async () => {
  for (const ending of ['quietly', 'by throwing']) {
    const object = streamObject(Buffer.alloc(0));
    object.read = async function* read(_start, _end, signal) {
      yield Buffer.alloc(20_000);
      await new Promise((resolve) => signal?.addEventListener('abort', resolve));
      if (ending === 'by throwing') signal?.throwIfAborted();
    };
    await using server = await serve(body(() => [{ object, start: 0, end: MB }], { length: MB }));
    const client = await dial(server.port);
    client.write(request());
    await once(client, 'data');
    client.destroy();
    assert.deepEqual(await server.outcomes[0], { sent: 20_000, complete: false });
  }
});

function partial(sent: Sent | undefined, expected: Partial<Sent>): void {
  assert.partialDeepStrictEqual(sent, expected);
}

const descriptors = () => readdirSync('/proc/self/fd').length;
