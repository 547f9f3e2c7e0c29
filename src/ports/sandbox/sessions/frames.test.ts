import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { it } from 'node:test';
import type { Report } from '../sandbox.ts';
import { collectReports, createReportQueue, readSessionFrames, ReportsCutOff } from './frames.ts';

const secret = randomBytes(16);

function frame(header: unknown, payload = Buffer.alloc(0), mark = secret): Buffer {
  const text = Buffer.from(typeof header === 'string' ? header : JSON.stringify(header));
  const lengths = Buffer.alloc(8);
  lengths.writeUInt32BE(text.length, 0);
  lengths.writeUInt32BE(payload.length, 4);
  return Buffer.concat([mark, lengths, text, payload]);
}

async function* inPieces(bytes: Buffer, size: number): AsyncGenerator<Uint8Array> {
  // One buffer for all, as the reader of a pipe has it.
  const shared = Buffer.alloc(size);
  for (let at = 0; at < bytes.length; at += size) {
    const length = bytes.copy(shared, 0, at, at + size);
    yield shared.subarray(0, length);
  }
}

async function readAll(bytes: Buffer, size = 7): Promise<Report[]> {
  const found: Report[] = [];
  for await (const report of readSessionFrames(inPieces(bytes, size), secret)) found.push(report);
  return found;
}

it('frames are read whole, however they are cut', async () => {
  const payload = randomBytes(1000);
  const bytes = Buffer.concat([frame({ type: 'a' }), frame({ type: 'b' }, payload), frame({ type: 'c' })]);
  for (const size of [1, 7, 16, 24, 100, 5000]) {
    const found = await readAll(bytes, size);
    assert.deepEqual(
      found.map(({ header }) => header['type']),
      ['a', 'b', 'c'],
    );
    assert.deepEqual(Buffer.from(found[1]!.payload), payload);
  }
});

it('nothing without the secret is believed, and what comes between frames is skipped', async () => {
  const forged = Array.from({ length: 1000 }, () => frame({ type: 'forged' }, undefined, randomBytes(16)));
  const noise = [randomBytes(100), Buffer.from('{"type":"forged"}\n'), secret.subarray(0, 15)];
  const bytes = Buffer.concat([
    ...forged,
    ...noise,
    frame({ type: 'true' }),
    ...forged,
    frame({ type: 'end' }),
  ]);
  const found = await readAll(bytes, 999);
  assert.deepEqual(
    found.map(({ header }) => header['type']),
    ['true', 'end'],
  );
});

it('a frame that is too large, or whose header is no object, is skipped', async () => {
  const tooLarge = Buffer.concat([secret, Buffer.from('ffffffff00000000', 'hex')]);
  const bodies = Buffer.concat([secret, Buffer.from('00000002ffffffff', 'hex'), Buffer.from('{}')]);
  const bytes = Buffer.concat([
    tooLarge,
    bodies,
    frame('[1]'),
    frame('null'),
    frame('{"a'),
    frame({ type: 'x' }),
  ]);
  assert.deepEqual(await readAll(bytes), [{ header: { type: 'x' }, payload: new Uint8Array() }]);
});

/** Chunks of junk, some of which look like the beginnings of frames, as often as they are asked for. */
async function* junkWithoutEnd(asked: { mb: number }, piece: Buffer): AsyncGenerator<Uint8Array> {
  const junk = Buffer.alloc(1024 ** 2, piece);
  for (; asked.mb < 1000; asked.mb++) yield junk;
}

it('what never becomes a frame is not read for ever', async () => {
  const lengths = (header: number): Buffer => Buffer.from([0, 0, header >> 8, header & 255, 0, 0, 0, 0]);
  const pieces = [
    Buffer.from('junk'),
    Buffer.concat([secret, Buffer.from('ffffffff00000000', 'hex')]),
    Buffer.concat([secret, lengths(60_000)]),
  ];
  for (const piece of pieces) {
    const asked = { mb: 0 };
    await assert.rejects(async () => {
      for await (const { header } of readSessionFrames(junkWithoutEnd(asked, piece), secret))
        assert.fail(JSON.stringify(header));
    }, ReportsCutOff);
    assert.ok(asked.mb < 20, `${asked.mb} MB`);
  }
});

it('what a run reported before it wrote junk is kept, and its pipe is closed', async () => {
  const asked = { mb: 0 };
  let isClosed = false;
  async function* pipe(): AsyncGenerator<Uint8Array> {
    try {
      yield frame({ type: 'before' });
      yield* junkWithoutEnd(asked, Buffer.from('junk'));
    } finally {
      isClosed = true;
    }
  }
  const types: unknown[] = [];
  for await (const { header } of collectReports(pipe(), secret)) types.push(header['type']);
  assert.deepEqual([types, isClosed], [['before'], true]);
  assert.ok(asked.mb < 20, `${asked.mb} MB`);
});

it('junk between frames ends nothing, however much it is in all', async () => {
  async function* mixed(): AsyncGenerator<Uint8Array> {
    for (let count = 0; count < 10; count++) {
      yield Buffer.alloc(4 * 1024 ** 2, 'junk');
      yield frame({ type: count });
    }
  }
  const types: unknown[] = [];
  for await (const { header } of readSessionFrames(mixed(), secret)) types.push(header['type']);
  assert.equal(types.length, 10);
});

it('reports of a run without end are not read for ever', async () => {
  const reports = Buffer.concat(Array.from({ length: 1000 }, () => frame({ type: 'x' })));
  let given = 0;
  async function* flood(): AsyncGenerator<Uint8Array> {
    for (; given < 1000; given++) yield reports;
  }
  for await (const { header } of collectReports(flood(), secret)) assert.equal(header['type'], 'x');
  assert.ok(given < 100, `${given},000 reports`);
});

it('what nobody reads is bounded, and a reader that comes late gets what was kept', async () => {
  const large = frame({ type: 'large' }, Buffer.alloc(15 * 1024 ** 2));
  async function* flood(): AsyncGenerator<Uint8Array> {
    for (let count = 0; count < 6; count++) yield large;
    yield frame({ type: 'last' });
  }
  const reports = collectReports(flood(), secret);
  await new Promise((resolve) => setTimeout(resolve, 50));
  const types: unknown[] = [];
  for await (const { header } of reports) types.push(header['type']);
  assert.ok(types.length >= 3 && types.length < 7, String(types.length));
  assert.equal(types.at(-1), 'last');
});

it('a queue gives what comes after its reader has begun to wait', async () => {
  const queue = createReportQueue();
  const read = (async () => {
    const types: unknown[] = [];
    for await (const { header } of queue.reports) types.push(header['type']);
    return types;
  })();
  queue.push({ header: { type: 1 }, payload: new Uint8Array() });
  await new Promise(setImmediate);
  queue.push({ header: { type: 2 }, payload: new Uint8Array() });
  queue.end();
  queue.push({ header: { type: 3 }, payload: new Uint8Array() });
  assert.deepEqual(await read, [1, 2]);
});
