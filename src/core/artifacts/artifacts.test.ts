import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import {
  appendFileSync,
  chmodSync,
  linkSync,
  mkdirSync,
  readdirSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { isWorkcrateError } from '../../platform/errors.ts';
import { ann, hostileNames, stage, strangers, swapping } from './artifacts.testing.ts';
import type { NamePage } from './artifacts.ts';
import { recordProof } from '../../../test/requirements/requirements.testing.ts';

const notFound = (name: string) => ({ code: 'not_found', message: `Artifact not found: ${name}` });
const decoded = (base64: string): Buffer => Buffer.from(base64, 'base64');

test('regular files are listed by name in the order of bytes, and nothing else is', async () => {
  await using set = await stage();
  await using others = await strangers(set.folder);
  for (const name of ['b', 'a', 'Z', '\u{1f600}', '\uffee', 'é', '.hidden', 'empty']) set.put(name, 'x');
  set.put('empty', '');
  assert.ok(others.names.length >= 8);
  assert.deepEqual(await set.namesOf(ann), ['Z', 'a', 'b', 'empty', 'é', '\uffee', '\u{1f600}']);
  recordProof('A1:regular-files-sorted-by-name', 'A1:nothing-else-listed');
});

test('an empty folder, a missing one and a user who has none give no artifacts', async () => {
  await using set = await stage();
  assert.deepEqual(await set.namesOf(ann), []);
  rmSync(set.folder, { recursive: true });
  assert.deepEqual(await set.namesOf(ann), []);
  await assert.rejects(set.artifacts.encode(ann, 'x'), notFound('x'));
  assert.deepEqual(await set.namesOf({ user: 'nobody' }), []);
  await assert.rejects(set.artifacts.encode({ user: 'nobody' }, 'x'), notFound('x'));
  const [row] = await set.database.query<{ count: number }>('SELECT COUNT(*) AS count FROM places');
  assert.equal(row?.count, 1, 'asking makes no place');
  recordProof('A2:empty-or-missing-gives-none');
});

test('a listing or a size that fails says so, and not where the folder stands', async () => {
  const broken = await stage();
  await broken[Symbol.asyncDispose]();
  const reason = 'The database failed. The log of the server says why.';
  await assert.rejects(broken.artifacts.list(ann), {
    code: 'artifact_failed',
    message: `Failed to list artifacts: ${reason}`,
  });
  await assert.rejects(broken.artifacts.encode(ann, 'x'), {
    code: 'artifact_failed',
    message: `Failed to check artifact size: ${reason}`,
  });
  recordProof('A3:failed-listing-in-its-words', 'A3:failed-size-in-its-words');
});

test('a folder that cannot be opened is a listing that fails', async () => {
  await using set = await stage();
  rmSync(set.folder, { recursive: true });
  symlinkSync('artifacts', set.folder);
  await assert.rejects(set.artifacts.list(ann), (error) => {
    assert.ok(isWorkcrateError(error, 'artifact_failed'));
    assert.match(error.message, /^Failed to list artifacts: ./);
    assert.ok(!error.message.includes(set.home));
    return true;
  });
  recordProof('A3:failed-listing-in-its-words');
});

test('a file that the server may not read is one that fails to be encoded', async (t) => {
  if (process.getuid?.() === 0) return t.skip('root may read every file');
  await using set = await stage();
  set.put('locked', 'x');
  chmodSync(join(set.folder, 'locked'), 0);
  await assert.rejects(set.artifacts.encode(ann, 'locked'), {
    code: 'artifact_failed',
    message: /^Failed to encode artifact: .*permission/,
  });
});

for (const [what, change] of [
  ['grows', (path: string) => appendFileSync(path, 'more')],
  ['shrinks', (path: string) => truncateSync(path, 1_000_000)],
  ['is emptied', (path: string) => truncateSync(path, 0)],
  ['is written anew', (path: string) => writeFileSync(path, Buffer.alloc(2_000_000, 'y'))],
] as const)
  test(`a file that ${what} while it is read fails to be encoded`, async () => {
    await using set = await stage();
    set.put('busy', Buffer.alloc(2_000_000, 'x'));
    // A clock that stamps files by ticks may give two writes the same time.
    utimesSync(join(set.folder, 'busy'), 1, 1);
    let given = 0;
    const reading = set.artifacts.use(ann, { name: 'busy', delivery: 'base64' }, async (artifact) => {
      for await (const piece of artifact.bytes()) {
        if (given === 0) change(join(set.folder, 'busy'));
        given += piece.length;
      }
    });
    await assert.rejects(reading, {
      code: 'artifact_failed',
      message: /^Failed to encode artifact: it changed during reading/,
    });
    assert.ok(given > 0 && given <= 2_000_000, `${given}`);
    recordProof('A3:failed-read-in-its-words', 'A7:checked-on-the-open-file');
  });

test('any bytes come back exactly, as base64 without line breaks', async () => {
  await using set = await stage();
  const piece = 3 * 256 * 1024;
  const sizes = [0, 1, 2, 3, 4, 255, 65_537, piece - 1, piece, piece + 1, 2 * piece, 3 * piece + 2];
  for (const size of sizes) {
    const bytes = randomBytes(size);
    set.put('bytes', bytes);
    assert.equal(await set.artifacts.encode(ann, 'bytes'), bytes.toString('base64'), `${size}`);
  }
  const everyByte = fc.asyncProperty(fc.uint8Array({ maxLength: 2000 }), async (bytes) => {
    set.put('bytes', bytes);
    assert.deepEqual(decoded(await set.artifacts.encode(ann, 'bytes')), Buffer.from(bytes));
  });
  await fc.assert(everyByte, { numRuns: 50 });
  recordProof('A4:bytes-exact', 'A4:base64-without-line-breaks');
});

test('a path and a name that begins with a dot are refused in the words of the specification', async () => {
  await using set = await stage();
  const paths = ['/', 'a/b', '/etc/passwd', '../secret', 'folder/', 'a\\b', '\\', '..\\x', '.a/b'];
  for (const name of paths)
    await assert.rejects(set.artifacts.encode(ann, name), {
      code: 'invalid_input',
      message: `Invalid artifact path '${name}': must be a filename, not a path (no '/' or '\\' allowed)`,
    });
  for (const name of ['.', '..', '.hidden', '...', '.\n'])
    await assert.rejects(set.artifacts.encode(ann, name), {
      code: 'invalid_input',
      message: `Invalid artifact path '${name}': cannot start with '.'`,
    });
  recordProof('A5:slash-and-backslash-refused', 'A5:leading-dot-refused');
});

test('what is missing, and what is no plain file, is not found, and nothing hangs', async () => {
  await using set = await stage();
  await using others = await strangers(set.folder);
  const impossible = ['', 'a\0b', '\ud800', 'x'.repeat(256), 'x'.repeat(4096)];
  for (const name of [...others.names, 'missing', ...impossible])
    await assert.rejects(set.artifacts.encode(ann, name), notFound(name), JSON.stringify(name));
  recordProof('A6:link-folder-device-not-found');
});

test('a file with several names is listed and given by each of them, like any other', async () => {
  await using set = await stage();
  set.put('result.csv', 'x');
  linkSync(join(set.folder, 'result.csv'), join(set.folder, 'latest.csv'));
  mkdirSync(join(set.folder, 'folder'));
  linkSync(join(set.folder, 'result.csv'), join(set.folder, 'folder', 'kept.csv'));
  assert.deepEqual(await set.namesOf(ann), ['latest.csv', 'result.csv']);
  for (const name of ['result.csv', 'latest.csv'])
    assert.equal(await set.artifacts.encode(ann, name), 'eA==', name);
  recordProof('A1:hard-links-listed');
});

test("a hard link to somebody else's file gives only what the user's own runs could read", async (t) => {
  if (process.getuid?.() !== 0) return t.skip('only root has users of several uids');
  await using set = await stage({ uids: { from: 70_000, to: 70_009 } });
  const open = join(set.home, 'open');
  writeFileSync(open, 'open', { mode: 0o644 });
  chmodSync(set.secret, 0o640);
  linkSync(set.secret, join(set.folder, 'closed'));
  linkSync(open, join(set.folder, 'open'));
  await assert.rejects(set.artifacts.encode(ann, 'closed'), notFound('closed'));
  // Also once nobody else knows it: its owner has written a new one in its place.
  rmSync(set.secret);
  await assert.rejects(set.artifacts.encode(ann, 'closed'), notFound('closed'));
  assert.equal(decoded(await set.artifacts.encode(ann, 'open')).toString(), 'open');
});

test('a file at the limit is given, one byte more is refused before a byte is read', async () => {
  await using set = await stage({ sizeLimit: 1024 });
  set.put('exact', Buffer.alloc(1024));
  set.put('over', Buffer.alloc(1025));
  set.put('empty', '');
  set.put('sparse', '');
  truncateSync(join(set.folder, 'sparse'), 1024 ** 4);
  assert.equal(decoded(await set.artifacts.encode(ann, 'exact')).length, 1024);
  assert.equal(await set.artifacts.encode(ann, 'empty'), '');
  for (const [name, size] of [
    ['over', 1025],
    ['sparse', 1024 ** 4],
  ] as const)
    await assert.rejects(set.artifacts.encode(ann, name), {
      code: 'artifact_too_large',
      message: `Artifact '${name}' is ${size} bytes, exceeds limit of 1024 bytes`,
    });
  recordProof(
    'A7:exact-limit-and-empty-given',
    'A7:one-byte-more-refused-in-its-words',
    'A7:checked-before-a-byte-is-read',
  );
});

test('every name that the kernel allows is listed and fetched, each form of a letter as its own', async () => {
  await using set = await stage();
  for (const name of hostileNames) set.put(name, name);
  const bytes = (name: string): string => Buffer.from(name).toString('hex');
  const expected = hostileNames.toSorted((a, b) => (bytes(a) < bytes(b) ? -1 : 1));
  assert.deepEqual(await set.namesOf(ann), expected);
  for (const name of hostileNames)
    assert.equal(decoded(await set.artifacts.encode(ann, name)).toString(), name);
  assert.deepEqual(readdirSync(set.home).sort(), ['places', 'secret']);
  recordProof('A9:every-name-works');
});

test('any string is given back as the file of that very name, or refused', async () => {
  await using set = await stage();
  const anyName = fc.string({ unit: 'binary', minLength: 1, maxLength: 60 });
  const property = fc.asyncProperty(anyName, async (name) => {
    const isAllowed = !/[/\\\0]|^\./.test(name) && name.isWellFormed();
    if (isAllowed) set.put(name, name);
    const got = await set.artifacts.encode(ann, name).catch((error: unknown) => {
      assert.ok(isWorkcrateError(error, 'not_found') || isWorkcrateError(error, 'invalid_input'));
      return null;
    });
    assert.equal(got === null ? null : decoded(got).toString(), isAllowed ? name : null);
  });
  await fc.assert(property, { numRuns: 300 });
});

test('names that are not UTF-8 are left out, and the log counts them', async () => {
  await using set = await stage();
  const raw = Buffer.concat([Buffer.from(`${set.folder}/`), Buffer.of(0x61, 0xff, 0xfe)]);
  writeFileSync(raw, 'x');
  set.put('plain', 'x');
  assert.deepEqual(await set.namesOf(ann), ['plain']);
  assert.equal(set.logged().at(-1)?.['unreadable'], 1);
  await assert.rejects(set.artifacts.encode(ann, raw.toString().slice(-3)), { code: 'not_found' });
});

test("one user's names give nothing of another's", async () => {
  await using set = await stage();
  set.put('mine', 'x');
  const { artifacts: folder } = await set.places.of('bob');
  writeFileSync(join(folder, 'his'), 'x');
  assert.deepEqual(await set.namesOf({ user: 'bob' }), ['his']);
  await assert.rejects(set.artifacts.encode({ user: 'bob' }, 'mine'), notFound('mine'));
  for (const user of ['../ann', 'ann/', 'ANN', 'ann\0', '1', '*', "' OR 1=1 --", ''])
    assert.deepEqual(await set.namesOf({ user }), [], user);
  recordProof('A10:no-byte-by-name');
});

test('a second process that swaps the artifact for links gets no byte of what they lead to', async () => {
  await using set = await stage();
  const stock = join(set.home, 'stock');
  mkdirSync(stock);
  writeFileSync(join(stock, 'prey.plain'), 'inside');
  symlinkSync(set.secret, join(stock, 'prey.link'));
  mkdirSync(join(stock, 'prey.folder'));
  const seen = new Map<string, number>();
  {
    await using _attacker = await swapping(set.folder, stock);
    for (let turn = 0; turn < 5000; turn++) {
      const got = await set.artifacts.encode(ann, 'prey').catch((error: unknown) => {
        assert.ok(isWorkcrateError(error));
        return error.code;
      });
      seen.set(got, (seen.get(got) ?? 0) + 1);
    }
  }
  const inside = Buffer.from('inside').toString('base64');
  assert.deepEqual([...seen.keys()].sort(), [inside, 'not_found'].sort(), JSON.stringify([...seen]));
  recordProof('A10:no-byte-by-link');
});

test('any number of artifacts is listed, in pages that follow one another', async () => {
  await using set = await stage();
  const names = Array.from({ length: 10_001 }, (_, at) => `f${at}`);
  for (const name of names) set.put(name, '');
  mkdirSync(join(set.folder, 'folder'));
  set.put('.hidden', '');
  const first = await set.artifacts.list(ann);
  assert.deepEqual([first.names.length, first.total], [10_000, 10_001]);
  const second = await set.artifacts.list(ann, { after: first.next });
  assert.deepEqual([second.names.length, second.total, second.next], [1, 10_001, null]);
  assert.deepEqual([...first.names, ...second.names], names.toSorted());
  recordProof('A1:any-number-in-pages');
});

test('pages of any size give every name once, in the order of bytes', async () => {
  await using set = await stage();
  for (const name of hostileNames) set.put(name, '');
  const all = await set.namesOf(ann);
  for (const limit of [1, 2, 7, all.length - 1, all.length, all.length + 1]) {
    const seen: string[] = [];
    for (let after: string | null = null, pages = 0; pages <= all.length; pages++) {
      const page: NamePage = await set.artifacts.list(ann, { after, limit });
      assert.ok(page.names.length <= limit && page.total === all.length);
      seen.push(...page.names);
      after = page.next;
      if (after === null) break;
    }
    assert.deepEqual(seen, all, `${limit}`);
  }
  assert.deepEqual((await set.artifacts.list(ann, { after: '\u{10ffff}' })).names, []);
});

test('others have their turn while 20,000 names are looked at, of which none can be listed', async () => {
  await using set = await stage();
  const folder = Buffer.from(`${set.folder}/`);
  for (let at = 0; at < 20_000; at++)
    writeFileSync(Buffer.concat([folder, Buffer.of(0xff), Buffer.from(`${at}`)]), '');
  let turns = 0;
  let isOver = false;
  const turn = (): void => void (turns++, isOver || setImmediate(turn));
  setImmediate(turn);
  assert.deepEqual(await set.namesOf(ann), []);
  isOver = true;
  assert.ok(turns >= 3, `${turns}`);
  assert.equal(set.logged().at(-1)?.['unreadable'], 20_000);
});

test('each list, get and error is one line of the log with the user, errors at level error', async () => {
  await using set = await stage();
  set.put('x', 'abc');
  await set.artifacts.list(ann);
  await set.artifacts.encode(ann, 'x');
  await set.artifacts.encode(ann, 'a\nb').catch(() => {});
  await set.artifacts.encode({ user: 'bob\n' }, '../x').catch(() => {});
  const lines = set.logged().map(({ level, event, user, name, size, count, result }) => {
    return { level, event, user, name, size, count, result };
  });
  const none = { level: 'info', name: undefined, size: undefined, count: undefined };
  const get = { ...none, event: 'artifact.get' };
  assert.deepEqual(lines, [
    { ...none, event: 'artifact.list', user: 'ann', count: 1, result: 'ok' },
    { ...get, user: 'ann', name: 'x', size: 3, result: 'ok' },
    { ...get, level: 'error', user: 'ann', name: 'a\nb', result: 'not_found' },
    { ...get, level: 'error', user: 'bob\n', name: '../x', result: 'invalid_input' },
  ]);
  recordProof('A13:list-logged-with-user', 'A13:get-logged-with-user', 'A13:errors-at-level-error');
});
