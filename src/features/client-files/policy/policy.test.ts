import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createPathPolicy } from './policy.ts';
import { isMistaken, violates } from './policy.testing.ts';
import { recordProof } from '../../../../test/requirements/requirements.testing.ts';

const usual = createPathPolicy({ root: '/home/me/project', read: null, list: null });

test('docs, src, tests, .guide and .todo below the project are allowed, and all else is denied', () => {
  for (const path of ['docs', 'docs/a.md', './src//a/', 'tests/x/y', '.guide/a', '.todo'])
    assert.ok(usual.judge(path, 'read'));
  for (const path of [
    '',
    '.',
    'a.md',
    'docs-secret',
    'docs-secret/a',
    'doc',
    'package.json',
    'lib/docs/a',
    './',
    '[x]',
  ])
    assert.throws(() => usual.judge(path, 'list'), isMistaken('not_allowed', path), path);
  recordProof('E3:default-folders');
});

test('a refusal names what is allowed', () => {
  assert.throws(() => usual.judge('lib/a', 'read'), /"docs", "src", "tests", "\.guide", "\.todo"/);
});

test('a refusal tells a model what to write, and whom it can have asked for more', () => {
  const messageOf = (path: string, policy = usual, purpose: 'read' | 'list' = 'list'): string => {
    try {
      policy.judge(path, purpose);
    } catch (error) {
      return (error as Error).message;
    }
    return assert.fail(`${path} was not refused`);
  };
  assert.match(
    messageOf('lib/a'),
    /The operator can allow more with filesystem\.allowed_paths .* --client-paths\.$/,
  );
  const apart = createPathPolicy({ root: null, read: ['data'], list: ['data/a'] });
  assert.match(messageOf('data', apart), /--client-list-paths/);
  assert.match(messageOf('lib', apart, 'read'), /--client-paths/);
  assert.match(messageOf('docs/.vitepress/config.ts'), /hidden folder.* add it to .*--client-paths/);
  assert.match(
    messageOf('data/stations.csv', usual, 'read'),
    /"docs", "src", .*request_upload.*files of execute_code/,
  );
  assert.doesNotMatch(messageOf('data'), /request_upload/);
  for (const path of ['/etc/passwd', 'C:\\x', '//server/share'])
    assert.match(messageOf(path), /from the project's folder, such as docs\/a\.csv/, path);
  const somewhere = createPathPolicy({ root: null, read: null, list: null });
  assert.match(messageOf('docs/a:b.md', somewhere), /holds ":"/);
  recordProof('E3:refusal-names-the-setting');
});

test('a path from the project down and the absolute one are the same, without a slash at the end', () => {
  const judged = { relative: 'docs/a.md', absolute: '/home/me/project/docs/a.md' };
  for (const path of ['docs/a.md', './docs/./a.md', 'docs//a.md/', '/home/me/project/docs/a.md'])
    assert.deepEqual(usual.judge(path, 'read'), judged, path);
  assert.equal(
    createPathPolicy({ root: '/home/me/project//', read: null, list: null }).root,
    '/home/me/project',
  );
});

test('allowed paths replace the usual ones, absolute or from the project down, for reading and listing apart', () => {
  const policy = createPathPolicy({ root: '/p', read: ['data/', '/p/notes/x'], list: ['./'] });
  assert.equal(policy.judge('data/a', 'read').relative, 'data/a');
  assert.equal(policy.judge('notes/x/y', 'read').relative, 'notes/x/y');
  for (const path of ['docs/a', 'notes', 'notes/xy', 'a'])
    assert.throws(() => policy.judge(path, 'read'), isMistaken('not_allowed', path));
  assert.deepEqual(policy.judge('.', 'list'), { relative: '', absolute: '/p' });
  assert.deepEqual(policy.judge('', 'list'), { relative: '', absolute: '/p' });
  assert.equal(policy.judge('anything', 'list').relative, 'anything');
});

test('what may be read may be listed where nothing else is said, and an empty list allows nothing', () => {
  const policy = createPathPolicy({ root: null, read: ['data'], list: null });
  assert.deepEqual(policy.judge('data', 'list'), { relative: 'data', absolute: null });
  const closed = createPathPolicy({ root: null, read: ['data'], list: [] });
  assert.throws(() => closed.judge('data', 'list'), isMistaken('not_allowed', 'data'));
});

test('what is hidden is allowed by its name alone', () => {
  const policy = createPathPolicy({ root: null, read: ['.', '.github/workflows', 'docs/.x'], list: null });
  for (const path of ['.guide/a', '.todo', '.github/workflows/ci.yml', 'docs/.x/a'])
    assert.ok(policy.judge(path, 'read'));
  for (const path of ['.github/a', '.github', '.env', 'docs/.xy', 'docs/.x/.y', 'a/.guide/b'])
    assert.throws(() => policy.judge(path, 'read'), isMistaken('hidden', path), path);
});

test('an allowed path that could lead elsewhere is an error of the configuration', () => {
  for (const path of ['../x', 'docs/*', 'docs\\x', '~/x', '', '$HOME', '/p/../etc', 'docs/%2e'])
    assert.throws(
      () => createPathPolicy({ root: '/p', read: [path], list: null }),
      { code: 'config_invalid' },
      path,
    );
});

test("an absolute path that is not below this client's project allows nothing there", () => {
  const read = ['/other/docs', 'C:\\other', 'src'];
  for (const root of ['/p', null]) {
    const policy = createPathPolicy({ root, read, list: null });
    assert.throws(() => policy.judge('/other/docs/a', 'read'), violates('absolute', '/other/docs/a'));
    assert.throws(() => policy.judge('docs/a', 'read'), isMistaken('not_allowed', 'docs/a'));
    assert.ok(policy.judge('src/a', 'read'));
  }
});

test('allowed paths that are not there are told of, once each', () => {
  const folder = mkdtempSync(join(tmpdir(), 'workcrate-policy-'));
  try {
    mkdirSync(join(folder, 'docs'));
    writeFileSync(join(folder, 'a.md'), '');
    const policy = createPathPolicy({
      root: folder,
      read: ['docs', 'src', 'a.md', '/other'],
      list: ['.', 'src', 'x/y'],
    });
    assert.deepEqual(policy.missingAllowed(folder), ['/other', 'src', 'x/y']);
    assert.deepEqual(usual.missingAllowed(join(folder, 'none')).length, 5);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('on Windows an absolute path may have backslashes, and its drive either case', () => {
  const policy = createPathPolicy({ root: 'c:/Users/RUNNER~1/my project/', read: null, list: null });
  const judged = { relative: 'docs/a.md', absolute: 'C:\\Users\\RUNNER~1\\my project\\docs\\a.md' };
  assert.equal(policy.root, 'C:\\Users\\RUNNER~1\\my project');
  for (const path of [judged.absolute, 'c:/Users/RUNNER~1/my project/docs/a.md', 'docs/a.md'])
    assert.deepEqual(policy.judge(path, 'read'), judged, path);
  const below = 'C:\\Users\\RUNNER~1\\my project';
  assert.throws(() => policy.judge(`${below}-x\\docs\\a`, 'read'), { code: 'path_refused' });
  assert.throws(() => policy.judge(`${below}\\docs\\..\\..\\a`, 'read'), { code: 'path_refused' });
  assert.throws(() => policy.judge(`${below}\\\\docs`, 'read'), { code: 'path_refused' });
  assert.throws(() => policy.judge('docs\\a.md', 'read'), isMistaken('backslash', 'docs\\a.md'));
});

test('a project may lie on a share, and in hidden folders', () => {
  const share = createPathPolicy({ root: '\\\\server\\share\\p', read: null, list: null });
  assert.equal(share.judge('\\\\server\\share\\p\\docs', 'list').relative, 'docs');
  assert.throws(() => share.judge('\\\\server\\share\\docs', 'list'), { code: 'path_refused' });
  const hidden = createPathPolicy({ root: '/home/me/.trees/p', read: null, list: null });
  assert.equal(hidden.judge('/home/me/.trees/p/docs', 'list').relative, 'docs');
});

test('a project is a folder, absolute and not a whole filesystem', () => {
  const roots = [
    '',
    '/',
    '//',
    'p',
    './p',
    '~',
    'C:',
    'C:\\',
    '\\\\server\\share',
    '\\p',
    '/a/../b',
    '/a/./b',
    '/a//b',
  ];
  for (const root of [
    ...roots,
    '/a\0',
    '/a\nb',
    '/\ud800',
    `/${'a'.repeat(5000)}`,
    'file:///a',
    '\\\\?\\C:\\..',
  ])
    assert.throws(() => createPathPolicy({ root, read: null, list: null }), { code: 'invalid_input' }, root);
});

test('an answer is what was asked for or lies below it, and is allowed', () => {
  const asked = usual.judge('docs/a', 'list');
  const answer = (path: string, from?: 'root' | 'folder') =>
    usual.judgeAnswer(asked, path, 'list', from)?.relative ?? null;
  assert.equal(answer('docs/a'), 'docs/a');
  assert.equal(answer('docs/a/b'), 'docs/a/b');
  assert.equal(answer('/home/me/project/docs/a/b'), 'docs/a/b');
  assert.equal(answer('b', 'folder'), 'docs/a/b');
  assert.equal(answer('/home/me/project/docs/a/b', 'folder'), 'docs/a/b');
  for (const path of [
    'docs',
    'docs/ab',
    'docs/b',
    'src/a',
    'docs/a/../b',
    '/etc/passwd',
    'docs/a/.env',
    'b',
    '',
  ])
    assert.equal(answer(path), null, path);
  for (const path of ['../b', '/etc/passwd', '.env', '..\\b', 'C:\\b', '%2e%2e/b'])
    assert.equal(answer(path, 'folder'), null, path);
});
