import assert from 'node:assert/strict';
import { once } from 'node:events';
import { truncate } from 'node:fs/promises';
import { test } from 'node:test';
import { isWorkcrateError } from '../errors.ts';
import {
  body,
  bodyOf,
  closing,
  dial,
  fileObject,
  noise,
  received,
  request,
  serve,
  streamObject,
  whole,
} from './loopback.testing.ts';
import { buffersInUse, type BodySegment } from './transfer.ts';

for (const size of [50_000, 30_000_000]) {
  test(`a file of ${size} bytes cut short under us breaks the transfer`, async () => {
    await using object = await fileObject(noise(size));
    await using server = await serve(body(() => [whole(object)], { length: size }));
    await truncate(object.path, size / 2);
    const response = await received(server.port, request());
    await assert.rejects(server.outcomes[0] ?? Promise.resolve(), storageFailed);
    assert.ok(bodyOf(response).length <= size / 2);
    assert.equal(buffersInUse().count, 0);
  });
}

test('a file cut short while it is being sent breaks the transfer', async () => {
  await using object = await fileObject(noise(30_000_000));
  await using server = await serve(body(() => [whole(object)], { length: object.size }));
  const client = await dial(server.port);
  client.write(request());
  await once(client, 'data');
  client.pause();
  await truncate(object.path, 20_000_000);
  let got = 0;
  client.on('data', (chunk: Buffer) => (got += chunk.length)).resume();
  await once(client, 'close');
  await assert.rejects(server.outcomes[0] ?? Promise.resolve(), storageFailed);
  assert.ok(got < 20_100_000);
});

test('a file that cannot be read breaks the transfer and says why', async () => {
  for (const size of [5_000, 500_000]) {
    const unreadable = { ...streamObject(noise(size)), descriptor: 1_000_000 };
    await using server = await serve(body(() => [whole(unreadable)], { length: size }));
    const response = await received(server.port, request());
    await assert.rejects(server.outcomes[0] ?? Promise.resolve(), storageFailed);
    assert.ok(!response.includes('\r\n\r\n') || bodyOf(response).length === 0);
  }
});

test('a body longer or shorter than promised breaks the transfer', async () => {
  const bytes = noise(200_000);
  await using object = await fileObject(bytes);
  for (const length of [100, 199_999, 200_001]) {
    await using server = await serve(body(() => [whole(object)], { length }));
    const response = bodyOf(await received(server.port, request()));
    await assert.rejects(server.outcomes[0] ?? Promise.resolve(), { code: 'internal' });
    assert.ok(response.length <= length && response.length !== length);
  }
});

test('what the segments throw is passed on, after the transfer was broken', async () => {
  async function* segments(): AsyncGenerator<BodySegment> {
    yield { bytes: noise(50_000) };
    throw new RangeError('no more');
  }
  await using server = await serve(body(segments, { length: 100_000 }));
  assert.equal(bodyOf(await received(server.port, closing())).length, 50_000);
  await assert.rejects(server.outcomes[0] ?? Promise.resolve(), RangeError);
});

test('a stream that gives too little or too much breaks the transfer', async () => {
  for (const [given, code] of [
    [9_999, 'storage_failed'],
    [10_001, 'internal'],
  ] as const) {
    const object = streamObject(noise(given));
    object.read = async function* read() {
      yield noise(given);
    };
    await using server = await serve(body(() => [{ object, start: 0, end: 10_000 }], { length: 10_000 }));
    assert.equal(bodyOf(await received(server.port, request())).length, 0);
    await assert.rejects(server.outcomes[0] ?? Promise.resolve(), { code });
  }
});

function storageFailed(error: unknown): boolean {
  return isWorkcrateError(error, 'storage_failed');
}
