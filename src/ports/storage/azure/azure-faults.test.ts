import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { after, describe, it } from 'node:test';
import { NO_AZURITE, startAzurite, type TestAzurite } from '../azurite.testing.ts';
import { chunksOf, contentOf, failureOf } from '../bytes.testing.ts';
import { startFaultyProxy, type Fault, type FaultyProxy, type Seen } from '../remote/faulty-proxy.testing.ts';
import type { Storage } from '../storage.ts';
import { impatient, openAzure, partBytes } from './azure.testing.ts';

const started = await startAzurite();
const azurite = started ?? ({} as TestAzurite);
const skip = started === null && NO_AZURITE;
after(() => started?.[Symbol.asyncDispose]());

interface Behind extends AsyncDisposable {
  readonly proxy: FaultyProxy;
  readonly storage: Storage;
}

/** A storage that reaches the real service through a proxy which spoils what it is told to. */
async function behindProxy(limits = impatient): Promise<Behind> {
  const proxy = await startFaultyProxy(azurite.endpoint);
  const storage = await openAzure(azurite, { endpoint: proxy.endpoint, prefix: 'f/' }, limits);
  return {
    proxy,
    storage,
    async [Symbol.asyncDispose]() {
      await storage.close();
      await proxy[Symbol.asyncDispose]();
    },
  };
}

/** The fault, for the first so many requests of each kind. */
function atFirst(times: number, fault: Fault): (seen: Seen) => Fault | null {
  const counts = new Map<string, number>();
  return ({ method, url }) => {
    const kind = `${method} ${url}`;
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
    return counts.get(kind)! <= times ? fault : null;
  };
}

let count = 0;
const fresh = (): string => `k${count++}`;

async function upload(storage: Storage, bytes: Uint8Array, key = fresh()): Promise<string> {
  await storage.staging.append(key, 0, chunksOf(bytes), { key });
  await storage.staging.commit(key, key);
  return key;
}

describe('azure storage, when things go wrong', { skip }, () => {
  it('a store that is down is said to be, after some tries', async () => {
    const storage = await openAzure(azurite, { endpoint: `http://127.0.0.1:1/${azurite.account}` });
    const works = [
      () => storage.stat('a'),
      () => storage.open('a'),
      () => storage.list(),
      () => storage.probe(),
      () => upload(storage, randomBytes(3 * partBytes)),
    ];
    for (const work of works) {
      const failure = await failureOf(work(), azurite.key);
      assert.equal(failure.code, 'storage_failed');
      assert.match(failure.message, /127\.0\.0\.1:1 refuses connections/);
    }
  });

  const passing: [string, Fault][] = [
    ['500', { answer: 500 }],
    ['503 without Retry-After', { answer: 503 }],
    [
      '503 with Retry-After',
      { answer: 503, headers: { 'retry-after': '0', 'x-ms-error-code': 'ServerBusy' } },
    ],
    ['429', { answer: 429 }],
    ['a cut connection', 'reset'],
  ];
  for (const [name, fault] of passing)
    it(`${name} to every request twice, and then well: everything succeeds`, async () => {
      await using behind = await behindProxy();
      behind.proxy.fault = atFirst(2, fault);
      const bytes = randomBytes(4 * partBytes + 9);
      const key = await upload(behind.storage, bytes);
      assert.ok((await contentOf(behind.storage, key))?.equals(bytes));
      assert.ok((await behind.storage.list()).objects.some((object) => object.key === key));
      await behind.storage.remove(key);
    });

  it('a store that goes on failing is said to, and nothing is half done', async () => {
    await using behind = await behindProxy();
    behind.proxy.fault = () => ({ answer: 503 });
    const failure = await failureOf(upload(behind.storage, randomBytes(3 * partBytes), 'never'), azurite.key);
    assert.equal(failure.code, 'storage_failed');
    assert.match(failure.message, /fails or is overloaded \(503 /);
    behind.proxy.fault = () => null;
    assert.equal(await behind.storage.stat('never'), null);
  });

  it('a store that says nothing is given up and asked again', async () => {
    await using behind = await behindProxy({ ...impatient, idleMs: 1000, totalMs: 60_000 });
    behind.proxy.fault = atFirst(1, 'hang');
    const key = await upload(behind.storage, Buffer.from('late'));
    assert.equal((await contentOf(behind.storage, key))?.toString(), 'late');
    await using silent = await behindProxy({ ...impatient, idleMs: 100 });
    silent.proxy.fault = () => 'hang';
    const failure = await failureOf(silent.storage.stat(key), azurite.key);
    assert.match(failure.message, /does not answer in time/);
  });

  /** Each time half of what is left. */
  const halves = [1_500_000, 750_000, 375_000, 187_500, 93_750];
  for (const fault of ['cutAfter', 'shortenTo'] as const)
    it(`a body of which only a part arrives (${fault}) is gone on with, byte for byte`, async () => {
      await using behind = await behindProxy();
      const bytes = randomBytes(3_000_000);
      const key = await upload(behind.storage, bytes);
      let spoilt = 0;
      behind.proxy.fault = ({ method, url }) =>
        method === 'GET' && !url.includes('?') && spoilt++ < 5
          ? ({ [fault]: halves[spoilt - 1]! } as Record<typeof fault, number>)
          : null;
      assert.ok((await contentOf(behind.storage, key))?.equals(bytes));
      assert.equal(spoilt, 6);
    });

  it('a body that never arrives whole ends in an error', async () => {
    await using behind = await behindProxy();
    const key = await upload(behind.storage, randomBytes(100_000));
    behind.proxy.fault = ({ method }) => (method === 'GET' ? { cutAfter: 10_000 } : null);
    const failure = await failureOf(contentOf(behind.storage, key), azurite.key);
    assert.equal(failure.code, 'storage_failed');
  });

  it('an answer that is not the range asked for is refused', async () => {
    await using behind = await behindProxy();
    const key = await upload(behind.storage, randomBytes(1000));
    behind.proxy.fault = ({ method }) => (method === 'GET' ? { answer: 200 } : null);
    assert.match(
      (await failureOf(contentOf(behind.storage, key))).message,
      /other bytes than those asked for/,
    );
  });

  it('a clock that is off by a day is named', async () => {
    await using behind = await behindProxy();
    const date = new Date(Date.now() - 24 * 3600_000).toUTCString();
    behind.proxy.fault = () => ({
      answer: 403,
      headers: { date, 'x-ms-error-code': 'AuthenticationFailed' },
    });
    for (const work of [() => behind.storage.stat('a'), () => behind.storage.probe()])
      assert.match(
        (await failureOf(work(), azurite.key)).message,
        /clock of this machine is 1440 minutes off/,
      );
  });

  it('an object that is removed while it is read is said to be gone', async () => {
    await using behind = await behindProxy();
    const key = await upload(behind.storage, randomBytes(1_000_000));
    behind.proxy.fault = ({ method }) => (method === 'GET' ? { cutAfter: 500_000 } : null);
    await using object = (await behind.storage.open(key))!;
    const reading = object.read(0, object.size)[Symbol.asyncIterator]();
    await reading.next();
    behind.proxy.fault = () => null;
    await behind.storage.remove(key);
    const rest = async (): Promise<void> => {
      while (!(await reading.next()).done);
    };
    assert.match((await failureOf(rest())).message, /removed while it was read/);
  });

  it('a reader that has enough gives the connection back', async () => {
    await using behind = await behindProxy({ ...impatient, sockets: 1, connectMs: 5000 });
    const key = await upload(behind.storage, randomBytes(1_000_000));
    for (let round = 0; round < 3; round++) {
      await using object = (await behind.storage.open(key))!;
      for await (const chunk of object.read(0, object.size)) if (chunk.length > 0) break;
    }
    const stop = AbortSignal.abort(new Error('enough'));
    await using object = (await behind.storage.open(key))!;
    await assert.rejects(Array.fromAsync(object.read(0, 10, stop)), /enough/);
  });

  it('a small object costs four requests', async () => {
    await using behind = await behindProxy();
    await upload(behind.storage, Buffer.from('small'));
    assert.deepEqual(
      behind.proxy.seen.map(({ method }) => method),
      ['PUT', 'GET', 'PUT', 'DELETE'],
    );
  });

  for (const size of [1000, 3 * partBytes + 7])
    it(`any one answer may be lost on the way: ${size} bytes arrive all the same`, async () => {
      for (let at = 0, all = 1; at < all; at++) {
        await using behind = await behindProxy();
        behind.proxy.fault = (seen) => (seen.at === at ? 'lose answer' : null);
        const bytes = randomBytes(size);
        const key = fresh();
        const half = size >> 1;
        await behind.storage.staging.append(key, 0, chunksOf(bytes.subarray(0, half)), { key });
        await behind.storage.staging.append(key, half, chunksOf(bytes.subarray(half)), { key });
        await behind.storage.staging.commit(key, key);
        all = behind.proxy.seen.length;
        assert.ok((await contentOf(behind.storage, key))?.equals(bytes), `answer ${at} of ${all}`);
        assert.equal(await behind.storage.staging.size(key), 0);
      }
    });

  for (const meant of [true, false])
    it(`the store may go away at any request: what is staged is gone on with (${meant ? 'for its key' : 'kept apart'})`, async () => {
      const bytes = randomBytes(5 * partBytes + 7);
      for (let at = 0, isWhole = false; !isWhole; at++) {
        await using behind = await behindProxy({ ...impatient, tries: 1 });
        const key = fresh();
        const options = meant ? { key } : {};
        behind.proxy.fault = (seen) => (seen.at >= at ? (seen.at === at ? 'lose answer' : 'reset') : null);
        isWhole = await goingOn(behind.storage, key, bytes, options).then(
          () => true,
          () => false,
        );
        behind.proxy.fault = () => null;
        const made = await behind.storage.stat(key);
        assert.ok(made === null || made.size === bytes.length, 'whole or not at all');
        if (!isWhole) await goingOn(behind.storage, key, bytes, options);
        assert.ok((await contentOf(behind.storage, key))?.equals(bytes), `gone at request ${at}`);
      }
    });

  it('another process goes on with what one that was killed has staged', async () => {
    const bytes = randomBytes(7 * partBytes + 100);
    const { endpoint, account, container } = azurite;
    const options = {
      endpoint,
      account,
      container,
      prefix: 'p/',
      credential: { key: azurite.key },
      partBytes,
    };
    const source = `
      import { azureStorage } from './azure.ts';
      import { json } from 'node:stream/consumers';
      const { options, bytes } = await json(process.stdin);
      const storage = await azureStorage(options);
      const endless = async function* () {
        yield Buffer.from(bytes, 'base64');
        console.log('sent');
        await new Promise(() => setInterval(() => {}, 1000));
      };
      await storage.staging.append('passed-on', 0, endless(), { key: 'passed-on' });`;
    const first = bytes.subarray(0, 5 * partBytes + 50);
    const child = spawn(process.execPath, ['--input-type=module', '--eval', source], {
      cwd: import.meta.dirname,
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    child.stdin.end(JSON.stringify({ options, bytes: first.toString('base64') }));
    const ended = once(child, 'exit');
    await once(child.stdout, 'data');
    child.kill('SIGKILL');
    await ended;
    const storage = await openAzure(azurite);
    const size = await storage.staging.size('passed-on');
    assert.ok(size % partBytes === 0 && size <= 5 * partBytes, `${size}`);
    await goingOn(storage, 'passed-on', bytes, { key: 'passed-on' });
    assert.ok((await contentOf(storage, 'passed-on'))?.equals(bytes));
  });
});

/** Sends what is not there yet, and makes the object, as a client does that was told where it stands. */
async function goingOn(
  storage: Storage,
  id: string,
  bytes: Uint8Array,
  options: { key?: string },
): Promise<void> {
  const held = await storage.staging.size(id);
  const middle = Math.max(held, 2 * partBytes + 11);
  await storage.staging.append(id, held, chunksOf(bytes.subarray(held, middle)), options);
  await storage.staging.append(id, middle, chunksOf(bytes.subarray(middle)), options);
  await storage.staging.commit(id, id);
}
