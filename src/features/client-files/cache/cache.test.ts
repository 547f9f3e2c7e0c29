import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createCache } from './cache.ts';
import { fileAt } from './cache.testing.ts';
import { recordProof } from '../../../../test/requirements/requirements.testing.ts';

const kilobyte = 1024;
const hour = 3_600_000;

function cacheOf(mostBytes: number, mostEntries = 1000) {
  const time = { now: 1_000_000 };
  return { time, cache: createCache({ mostBytes, mostEntries, clock: () => time.now }) };
}

test('a file is found again by user, root and path, with its size, mtime, encoding and sha256', () => {
  const { cache, time } = cacheOf(1000 * kilobyte);
  const file = { ...fileAt('docs/a.md', 'text', 5), encoding: 'utf-8' };
  assert.ok(cache.put('ada', '/p', file));
  assert.deepEqual(cache.get('ada', '/p', 'docs/a.md'), { ...file, size: 4, receivedAt: time.now });
  for (const [user, root, path] of [
    ['bob', '/p', 'docs/a.md'],
    ['ada', '/q', 'docs/a.md'],
    ['ada', null, 'docs/a.md'],
    ['ada', '/p', 'docs/A.md'],
    ['ada', '/p","docs', 'a.md'],
  ] as const)
    assert.equal(cache.get(user, root, path), null);
  recordProof('E5:keyed-by-path-with-its-facts');
});

test('a newer mtime invalidates, an older or the same does not, and what has none may be older', () => {
  const { cache } = cacheOf(1000 * kilobyte);
  cache.put('ada', null, fileAt('a', 'x', 100));
  for (const mtime of [99, 100, null]) assert.ok(cache.get('ada', null, 'a', { mtime }));
  assert.equal(cache.get('ada', null, 'a', { mtime: 101 }), null);
  assert.equal(cache.get('ada', null, 'a', { mtime: 99 }), null);
  cache.put('ada', null, fileAt('b', 'x'));
  assert.ok(cache.get('ada', null, 'b'));
  assert.equal(cache.get('ada', null, 'b', { mtime: 1 }), null);
  const { hits, misses, invalidations, evictions, entries, bytes } = cache.statistics('ada');
  assert.deepEqual([hits, misses, invalidations, evictions, entries, bytes], [4, 3, 2, 0, 0, 0]);
  recordProof('E5:newer-mtime-invalidates');
});

test('a listing drops what changed since it came, and nothing else', () => {
  const { cache, time } = cacheOf(1000 * kilobyte);
  const put = (path: string, mtime?: number, rung: 'upload' | 'form' = 'upload') =>
    cache.put('ada', '/p', { ...fileAt(path, 'text', mtime), rung });
  put('dated', 100);
  put('same', 100.75);
  put('undated');
  put('later');
  put('grown', 100);
  put('retyped', 100, 'form');
  put('unseen');
  const seen = (path: string, mtime: number | null, size: number | null = 4) => ({ path, mtime, size });
  const listing = [
    seen('dated', 101),
    seen('same', 100.25),
    seen('undated', time.now),
    seen('later', time.now + 1),
    seen('grown', null, 5),
    seen('retyped', 100, 5),
    seen('never', 1),
  ];
  cache.outdate('bob', '/p', listing);
  cache.outdate('ada', null, listing);
  assert.equal(cache.statistics().invalidations, 0);
  cache.outdate('ada', '/p', listing);
  assert.deepEqual(
    ['dated', 'same', 'undated', 'later', 'grown', 'retyped', 'unseen'].filter((path) =>
      cache.get('ada', '/p', path),
    ),
    ['same', 'undated', 'retyped', 'unseen'],
  );
  assert.equal(cache.statistics('ada').invalidations, 3);
});

test('what was not used for longest goes first, until the size is under the limit', () => {
  const { cache } = cacheOf(35 * kilobyte);
  for (const path of ['a', 'b', 'c']) cache.put('ada', null, fileAt(path, 10_000));
  cache.get('ada', null, 'a');
  assert.ok(cache.put('ada', null, fileAt('d', 12_000)));
  assert.deepEqual(
    ['a', 'b', 'c', 'd'].map((path) => cache.get('ada', null, path) !== null),
    [true, false, true, true],
  );
  assert.equal(cache.statistics().evictions, 1);
  recordProof('E5:least-recently-used-goes-first');
});

test('the number of files is bounded, and each counts for more than its bytes', () => {
  const { cache } = cacheOf(1000 * kilobyte, 3);
  for (const path of ['a', 'b', 'c', 'd']) cache.put('ada', null, fileAt(path, 0));
  assert.equal(cache.statistics().entries, 3);
  const small = cacheOf(100 * kilobyte).cache;
  for (let at = 0; at < 1000; at++) small.put('ada', null, fileAt(`empty-${at}`, 0));
  assert.ok(small.statistics().entries < 100);
});

test('a file larger than the limit is not kept, nor is the older one at its path, and the others stay', () => {
  const { cache } = cacheOf(10 * kilobyte);
  cache.put('ada', null, fileAt('a', 'old'));
  cache.put('ada', null, fileAt('b', 'other'));
  assert.equal(cache.put('ada', null, fileAt('a', 10 * kilobyte)), false);
  assert.equal(cache.get('ada', null, 'a'), null);
  assert.ok(cache.get('ada', null, 'b'));
});

test("one user's flood leaves another the files that are less than that user's part", () => {
  const { cache } = cacheOf(100 * kilobyte);
  for (const path of ['a', 'b', 'c']) cache.put('ada', null, fileAt(path, 10 * kilobyte));
  for (let at = 0; at < 500; at++) cache.put('bob', null, fileAt(`flood-${at}`, 1 + at * 100));
  for (const path of ['a', 'b', 'c']) assert.ok(cache.get('ada', null, path));
  assert.equal(cache.statistics('ada').evictions, 0);
  assert.ok(cache.statistics('bob').evictions > 0);
});

test('a user who comes later takes room from who holds the most, and from what lay idle for an hour', () => {
  const { cache, time } = cacheOf(100 * kilobyte);
  cache.put('eve', null, fileAt('idle', 5 * kilobyte));
  time.now += hour;
  for (let at = 0; at < 7; at++) cache.put('ada', null, fileAt(`a${at}`, 10 * kilobyte));
  cache.put('bob', null, fileAt('b', 17 * kilobyte));
  assert.equal(cache.get('eve', null, 'idle'), null);
  assert.equal(cache.statistics('ada').entries, 7);
  cache.put('bob', null, fileAt('b2', 17 * kilobyte));
  assert.equal(cache.get('ada', null, 'a0'), null);
  assert.equal(cache.statistics('bob').entries, 2);
});

test('where all hold the same, a newcomer takes the place of what was not used for longest', () => {
  const { cache, time } = cacheOf(1000 * kilobyte, 3);
  for (const user of ['ada', 'bob', 'eve']) {
    time.now++;
    cache.put(user, null, fileAt('a', 'x'));
  }
  assert.ok(cache.put('new', null, fileAt('a', 'x')));
  assert.deepEqual(
    ['ada', 'bob', 'eve'].map((user) => cache.statistics(user).entries),
    [0, 1, 1],
  );
});

test('several files are kept together or not at all', () => {
  const { cache } = cacheOf(50 * kilobyte);
  cache.put('ada', null, fileAt('a', 'old'));
  cache.put('ada', null, fileAt('z', 20 * kilobyte));
  const before = cache.statistics();
  assert.equal(
    cache.putAll('ada', null, [fileAt('a', 'new'), fileAt('b', 30_000), fileAt('c', 30_000)]),
    false,
  );
  assert.deepEqual(cache.statistics(), before);
  assert.equal(cache.get('ada', null, 'a')?.size, 3);
  assert.ok(cache.putAll('ada', null, [fileAt('a', 'newer'), fileAt('b', 20_000), fileAt('c', 20_000)]));
  assert.deepEqual(
    ['a', 'b', 'c', 'z'].map((path) => cache.get('ada', null, path)?.size ?? null),
    [5, 20_000, 20_000, null],
  );
});

test('statistics tell the bytes of the files, and what is kept along with them counts towards the limit alone', () => {
  const { cache } = cacheOf(10 * kilobyte);
  cache.putAll(
    'ada',
    '/p',
    ['a', 'b', 'c'].map((path) => fileAt(path, '0123456789')),
  );
  assert.deepEqual([cache.statistics('ada').entries, cache.statistics('ada').bytes], [3, 30]);
  cache.putAll('ada', '/p', [fileAt('a', '01234')]);
  cache.putAll('bob', '/p', [fileAt('a', 'é')]);
  assert.deepEqual(
    [cache.statistics('ada').bytes, cache.statistics('bob').bytes, cache.statistics().bytes],
    [25, 2, 27],
  );
  for (let at = 0; at < 50; at++) cache.putAll('bob', '/p', [fileAt(`n${at}`, '0123456789')]);
  const all = cache.statistics();
  assert.ok(all.evictions > 30 && all.bytes < kilobyte, JSON.stringify(all));
  assert.equal(all.bytes, cache.statistics('ada').bytes + cache.statistics('bob').bytes);
});

test('a path, a user or all can be forgotten', () => {
  const { cache } = cacheOf(100 * kilobyte);
  for (const user of ['ada', 'bob', 'eve']) cache.putAll(user, '/p', [fileAt('a', 'x'), fileAt('b', 'y')]);
  assert.ok(cache.forgetPath('ada', '/p', 'a'));
  assert.ok(!cache.forgetPath('ada', '/p', 'a'));
  cache.forget('bob');
  assert.equal(cache.statistics('bob').entries, 0);
  assert.equal(cache.statistics().entries, 3);
  cache.clear();
  assert.deepEqual([cache.statistics().entries, cache.statistics().bytes], [0, 0]);
});

test('what is kept does not change with the buffer that it came in', () => {
  const { cache } = cacheOf(100 * kilobyte);
  const file = fileAt('a', 'before');
  cache.put('ada', null, file);
  file.bytes.fill(0);
  assert.equal(new TextDecoder().decode(cache.get('ada', null, 'a')!.bytes), 'before');
});

test('the counts of users who hold nothing are bounded', () => {
  const { cache } = cacheOf(100 * kilobyte);
  cache.put('ada', null, fileAt('a', 'x'));
  for (let at = 0; at < 10_001; at++) cache.get(`user-${at}`, null, 'a');
  assert.equal(cache.statistics('user-0').misses, 0);
  assert.ok(cache.get('ada', null, 'a'));
});

test('whatever is asked of it, it holds no more than it may, its sums are right, and hits are what was put', () => {
  const [user, root, path] = [
    fc.constantFrom('a', 'b', 'c'),
    fc.constantFrom(null, '/p'),
    fc.constantFrom('1', '2', '3', '4', '5'),
  ];
  const step = fc.record({
    user,
    root,
    path,
    size: fc.integer({ min: 0, max: 12_000 }),
    what: fc.constantFrom('put', 'put', 'get', 'forget', 'hour'),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const { cache, time } = cacheOf(30_000, 8);
      const last = new Map<string, number>();
      for (const { user, root, path, size, what } of steps) {
        const key = JSON.stringify([user, root, path]);
        if (what === 'put') last.set(key, cache.put(user, root, fileAt(path, size)) ? size : -1);
        if (what === 'forget') cache.forgetPath(user, root, path);
        if (what === 'hour') time.now += hour;
        const found = cache.get(user, root, path);
        if (found !== null) assert.equal(found.size, last.get(key));
        if (what === 'put') assert.equal(found !== null, last.get(key) !== -1);
        const all = cache.statistics();
        assert.ok(all.bytes <= 30_000 && all.entries <= 8);
        for (const sum of ['bytes', 'entries', 'hits', 'misses', 'evictions'] as const)
          assert.equal(
            all[sum],
            cache.statistics('a')[sum] + cache.statistics('b')[sum] + cache.statistics('c')[sum],
          );
      }
    }),
    { numRuns: 100 },
  );
  recordProof('E5:hit-miss-and-eviction-counted');
});
