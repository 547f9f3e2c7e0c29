import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import { collectBytes } from '../../platform/streams.ts';
import { chunksOf } from './bytes.testing.ts';
import type { Source, SourceObject, SourcePage } from './source.ts';

/** A source, and what its owners may do to it while it is read. */
export interface TestSource extends AsyncDisposable {
  readonly source: Source;
  /** Writes an object, also in the place of another. */
  write(name: string, bytes: Uint8Array): Promise<void>;
  remove(name: string): Promise<void>;
  /** More bytes than go into one request, where that makes a difference. */
  readonly many: number;
  /** Whether names may hold what XML cannot. */
  readonly takesControls: boolean;
}

/** Names that somebody has, or could have. */
const oddNames = [
  'plain.zip',
  'with space + plus.zip',
  'a+b.zip',
  'a b.zip',
  'a%20b.zip',
  '100%.zip',
  '%2e%2e/up.zip',
  'quotes \'" and $(x) `y`.zip',
  'x!*()~,;:@&=$#?.zip',
  '<Key>&amp;</Key>.zip',
  '.hidden',
  'dots/..x...zip',
  'caf\u00e9.zip',
  'cafe\u0301.zip',
  'CASE.zip',
  'case.zip',
  '\u{1f4e6}/\uff5e.zip',
  '数据/研究.zip',
  ' leading and trailing ',
  'a/b/c/d/e/f/g.zip',
  `${'long/'.repeat(20)}${'x'.repeat(255)}/${'\u6570'.repeat(85)}/${'y'.repeat(255)}`,
];

const encode = (text: string): Buffer => Buffer.from(text);
const namesOf = (objects: readonly SourceObject[]): string[] => objects.map(({ name }) => name);

export async function everything(source: Source, prefix = ''): Promise<SourceObject[]> {
  const all: SourceObject[] = [];
  for (let after: string | undefined; ;) {
    const page: SourcePage = await source.list({ prefix, ...(after === undefined ? {} : { after }) });
    assert.ok(page.objects.length <= 1000);
    all.push(...page.objects);
    if (page.next === null) return all;
    after = page.next;
  }
}

async function contentOf(source: Source, name: string): Promise<Buffer | null> {
  await using object = await source.open(name);
  return object && (await collectBytes(object.read(0, object.size)));
}

/** What every source must do. A backend's test supplies a factory of empty ones and nothing else. */
export function sourceContract(name: string, make: () => Promise<TestSource>): void {
  describe(`source contract: ${name}`, () => {
    let test: TestSource;
    let source: Source;
    let count = 0;
    const fresh = (): string => `fresh/${count++}.zip`;
    before(async () => {
      test = await make();
      source = test.source;
    });
    after(async () => test[Symbol.asyncDispose]());

    it('lists, describes and opens an object under any name that its owner gave it, and signs URLs for it', async () => {
      const names = [...oddNames, ...(test.takesControls ? ['line\nbreak\u0001.zip'] : [])].map(
        (name) => `odd/${name}`,
      );
      for (const name of names) await test.write(name, encode(name));
      const listed = await everything(source, 'odd/');
      assert.deepEqual(namesOf(listed).sort(), names.toSorted());
      for (const object of listed) {
        assert.deepEqual(await source.stat(object.name), object);
        await using open = (await source.open(object.name))!;
        assert.deepEqual(open.object, object);
        assert.equal((await collectBytes(open.read(0, open.size))).toString(), object.name);
        await assertSigned(source, object.name);
      }
    });

    it('gives back any bytes exactly by range', async () => {
      const [name, bytes] = [fresh(), randomBytes(700_000)];
      await test.write(name, bytes);
      await using open = (await source.open(name))!;
      await fc.assert(
        fc.asyncProperty(fc.nat(bytes.length), fc.nat(bytes.length), async (a, b) => {
          const [start, end] = [Math.min(a, b), Math.max(a, b)];
          assert.ok((await collectBytes(open.read(start, end))).equals(bytes.subarray(start, end)));
        }),
        { numRuns: 12 },
      );
    });

    it('names that differ by case or by unicode form only are objects of their own', async () => {
      for (const name of ['u/\u00e9', 'u/e\u0301', 'u/E', 'u/e']) await test.write(name, encode(name));
      for (const name of ['u/\u00e9', 'u/e\u0301', 'u/E', 'u/e'])
        assert.equal((await contentOf(source, name))?.toString(), name);
      await test.remove('u/\u00e9');
      assert.equal(await source.stat('u/\u00e9'), null);
      assert.notEqual(await source.stat('u/e\u0301'), null);
    });

    it('a stamp stays while an object does, and is another once its bytes are', async () => {
      const name = fresh();
      await test.write(name, encode('one'));
      const first = (await source.stat(name))!;
      assert.deepEqual(await source.stat(name), first);
      await test.write(name, encode('two'));
      assert.notEqual((await source.stat(name))!.stamp, first.stamp);
    });

    it('lists page by page, each object once, a name before all that begin with it', async () => {
      const names = Array.from({ length: 1005 }, (_, at) => `many/${at % 7}/${at}`);
      names.push('many/3', 'many/ro.json', 'many/ro.jsonld', 'many/ro.json.d/x');
      if (source.kind === 'folder') names.splice(names.indexOf('many/3'), 1);
      for (let at = 0; at < names.length; at += 25)
        await Promise.all(names.slice(at, at + 25).map((name) => test.write(name, encode('x'))));
      const listed = namesOf(await everything(source, 'many/'));
      assert.deepEqual(listed.toSorted(), names.toSorted());
      assert.ok(listed.indexOf('many/ro.json') < listed.indexOf('many/ro.jsonld'));
      assert.deepEqual(
        namesOf(await everything(source, 'many/ro.')),
        listed.filter((name) => name.startsWith('many/ro.')),
      );
      assert.equal(
        (await everything(source, 'many/3/')).length,
        names.filter((n) => n.startsWith('many/3/')).length,
      );
      assert.deepEqual(await everything(source, 'nowhere/'), []);
    });

    it('says null for what is not there, and for names that could lead elsewhere', async () => {
      await test.write('there/x', encode('x'));
      const none = ['nothing', 'there', 'there/x/y', 'there//x', 'there/./x', 'there/../there/x', '/there/x'];
      for (const name of [...none, 'there/x/', '', '.', '..', 'a\0b', '\ud800', 'x'.repeat(3000)]) {
        assert.equal(await source.stat(name), null, name);
        assert.equal(await source.open(name), null, name);
      }
    });

    it('an object that changes or goes while it is read is never read on', async () => {
      const [changing, going] = [fresh(), fresh()];
      const bytes = randomBytes(2_000_000);
      for (const name of [changing, going]) await test.write(name, bytes);
      await using opened = await both(source, changing, going);
      const [one, other] = opened;
      assert.ok((await collectBytes(one.read(0, 10))).equals(bytes.subarray(0, 10)));
      await test.write(changing, randomBytes(2_000_000));
      await test.remove(going);
      await assert.rejects(collectBytes(one.read(10, 20)), { code: 'crate_changed' });
      await assert.rejects(collectBytes(other.read(0, 10)), { code: 'crate_gone' });
      assert.equal(await source.open(going), null);
    });

    it('writes a new object whole, small and large, and never over another', async () => {
      for (const size of [0, 5, test.many]) {
        const [name, bytes] = [`put here/${fresh()}`, randomBytes(size)];
        const made = await source.put(name, size, chunksOf(bytes));
        assert.deepEqual(await source.stat(name), made);
        assert.ok((await contentOf(source, name))!.equals(bytes));
        const again = source.put(name, 1, neverRead());
        await assert.rejects(again, { code: 'already_exists' });
        assert.ok((await contentOf(source, name))!.equals(bytes));
      }
    });

    it('takes back what it has written, and nothing else', async () => {
      const [name, other] = [`put here/${fresh()}`, `put here/${fresh()}`];
      const made = await source.put(name, 5, chunksOf(encode('here!')));
      await source.put(other, 5, chunksOf(encode('other')));
      await source.remove({ ...made, stamp: 'another' });
      assert.deepEqual(await source.stat(name), made);
      await source.remove(made);
      assert.equal(await source.stat(name), null);
      await source.remove(made);
      assert.equal((await contentOf(source, other))!.toString(), 'other');
    });

    it('of several who write the same name at once, one succeeds and the others are told', async () => {
      for (const size of [10, test.many]) {
        const name = fresh();
        const all = [randomBytes(size), randomBytes(size), randomBytes(size)];
        const ends = await Promise.allSettled(all.map((bytes) => source.put(name, size, chunksOf(bytes))));
        const won = ends.findIndex(({ status }) => status === 'fulfilled');
        assert.equal(ends.filter(({ status }) => status === 'fulfilled').length, 1);
        for (const end of ends)
          if (end.status === 'rejected')
            assert.equal((end.reason as { code: string }).code, 'already_exists');
        assert.ok((await contentOf(source, name))!.equals(all[won]!));
      }
    });

    it('what is not whole is no object: too few bytes, too many, a failure, a stop', async () => {
      const before = namesOf(await everything(source));
      const stop = new AbortController();
      for (const size of [1000, test.many]) {
        const bytes = randomBytes(size);
        await assert.rejects(source.put('half.zip', size + 1, chunksOf(bytes)), { code: 'size_mismatch' });
        await assert.rejects(source.put('half.zip', size - 1, chunksOf(bytes)), { code: 'size_mismatch' });
        await assert.rejects(source.put('half.zip', size, failing(bytes)), /the maker failed/);
      }
      const stopped = source.put('half.zip', test.many, stopping(randomBytes(test.many), stop), stop.signal);
      await assert.rejects(stopped, /enough/);
      assert.deepEqual(namesOf(await everything(source)), before);
      assert.equal(await source.stat('half.zip'), null);
    });

    it('what is on its way is not listed', async () => {
      const [started, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      async function* slow(): AsyncGenerator<Uint8Array> {
        yield encode('he');
        started.resolve();
        await goOn.promise;
        yield encode('re');
      }
      const writing = source.put('slow/x.zip', 4, slow());
      await started.promise;
      assert.deepEqual(await everything(source, 'slow/'), []);
      goOn.resolve();
      assert.equal((await writing).size, 4);
      assert.deepEqual(namesOf(await everything(source, 'slow/')), ['slow/x.zip']);
    });

    it('refuses to write under a name that could not be found again', async () => {
      for (const name of [
        '',
        '/x',
        'x/',
        'a//b',
        '../x',
        'a/./b',
        'a\0',
        '\udc00',
        '.workcrate-x/y',
        'x'.repeat(1025),
      ])
        await assert.rejects(source.put(name, 1, neverRead()), { code: 'invalid_input' }, name);
    });

    it('stops when it is told to', async () => {
      const [name, signal] = [fresh(), AbortSignal.abort(new Error('enough'))];
      await test.write(name, encode('x'));
      await using open = (await source.open(name))!;
      await assert.rejects(collectBytes(open.read(0, 1, signal)), /enough/);
      await assert.rejects(source.list({ signal }), /enough/);
    });
  });
}

async function both(source: Source, first: string, second: string) {
  const [one, other] = [(await source.open(first))!, (await source.open(second))!];
  return Object.assign([one, other] as const, {
    async [Symbol.asyncDispose]() {
      await one[Symbol.asyncDispose]();
      await other[Symbol.asyncDispose]();
    },
  });
}

async function assertSigned(source: Source, name: string): Promise<void> {
  const response = { contentType: 'application/zip', contentDisposition: 'attachment; filename="a b.zip"' };
  const signed = await source.presign(name, Date.now() + 60_000, response);
  if (source.kind === 'folder') return assert.equal(signed, null);
  const answer = await fetch(signed!.url, { headers: signed!.headers });
  assert.equal(answer.status, 200, name);
  assert.equal(answer.headers.get('content-type'), 'application/zip');
  assert.equal(await answer.text(), name);
}

// oxlint-disable-next-line require-yield
async function* neverRead(): AsyncGenerator<Uint8Array> {
  assert.fail('it was read');
}

async function* failing(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield* chunksOf(bytes.subarray(1));
  throw new Error('the maker failed');
}

async function* stopping(bytes: Uint8Array, stop: AbortController): AsyncGenerator<Uint8Array> {
  yield* chunksOf(bytes.subarray(0, bytes.length - 1));
  stop.abort(new Error('enough'));
  yield bytes.subarray(bytes.length - 1);
}
