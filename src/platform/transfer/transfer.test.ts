import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  body,
  bodyOf,
  closing,
  fileObject,
  noise,
  received,
  serve,
  streamObject,
  whole,
} from './loopback.testing.ts';
import { buffersInUse } from './transfer.ts';

const KB = 1024;
const SIZES = [
  0,
  1,
  64 * KB - 1,
  64 * KB,
  64 * KB + 1,
  512 * KB - 1,
  512 * KB,
  512 * KB + 1,
  1024 * KB + 1,
  7_654_321,
];

test('files of every size class arrive byte for byte', async () => {
  for (const size of SIZES) {
    const bytes = noise(size);
    await using object = await fileObject(bytes);
    await using server = await serve(body(() => [whole(object)], { length: size }));
    const response = await received(server.port, closing());
    assert.ok(bodyOf(response).equals(bytes), `${size} bytes`);
    assert.deepEqual(await server.outcomes[0], { sent: size, complete: true });
  }
  assert.equal(buffersInUse().count, 0);
});

test('a range is sent from its start to before its end', async () => {
  const bytes = noise(3_000_000);
  await using object = await fileObject(bytes);
  for (const [start, end] of [
    [0, 1],
    [2_999_999, 3_000_000],
    [5, 5],
    [1_000, 2_900_000],
  ] as const) {
    const options = { length: end - start };
    await using server = await serve(body(() => [{ object, start, end }], options));
    assert.ok(bodyOf(await received(server.port, closing())).equals(bytes.subarray(start, end)));
  }
});

test('a response without segments ends, and so does one to HEAD whatever the segments', async () => {
  await using object = await fileObject(noise(100_000));
  await using empty = await serve(body(() => [], { length: 0 }));
  assert.equal(bodyOf(await received(empty.port, closing())).length, 0);
  await using server = await serve(body(() => [whole(object)], { length: 100_000 }));
  const head = await received(server.port, closing('/', 'HEAD'));
  assert.match(head.toString(), /Content-Length: 100000/);
  assert.equal(bodyOf(head).length, 0);
  assert.deepEqual(await server.outcomes[0], { sent: 0, complete: true });
});

test('an object without a descriptor is read as a stream', async () => {
  for (const chunk of [1_000, 16_384, 300_000]) {
    const bytes = noise(1_000_000);
    const object = streamObject(bytes, chunk);
    await using server = await serve(body(() => [{ object, start: 3, end: 999_999 }], { length: 999_996 }));
    assert.ok(bodyOf(await received(server.port, closing())).equals(bytes.subarray(3, 999_999)));
  }
});

test('100,000 small segments arrive in order, opened one at a time', async () => {
  await using object = await fileObject(noise(1_000));
  let open = 0;
  async function* entries() {
    for (let i = 0; i < 50_000; i += 1) {
      open += 1;
      assert.equal(open, 1);
      yield { bytes: Buffer.from(String(i).padStart(8)) };
      yield { object, start: i % 900, end: (i % 900) + 10 };
      open -= 1;
    }
  }
  await using server = await serve(body(entries, { length: 50_000 * 18 }));
  const response = bodyOf(await received(server.port, closing()));
  assert.equal(response.length, 50_000 * 18);
  for (const i of [0, 1, 4_321, 49_999]) assert.equal(Number(response.subarray(i * 18, i * 18 + 8)), i);
});

test('a body of many segments leaves the event loop to the others now and then', async () => {
  await using object = await fileObject(noise(100_000));
  for (const end of [100, 100_000]) {
    const segments = Array.from({ length: 1_000 }, () => ({ object, start: 0, end }));
    let turns = 0;
    await using server = await serve(async (req, res) => {
      const tick = () => void ((turns += 1), (next = setImmediate(tick)));
      let next = setImmediate(tick);
      const sent = await body(() => segments, { length: 1_000 * end })(req, res);
      clearImmediate(next);
      return sent;
    });
    await received(server.port, closing());
    assert.ok(turns >= 15, `${turns} turns`);
  }
});
