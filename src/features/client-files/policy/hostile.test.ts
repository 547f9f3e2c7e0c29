import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { WorkcrateError } from '../../../platform/errors.ts';
import { createPathPolicy, type PolicyKind } from './policy.ts';
import { isMistaken, refuses, violates } from './policy.testing.ts';
import { recordProof } from '../../../../test/requirements/requirements.testing.ts';

/** With the whole project allowed, so that each is refused for its form alone. */
const refused: Partial<Record<PolicyKind, readonly string[]>> = {
  traversal: [
    '..',
    '../x',
    'docs/../..',
    'docs/../../x',
    'docs/../../docs/a',
    './..//x',
    '.. /x',
    'a/../../a/b',
  ],
  absolute: [
    '/',
    '/etc/passwd',
    '/home/me',
    '/home/me/project-secret/a',
    '/home/me/project//etc',
    '/HOME/me/project/a',
  ],
  unc: ['//server/share', '\\\\server\\share', '\\\\?\\C:\\x', '\\\\.\\pipe\\x', '//?/C:/x', '/\\server'],
  drive: ['C:', 'c:/x', 'C:x', 'C:\\x', './d:x', 'docs/../a:', './docs/.././/a:/x'],
  backslash: ['docs\\a', '..\\x', 'docs/..\\..\\x', '\\etc'],
  nul: ['a\0b', 'docs/a.md\0.png', '\0', 'a\0/../docs/a'],
  not_unicode: ['\ud800', 'docs/\udfff.md'],
  encoded: [
    '%2e%2e/x',
    'docs/%2e%2e/../a',
    '..%2fx',
    '%2fetc',
    'a%2fb',
    '%5c%5cserver',
    'C%3a/x',
    'a%00.txt',
    '%252e%252e%252fx',
    '%43:/x',
    'docs/../%43:',
  ],
  look_alike: [
    '．．/x',
    '․․/x',
    '‥/x',
    '.\u200b./x',
    '..∕x',
    'a⁄b',
    'a／b',
    'a＼b',
    '／etc',
    'C：/x',
    'Ｃ:/x',
    '℀',
  ],
  percent: ['docs/%20a', 'docs/100%25.txt', '%2eenv', '%u002eenv', 'docs/%41', '%64ocs/a', '%252eenv'],
  variable: [
    '$HOME/x',
    '$home/x',
    'docs/$HOME',
    'docs/${X}',
    'docs/$(id)',
    'docs/`id`',
    '%APPDATA%/x',
    'a/%x_y%',
  ],
  home: ['~', '~/x', '~root/x', '~+/x', '~/../docs/a', 'docs/../~/x', 'docs/a/../../~root'],
  control: ['docs/a\nb', 'docs/\x1b[2J', 'a\x7f', 'a\tb', 'docs/\u0085', 'a\u2028b', '\r'],
  invisible: [
    'a\u202eb',
    'docs/\u200c.env',
    '.g\u200cit/config',
    'a\u00adb',
    '\ufeffdocs',
    '\u2066a',
    'a\ufe0f',
    'a\u3164',
  ],
  stream: [
    'a.md:stream',
    'docs/a:b.md',
    'docs/C:/x',
    'docs/a.md::$DATA',
    'docs/12:30',
    'docs:$I30:$INDEX_ALLOCATION/a',
    '$env:HOME/x',
  ],
  device: [
    'CON',
    'docs/nul',
    'aux.md',
    'docs/COM1.txt',
    'lpt9',
    'com¹',
    'docs/Prn /a',
    'NUL.tar.gz',
    'conin$',
    'con .a',
  ],
  short_name: ['PROGRA~1', 'docs/SECRET~1.MD', 'guide~1', 'ENV~1/x', 'a~10'],
  edges: ['docs./a', 'docs /a', 'docs/a.', 'docs/a ', ' a', '...', 'docs/a\u00a0', 'docs/a\u3000'],
  wildcard: ['docs/*', 'docs/a?.md', '**/x', 'docs/<<', 'docs/a"', 'a>b', 'a|b', 'docs/{a,b}', 'docs/{1..9}'],
  alike: [
    '．env',
    'docs/․env',
    'ＣＯＮ',
    'docs/ｎul.md',
    '～/x',
    '＄HOME',
    'docs/ＰＲＯＧＲＡ～１',
    '。env',
    'ꓸenv',
  ],
  hidden: [
    '.env',
    'docs/.env',
    '.git/config',
    '.guide/.x',
    'docs/.a/b',
    '..namedfork/rsrc',
    '.Guide/a',
    '.npmrc',
  ],
  too_long: ['n'.repeat(256), 'ü'.repeat(128), 'n/'.repeat(2049), 'x'.repeat(1_000_000)],
  too_deep: ['n/'.repeat(257)],
};

const roots = ['/home/me/project', 'C:\\Users\\me\\project', null] as const;

/**
 * On Linux and macOS these are names like others, and are taken as they are; not those that a program may fill in or
 * decode to what lies elsewhere or is hidden.
 */
const literalOnPosix: readonly string[] = (
  ['device', 'edges', 'percent', 'short_name', 'stream', 'variable', 'wildcard'] as const
)
  .flatMap((kind) => refused[kind]!)
  .filter((path) => !/^(?:\$|%|\.\.\.$)/.test(path) || path.startsWith('%64'));

for (const [kind, paths] of Object.entries(refused) as [PolicyKind, string[]][])
  test(`paths of the client's are refused as ${kind}, for reading and for listing`, () => {
    for (const root of roots) {
      const policy = createPathPolicy({ root, read: ['.'], list: null });
      for (const path of paths) {
        if (root === roots[0] && (literalOnPosix.includes(path) || path in otherOnPosix)) continue;
        assert.throws(() => policy.judge(path, 'read'), refuses(kind, path), path.slice(0, 80));
        assert.throws(() => policy.judge(path, 'list'), refuses(kind, path), path.slice(0, 80));
      }
    }
    recordProof('E4:hostile-forms-never-lead-outside');
  });

test('what comes out once ".." is resolved is refused as if it had been given, for every kind', () => {
  const seen = new Set<PolicyKind>();
  for (const root of roots) {
    const policy = createPathPolicy({ root, read: ['.'], list: null });
    const findKind = (path: string): PolicyKind | null => {
      try {
        policy.judge(path, 'read');
        return null;
      } catch (error) {
        return (error as WorkcrateError).details['kind'] as PolicyKind;
      }
    };
    for (const [kind, paths] of Object.entries(refused) as [PolicyKind, string[]][])
      for (const path of paths) {
        // Slashes after a ".." are single ones; names that a ".." takes away are checked where they are.
        if (path.startsWith('/') || (kind !== 'traversal' && path.split('/').includes('..'))) continue;
        seen.add(kind);
        for (const before of ['docs/../', './a//b/.././../'])
          assert.equal(findKind(before + path), findKind(path), `${before}${path}`.slice(0, 80));
      }
  }
  assert.deepEqual(
    Object.keys(refused).filter((kind) => !seen.has(kind as PolicyKind)),
    ['absolute'],
  );
  recordProof('E4:hostile-forms-never-lead-outside');
});

/** What is refused there for another reason. */
const otherOnPosix: Readonly<Record<string, PolicyKind>> = { '$env:HOME/x': 'variable', '...': 'hidden' };

test('what is a plain name on Linux and macOS is taken as it is where the project is there', () => {
  const policy = createPathPolicy({ root: '/home/me/project', read: ['.'], list: null });
  const names =
    'What?.md a*b "q" a|b <x> a~1.md dot. aux.md con.md 100%25.md $HOME.md `x` a:b $(id) {a,b} x;y'.split(
      ' ',
    );
  const all = [...literalOnPosix, ...names.map((name) => `docs/${name}`), "docs/ 'it' ", 'docs/end '];
  assert.ok(all.length > 60);
  for (const path of all) {
    assert.deepEqual(policy.judge(path, 'read'), { relative: path, absolute: `/home/me/project/${path}` });
    assert.equal(policy.judge(`/home/me/project/${path}`, 'list').relative, path);
  }
  for (const [path, kind] of Object.entries(otherOnPosix))
    assert.throws(() => policy.judge(path, 'read'), refuses(kind, path), path);
  // Those that lead out, or to what is hidden, are refused there too.
  for (const path of [
    '$HOME/x',
    '`id`/x',
    '%APPDATA%/x',
    '%2eenv',
    'docs/%2Eenv',
    'docs/%25%32%65env',
    'docs/a:b/%2e%2e/x',
    'docs/../a:',
    '%43:/x',
    'Ｃ:/x',
    '/home/me/project/docs/../a:',
  ])
    assert.throws(() => policy.judge(path, 'read'), /refused/, path);
  recordProof('E4:legal-names-of-posix-pass');
});

test('a name that only Windows refuses is refused elsewhere with the true reason and another way', () => {
  for (const root of [roots[1], roots[2]]) {
    const policy = createPathPolicy({ root, read: ['.'], list: null });
    for (const name of [
      'What?.md',
      'a"b',
      'a|b',
      'a<b',
      'a:b',
      'aux.md',
      'a~1.md',
      'dot.',
      'end ',
      '100%25.md',
      '$HOME.md',
    ])
      assert.throws(
        () => policy.judge(`docs/${name}`, 'read'),
        ({ message }: Error) => /request_upload.*Linux or macOS/.test(message) && !/wildcard;/.test(message),
        name,
      );
  }
});

/** E4: leaving the project is a violation, and what stays inside is a mistake. */
const leavingKinds: ReadonlySet<PolicyKind> = new Set<PolicyKind>([
  'traversal',
  'absolute',
  'unc',
  'drive',
  'nul',
  'encoded',
  'look_alike',
  'variable',
  'home',
  'alike',
]);

for (const [kind, paths] of Object.entries(refused) as [PolicyKind, string[]][]) {
  if (kind === 'backslash') continue;
  const isViolation = leavingKinds.has(kind);
  test(`a path that is refused as ${kind} is a ${isViolation ? 'violation' : 'mistake'}`, () => {
    const policy = createPathPolicy({ root: null, read: ['.'], list: null });
    for (const path of paths) {
      const check = isViolation ? violates(kind, path) : isMistaken(kind, path);
      assert.throws(() => policy.judge(path, 'read'), check, path.slice(0, 80));
    }
  });
}

test('a backslash is a mistake where the path stays inside, and a violation where it leads out on Windows', () => {
  const policy = createPathPolicy({ root: '/home/me/project', read: ['.'], list: null });
  for (const path of ['docs\\a', 'docs\\deep\\a.md', 'docs/a\\b'])
    assert.throws(() => policy.judge(path, 'read'), isMistaken('backslash', path), path);
  for (const path of ['..\\x', 'docs/..\\..\\x', '\\etc', 'docs\\..\\..\\x', 'docs\\.. \\x'])
    assert.throws(() => policy.judge(path, 'read'), violates('backslash', path), path);
});

test('a .. that stays inside is resolved, and the path that comes out is judged', () => {
  const policy = createPathPolicy({ root: '/home/me/project', read: null, list: null });
  for (const [path, relative] of [
    ['docs/../docs/a.md', 'docs/a.md'],
    ['x/../docs/./a.md', 'docs/a.md'],
    ['docs/deep/er/../../a.md', 'docs/a.md'],
    ['docs//b/../a.md', 'docs/a.md'],
    ['/home/me/project/src/../docs/a.md', 'docs/a.md'],
    ['src/..//docs', 'docs'],
  ] as const)
    assert.equal(policy.judge(path, 'read').relative, relative, path);
  for (const path of ['docs/../secret', 'docs/..', 'docs/../docs-secret/a'])
    assert.throws(() => policy.judge(path, 'read'), isMistaken('not_allowed', path), path);
  for (const path of ['/home/me/project/../other/a', '/home/me/project/docs/../../a'])
    assert.throws(() => policy.judge(path, 'read'), violates('traversal', path), path);
  recordProof('E4:dot-dot-inside-resolved');
});

test('the tables name more than eighty hostile forms', () => {
  assert.ok(Object.values(refused).flat().length > 80);
});

test('case is not folded: what another system takes for an allowed name is refused', () => {
  const policy = createPathPolicy({ root: null, read: null, list: null });
  for (const path of [
    'SRC/x',
    'Docs/a',
    'Docs-Secret/a',
    'doc\u017f/a',
    '.GUIDE/a',
    'te\u0455ts/a',
    'ｄocs/a',
    'doc\u0073\u0301/a',
  ])
    assert.throws(() => policy.judge(path, 'read'), isMistaken('not_allowed', path), path);
  recordProof('E4:no-case-folding');
});

const honest = [
  'docs/a.md',
  'a-b_c.d.e',
  'src/app/[id]/[[...slug]]/page.tsx',
  'src/routes/users.$id.tsx',
  'docs/~$report.docx',
  'docs/a~',
  'docs/(draft) a, b & c = d + e #1 @me!.txt',
  "docs/it's 100% done.md",
  'docs/第一章：介绍？.md',
  'docs/日本。md',
  'docs/½ cup.md',
  'docs/e\u0301 and é.md',
  'docs/❤\ufe0f.md',
  'docs/console.md',
  'docs/com10.md',
  'docs/-rf',
  'docs/a..b',
  '.guide/a',
  '.todo/a/b',
  `docs/${'n'.repeat(255)}`,
];

test('honest names of many systems and tongues pass as they are', () => {
  const policy = createPathPolicy({ root: '/p/q', read: ['.'], list: null });
  for (const path of honest)
    assert.deepEqual(policy.judge(path, 'read'), { relative: path, absolute: `/p/q/${path}` });
});

test('a refusal shows a hostile path escaped and cut', () => {
  const policy = createPathPolicy({ root: null, read: null, list: null });
  const path = `a\u202e\u2028\n${'x'.repeat(240)}`;
  assert.throws(
    () => policy.judge(path, 'read'),
    ({ message }: Error) => message.length < 450 && message.includes('a\\u202e\\u2028\\nx'),
  );
});
