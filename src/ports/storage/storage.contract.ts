import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import fc from 'fast-check';
import { collectBytes } from '../../platform/streams.ts';
import { chunksOf } from './bytes.testing.ts';
import type { Storage } from './storage.ts';

/** What every storage backend must do. A backend's test supplies a factory and nothing else. */
export function storageContract(name: string, make: () => Promise<Storage & AsyncDisposable>): void {
  describe(`storage contract: ${name}`, () => {
    let storage: Storage & AsyncDisposable;
    let count = 0;
    const fresh = (): string => `contract/${process.pid.toString(36)}-${count++}`;
    const put = async (key: string, bytes: Uint8Array): Promise<void> => {
      const id = `put-${count++}`;
      await storage.staging.append(id, 0, chunksOf(bytes));
      await storage.staging.commit(id, key);
    };
    before(async () => void (storage = await make()));
    after(async () => storage[Symbol.asyncDispose]());

    it('gives back any bytes exactly, whole and by range', async () => {
      const bytes = randomBytes(3 * 1024 * 1024 + 17);
      const key = fresh();
      await put(key, bytes);
      await fc.assert(
        fc.asyncProperty(fc.nat(bytes.length), fc.nat(bytes.length), async (a, b) => {
          const [start, end] = [Math.min(a, b), Math.max(a, b)];
          const got = await readRange(storage, key, start, end);
          assert.ok(got.equals(bytes.subarray(start, end)), `range ${start}-${end} differs`);
        }),
        { numRuns: 30 },
      );
      assert.equal((await storage.stat(key))?.size, bytes.length);
    });

    it('keeps an empty object, also from an id never appended to', async () => {
      const key = fresh();
      await storage.staging.commit(`never-${count++}`, key);
      assert.equal((await storage.stat(key))?.size, 0);
      assert.equal((await readRange(storage, key, 0, 0)).length, 0);
    });

    it('says null for what is not there, and removes it without complaint', async () => {
      const key = fresh();
      assert.equal(await storage.stat(key), null);
      assert.equal(await storage.open(key), null);
      await storage.remove(key);
    });

    it('creates a key once: the second commit is refused and both sides stay', async () => {
      const key = fresh();
      await put(key, Buffer.from('first'));
      const id = `second-${count++}`;
      await storage.staging.append(id, 0, chunksOf(Buffer.from('second')));
      await assert.rejects(storage.staging.commit(id, key), { code: 'already_exists' });
      assert.equal((await readRange(storage, key, 0, 5)).toString(), 'first');
      assert.equal(await storage.staging.size(id), 6);
      await storage.staging.discard(id);
    });

    it('lets exactly one of many commits to the same key win', async () => {
      const key = fresh();
      const ids = Array.from({ length: 12 }, () => `race-${count++}`);
      for (const id of ids) await storage.staging.append(id, 0, chunksOf(Buffer.from(id)));
      const results = await Promise.allSettled(ids.map((id) => storage.staging.commit(id, key)));
      assert.equal(results.filter((result) => result.status === 'fulfilled').length, 1);
      const winner = ids[results.findIndex((result) => result.status === 'fulfilled')]!;
      assert.equal((await readRange(storage, key, 0, winner.length)).toString(), winner);
      for (const id of ids) await storage.staging.discard(id);
    });

    it('goes on after a source that broke off, from what it kept', async () => {
      const id = `broken-${count++}`;
      const broken = async function* (): AsyncGenerator<Uint8Array> {
        yield Buffer.from('0123');
        throw new Error('cable pulled');
      };
      await assert.rejects(storage.staging.append(id, 0, broken()), /cable pulled/);
      assert.equal(await storage.staging.size(id), 4);
      assert.equal(await storage.staging.append(id, 4, chunksOf(Buffer.from('4567'))), 8);
      const key = fresh();
      await storage.staging.commit(id, key);
      assert.equal((await readRange(storage, key, 0, 8)).toString(), '01234567');
      assert.equal(await storage.staging.size(id), 0);
    });

    it('refuses an offset that is not where it stands, and says where that is', async () => {
      const id = `offset-${count++}`;
      await storage.staging.append(id, 0, chunksOf(Buffer.from('abc')));
      await assert.rejects(storage.staging.append(id, 2, chunksOf(Buffer.from('x'))), {
        code: 'offset_conflict',
        details: { offset: 3 },
      });
      assert.equal(await storage.staging.append(id, 0, chunksOf(Buffer.from('z'))), 1);
      await storage.staging.discard(id);
    });

    it('stops taking bytes when told to', async () => {
      const id = `stopped-${count++}`;
      const stop = new AbortController();
      const endless = async function* (): AsyncGenerator<Uint8Array> {
        for (let round = 0; ; round++) {
          if (round === 3) stop.abort(new Error('enough'));
          yield new Uint8Array(10);
        }
      };
      await assert.rejects(storage.staging.append(id, 0, endless(), { signal: stop.signal }), /enough/);
      assert.equal(await storage.staging.size(id), 30);
      await storage.staging.discard(id);
    });

    it('lists staged ids apart from objects, and forgets discarded ones', async () => {
      const id = `listed-${count++}`;
      await storage.staging.append(id, 0, chunksOf(Buffer.from('x')));
      assert.ok((await stagedIds(storage)).includes(id));
      assert.ok(!(await allKeys(storage, '')).some((key) => key.includes(id)));
      await storage.staging.discard(id);
      await storage.staging.discard(id);
      assert.ok(!(await stagedIds(storage)).includes(id));
    });

    it('lists keys in their own order, by prefix and page', async () => {
      const base = fresh();
      const names = ['a', 'a/b', 'a-b', 'a_b', 'a0', 'b/c/d', 'b/c', 'z'];
      for (const name of names) await put(`${base}/${name}`, Buffer.from(name));
      const expected = names.map((name) => `${base}/${name}`).sort();
      for (const limit of [1, 2, 3, 100])
        assert.deepEqual(await allKeys(storage, `${base}/`, limit), expected);
      assert.deepEqual(
        await allKeys(storage, `${base}/b`),
        expected.filter((key) => key.startsWith(`${base}/b`)),
      );
    });

    it('keeps an open object readable although it is removed meanwhile, or says that it is gone', async () => {
      const key = fresh();
      const bytes = randomBytes(2 * 1024 * 1024);
      await put(key, bytes);
      await using object = (await storage.open(key))!;
      await storage.remove(key);
      assert.equal(await storage.stat(key), null);
      const reading = collectBytes(object.read(0, bytes.length));
      if (storage.holdsRemoved) assert.ok((await reading).equals(bytes));
      else await assert.rejects(reading, { code: 'storage_failed' });
    });

    it('takes a large object in pieces of any size, meant for its key or for another', async () => {
      const bytes = randomBytes(23 * 1024 * 1024 + 5);
      for (const isMeant of [true, false]) {
        const [key, id] = [fresh(), `large-${count++}`];
        let at = 0;
        for (const to of [1, 6_000_000, 6_000_001, 17_500_000, bytes.length]) {
          const options = isMeant ? { key } : {};
          at = await storage.staging.append(id, at, chunksOf(bytes.subarray(at, to)), options);
          assert.equal(at, to);
          assert.equal(await storage.staging.size(id), to);
        }
        const made = await storage.staging.commit(id, key);
        assert.deepEqual([made.key, made.size], [key, bytes.length]);
        assert.ok((await readRange(storage, key, 0, bytes.length)).equals(bytes));
        await storage.remove(key);
      }
    });

    it('an object that is being staged for a key is not there before it is committed', async () => {
      const [key, id] = [fresh(), `unseen-${count++}`];
      await storage.staging.append(id, 0, chunksOf(randomBytes(9 * 1024 * 1024)), { key });
      assert.equal(await storage.stat(key), null);
      assert.equal(await storage.open(key), null);
      assert.ok(!(await allKeys(storage, key)).includes(key));
      await storage.staging.discard(id);
      assert.equal(await storage.staging.size(id), 0);
    });

    it('shows itself fit for use, leaving nothing behind', async () => {
      const before = await stagedIds(storage);
      await storage.probe();
      assert.deepEqual(await stagedIds(storage), before);
    });

    it('presigns a URL that gives the object under the name asked for, or says null', async () => {
      const key = fresh();
      await put(key, Buffer.from('by a link of its own'));
      const response = { contentType: 'text/x-test', contentDisposition: 'attachment; filename="a b.txt"' };
      const signed = await storage.presign('GET', key, Date.now() + 60_000, response);
      if (signed === null) return;
      const got = await fetch(signed.url, { headers: signed.headers });
      assert.deepEqual([got.status, await got.text()], [200, 'by a link of its own']);
      assert.equal(got.headers.get('content-type'), response.contentType);
      assert.equal(got.headers.get('content-disposition'), response.contentDisposition);
      const part = await fetch(signed.url, { headers: { ...signed.headers, Range: 'bytes=3-5' } });
      assert.deepEqual([part.status, await part.text()], [206, 'a l']);
    });

    it('a presigned URL is good for its object, its method and its time alone', async () => {
      const [key, other] = [fresh(), fresh()];
      await put(key, Buffer.from('mine'));
      await put(other, Buffer.from('not mine'));
      const signed = await storage.presign('GET', key, Date.now() + 60_000);
      if (signed === null) return;
      const bent = await fetch(signed.url.replace(key, other));
      assert.ok([401, 403].includes(bent.status), `${bent.status}`);
      assert.ok(!(await bent.text()).includes('not mine'));
      const written = await fetch(signed.url, { method: 'PUT', body: 'x', headers: signed.headers });
      assert.ok(written.status >= 400, `${written.status}`);
      const late = (await storage.presign('GET', key, Date.now() + 1000))!;
      await pause(2500);
      assert.ok([401, 403].includes((await fetch(late.url, { headers: late.headers })).status));
    });

    it('presigns a URL by which an object can be sent, or says null', async () => {
      const key = fresh();
      const signed = await storage.presign('PUT', key, Date.now() + 60_000);
      if (signed === null) return;
      const sent = await fetch(signed.url, { method: 'PUT', body: 'sent past us', headers: signed.headers });
      assert.ok(sent.ok, `${sent.status}: ${await sent.text()}`);
      assert.equal((await readRange(storage, key, 0, 12)).toString(), 'sent past us');
    });
  });
}

const stagedIds = async (storage: Storage): Promise<string[]> =>
  (await storage.staging.list()).map(({ id }) => id).sort();

async function readRange(storage: Storage, key: string, start: number, end: number): Promise<Buffer> {
  await using object = (await storage.open(key))!;
  return await collectBytes(object.read(start, end));
}

async function allKeys(storage: Storage, prefix: string, limit = 1000): Promise<string[]> {
  const keys: string[] = [];
  for (let after: string | null = ''; after !== null;) {
    const page = await storage.list({ prefix, after, limit });
    keys.push(...page.objects.map((object) => object.key));
    after = page.next;
  }
  return keys;
}
