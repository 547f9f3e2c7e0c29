import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPathPolicy, type ListingOptions, type RawEnd } from './policy.ts';
import { recordProof } from '../../../../test/requirements/requirements.testing.ts';

const policy = createPathPolicy({ root: '/p/q', read: null, list: null });
const asked = policy.judge('docs', 'list');
const all: ListingOptions = { recursive: true, pattern: null };

test('entries have path, type, size and time, by path, and what cannot be true is null', async () => {
  const { entries, ...rest } = await policy.judgeListing(
    asked,
    [
      { path: 'docs/b.md', type: 'file', size: 3, mtime: 1700000000000.5 },
      { path: '/p/q/docs/a', type: 'directory', size: 4096, mtime: -1 },
      { path: './docs/c', type: 'l', size: 9, mtime: 0 },
      { path: 'docs/d', type: 'socket', mtime: '2024' },
      { path: 'docs/e', type: 'f', size: -1, mtime: Infinity },
      { path: 'docs/f', size: 2 ** 60, mtime: 9e15 },
      'docs/g/',
      'docs/h',
      { path: 'docs', type: 'folder' },
    ],
    all,
  );
  assert.deepEqual(entries, [
    { path: 'docs/a', type: 'folder', size: null, mtime: null },
    { path: 'docs/b.md', type: 'file', size: 3, mtime: 1700000000000 },
    { path: 'docs/c', type: 'link', size: null, mtime: 0 },
    { path: 'docs/d', type: 'other', size: null, mtime: null },
    { path: 'docs/e', type: 'file', size: null, mtime: null },
    { path: 'docs/f', type: 'file', size: null, mtime: null },
    { path: 'docs/g', type: 'folder', size: null, mtime: null },
    { path: 'docs/h', type: 'file', size: null, mtime: null },
  ]);
  assert.deepEqual(rest, { path: 'docs', hidden: 0, outside: 0, firstOutside: null, cut: false });
  recordProof('E1:name-type-size-and-mtime');
});

test('whoever lists files alone, as a page does, shows which folders there are', async () => {
  const files = [
    'docs/a/b/c.md',
    'docs/a/d.md',
    { path: 'docs/l', type: 'link' },
    'docs/l/x/y',
    'docs/.git/z',
  ];
  const listed = async (options: ListingOptions) => {
    const { entries, hidden } = await policy.judgeListing(asked, files, options);
    return [hidden, ...entries.map(({ path, type }) => `${type} ${path}`)];
  };
  const tree = ['folder docs/a', 'folder docs/a/b', 'file docs/a/b/c.md', 'file docs/a/d.md', 'link docs/l'];
  assert.deepEqual(await listed(all), [2, ...tree]);
  assert.deepEqual(await listed({ ...all, recursive: false }), [1, 'folder docs/a', 'link docs/l']);
  assert.deepEqual(await listed({ ...all, pattern: '**/b' }), [1, 'folder docs/a/b']);
  const { entries, cut } = await policy.judgeListing(asked, ['docs/a/b/c'], { ...all, most: 2 });
  assert.deepEqual([entries.length, cut], [2, true]);
});

test('a client that lists what is outside, hidden or no path at all has it left out and counted', async () => {
  const outside = [
    '../x',
    '/etc/passwd',
    'src/a',
    'docs-secret/a',
    'docs/../x',
    'docs\\a',
    'C:\\x',
    'docs/%2e%2e/x',
  ];
  const hidden = ['docs/.env', 'docs/.git/config', 'docs/CON', 'docs/a\u202e', `docs/${'n'.repeat(300)}`];
  const none = [
    null,
    7,
    [],
    {},
    { path: 7 },
    '',
    { path: '' },
    Object.create({ path: 'docs/x' }),
    true,
    undefined,
  ];
  const listing = await policy.judgeListing(asked, [...outside, ...hidden, ...none, 'docs/a'], all);
  assert.deepEqual(
    listing.entries.map(({ path }) => path),
    ['docs/a'],
  );
  assert.equal(listing.hidden, outside.length + hidden.length + none.length);
  assert.equal(listing.outside, outside.length);
  assert.equal(listing.firstOutside, '../x');
  recordProof('E1:answer-checked-again');
});

const paths = ['docs/a.md', 'docs/b.txt', 'docs/x', 'docs/x/c.md', 'docs/x/y', 'docs/x/y/d.md'];
const patterns: readonly (readonly [pattern: string | null, recursive: boolean, found: readonly string[]])[] =
  [
    [null, true, paths],
    [null, false, ['docs/a.md', 'docs/b.txt', 'docs/x']],
    ['*.md', true, ['docs/a.md', 'docs/x/c.md', 'docs/x/y/d.md']],
    ['*.md', false, ['docs/a.md']],
    ['x/*.md', true, ['docs/x/c.md']],
    ['docs/*', true, []],
    ['x/**', true, ['docs/x', 'docs/x/c.md', 'docs/x/y', 'docs/x/y/d.md']],
  ];

for (const [pattern, recursive, found] of patterns)
  test(`the pattern ${pattern} ${recursive ? 'with' : 'without'} recursion is applied to the answer again`, async () => {
    const listing = await policy.judgeListing(asked, paths, { recursive, pattern });
    assert.deepEqual(
      listing.entries.map(({ path }) => path),
      found,
    );
    assert.equal(listing.hidden, 0);
  });

test('a pattern that is too long is refused', async () => {
  await assert.rejects(policy.judgeListing(asked, [], { ...all, pattern: '*'.repeat(1025) }), {
    code: 'invalid_input',
  });
});

test('a path told twice is listed once, as the first told it, in whatever form', async () => {
  const raw = [
    { path: 'docs/a', type: 'file', size: 1 },
    { path: './docs//a', type: 'folder' },
    '/p/q/docs/a',
  ];
  const { entries, hidden } = await policy.judgeListing(asked, raw, all);
  assert.deepEqual(entries, [{ path: 'docs/a', type: 'file', size: 1, mtime: null }]);
  assert.equal(hidden, 0);
});

test('a link is listed as a link, and what a client lists behind one is left out', async () => {
  const raw = ['docs/l/x.md', { path: 'docs/l', type: 'link' }, 'docs/l/y/z.md', 'docs/lx.md', 'docs/l.md'];
  const whole = await policy.judgeListing(asked, raw, all);
  assert.deepEqual(
    whole.entries.map(({ path, type }) => `${type} ${path}`),
    ['link docs/l', 'file docs/l.md', 'file docs/lx.md'],
  );
  assert.equal(whole.hidden, 2);
  const fitting = await policy.judgeListing(asked, raw, { recursive: true, pattern: '*.md' });
  assert.deepEqual(
    fitting.entries.map(({ path }) => path),
    ['docs/l.md', 'docs/lx.md'],
  );
});

test('paths can be told from the folder that was asked for', async () => {
  const raw = ['a', 'docs/b', '../x', '/etc/passwd', '/p/q/docs/c'];
  const { entries, outside } = await policy.judgeListing(asked, raw, { ...all, from: 'folder' });
  assert.deepEqual(
    entries.map(({ path }) => path),
    ['docs/a', 'docs/c', 'docs/docs', 'docs/docs/b'],
  );
  assert.equal(outside, 2);
});

test('of a million entries as many are kept as may be, and no more are asked for', async () => {
  let [given, closed] = [0, false];
  async function* million() {
    try {
      for (; given < 1_000_000; given++) yield { path: `docs/${given}` };
    } finally {
      closed = true;
    }
  }
  const { entries, cut } = await policy.judgeListing(asked, million(), { ...all, most: 1000 });
  assert.equal(entries.length, 1000);
  assert.ok(cut && closed);
  assert.equal(given, 1000);
});

test('a client that lists nothing but what may not be seen is not listened to for ever', async () => {
  function* endless() {
    for (;;) yield '../x';
  }
  const { entries, hidden, cut } = await policy.judgeListing(asked, endless(), { ...all, most: 10 });
  assert.deepEqual([entries.length, hidden, cut], [0, 101, true]);
});

test('exactly as many entries as may be kept are not cut', async () => {
  const { entries, cut } = await policy.judgeListing(asked, ['docs/a', 'docs/b', 'docs/a', '../x'], {
    ...all,
    most: 2,
  });
  assert.equal(entries.length, 2);
  assert.equal(cut, false);
});

test('long paths end a listing before they fill memory', async () => {
  function* long() {
    const folders = `${'n'.repeat(200)}/`.repeat(20);
    for (let at = 0; at < 20_000; at++) yield `docs/${folders}${at}`;
  }
  const { entries, cut } = await policy.judgeListing(asked, long(), all);
  assert.ok(cut);
  assert.ok(entries.length < 10_000);
});

test('a listing that is given up ends with the reason', async () => {
  const giveUp = new AbortController();
  async function* endless() {
    for (let at = 0; ; at++) {
      if (at === 1000) giveUp.abort(new Error('given up'));
      yield '../x';
    }
  }
  await assert.rejects(policy.judgeListing(asked, endless(), { ...all, signal: giveUp.signal }), /given up/);
});

test('what was left out before it came to us is told: more there is, and names that nobody can write', async () => {
  function* given(end: RawEnd, ...paths: string[]) {
    yield* paths;
    return end;
  }
  const listing = await policy.judgeListing(
    asked,
    given({ end: 'cut', hidden: 2 }, 'docs/a', 'docs/.b'),
    all,
  );
  assert.deepEqual([listing.entries.length, listing.cut, listing.hidden], [1, true, 3]);
  const empty = await policy.judgeListing(asked, given({ end: 'whole', hidden: 0 }), all);
  assert.deepEqual([empty.entries.length, empty.cut], [0, false]);
  const allHidden = await policy.judgeListing(asked, given({ end: 'cut', hidden: 0 }, 'docs/.b'), all);
  assert.deepEqual([allHidden.hidden, allHidden.cut], [1, true]);
});

test('what holds no entry and does not say that it is whole is no empty folder', async () => {
  function* cutOff(...paths: unknown[]) {
    yield* paths;
    return { end: 'unknown', hidden: 0 } as const;
  }
  for (const one of [[], ['<html>502 Bad Gateway</html>'], [null, null]])
    await assert.rejects(policy.judgeListing(asked, cutOff(...one), all), {
      code: 'invalid_input',
      message: /Call again/,
    });
  const unfit = await policy.judgeListing(asked, cutOff('docs/a.md'), { ...all, pattern: '*.txt' });
  assert.deepEqual([unfit.entries.length, unfit.cut], [0, true]);
  const lies = await policy.judgeListing(asked, cutOff('../x'), all);
  assert.deepEqual([lies.outside, lies.cut], [1, true], 'told, so that it can be noted');
});

test('a listing that is too much work is cut, and no more of it is asked for', async () => {
  let closed = false;
  function* endless() {
    try {
      for (;;) yield 'docs/a';
    } finally {
      closed = true;
    }
  }
  const options = { ...all, most: Infinity, mostSlices: 2 };
  const { entries, cut } = await policy.judgeListing(asked, endless(), options);
  assert.deepEqual([entries.length, cut, closed], [1, true, true]);
});
