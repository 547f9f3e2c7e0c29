import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync, existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { asWorkcrateError, isWorkcrateError } from '../../platform/errors.ts';
import type { Workspace } from '../../ports/sandbox/sandbox.ts';
import { exchanging, noExchange } from './exchange.testing.ts';
import { toInsidePath, parseWorkingDir, ensureFolder } from './working-dir.ts';
import { recordProof } from '../../../test/requirements/requirements.testing.ts';

const server = ['/data/workcrate', '/Homes/ada', '/tmp/server'];
const parse = (path: string): string => toInsidePath(parseWorkingDir(path, server));

const allowed: Record<string, string> = {
  data: '/workspace/data',
  './data/': '/workspace/data',
  'a//b': '/workspace/a/b',
  '.': '/workspace',
  './~a': '/workspace/~a',
  etc: '/workspace/etc',
  'ünï 東京': '/workspace/ünï 東京',
  'new\nline': '/workspace/new\nline',
  '100%': '/workspace/100%',
  '/workspace': '/workspace',
  '/workspace/': '/workspace',
  '//workspace//a/./b/': '/workspace/a/b',
  '/artifacts/plots': '/artifacts/plots',
  '/workspace/etc': '/workspace/etc',
  '/tmp': '/tmp',
  '/tmp/': '/tmp',
  '/tmp/x': '/tmp/x',
  '~': '/home/user',
  '~/': '/home/user',
  '~/a/b': '/home/user/a/b',
  '~/etc': '/home/user/etc',
  '/home/user': '/home/user',
  '/home//user/x/': '/home/user/x',
};

for (const [given, meant] of Object.entries(allowed))
  test(`${JSON.stringify(given)} is ${meant}`, () => assert.equal(parse(given), meant));

const protectedPaths = [
  ...'/etc /etc/ //etc /etc/passwd /./etc /etc/. /workspace/../etc /tmp/../etc/x /x/../etc'.split(' '),
  ...'/var /var/log /root /root/.ssh /home /home/ada/.aws /proc/self /sys /dev/shm /boot /run'.split(' '),
  ...'/usr/bin /bin /sbin /lib /lib64 /lib32'.split(' '),
  ...'~/.ssh ~/.ssh/ ~//.gnupg ~/.aws ~/.config ~/.config/x ~root ~root/.ssh /home/user/.ssh'.split(' '),
  ...'/data/workcrate /data/workcrate/ /data/workcrate/files /data/x/../workcrate'.split(' '),
  ...'/Homes/ada /Homes/ada/.ssh /tmp/server /tmp/server/logs'.split(' '),
];

for (const path of protectedPaths)
  test(`${path} is refused as protected`, () => assert.throws(() => parse(path), refused('protected')));

const allowedFolders = /\/workspace.*\/artifacts.*\/tmp.*~.*client_files.*request_upload/;
const refusedWithAllowed =
  (kind: string) =>
  (error: Error): boolean =>
    refused(kind)(error) && allowedFolders.test(error.message);

const hostile: [string, string][] = [
  ['..', 'traversal'],
  ['~/..', 'traversal'],
  ['~/../etc', 'traversal'],
  ['~/a/../.ssh', 'traversal'],
  ['../x', 'traversal'],
  ['a/../../x', 'traversal'],
  ['/workspace/a/..', 'traversal'],
  ['/workspace/..', 'traversal'],
  ['/artifacts/../workspace', 'traversal'],
  ['a\0b', 'nul'],
  ['/etc\0/workspace', 'nul'],
  ['/workspace/\0', 'nul'],
  ['/workspace/%2e%2e/x', 'encoded'],
  ['%2e%2e%2fetc', 'encoded'],
  ['/workspace/a%2f..%2f..%2fetc', 'encoded'],
  ['/workspace/\uff0e\uff0e/etc', 'look_alike'],
  ['a\u2215b', 'look_alike'],
  ['a\\b', 'backslash'],
  ['C:/x', 'drive'],
  ['\ud800', 'not_unicode'],
  ['x'.repeat(256), 'too_long'],
  ['a/'.repeat(300), 'too_deep'],
];

for (const [path, kind] of hostile)
  test(`${JSON.stringify(path.slice(0, 40))} is refused as ${kind}`, () =>
    assert.throws(() => parse(path), refusedWithAllowed(kind)));

test('every refusal of a working_dir says which folders are allowed', () => {
  const kinds = new Set(hostile.map(([, kind]) => kind));
  assert.ok(kinds.size > 8, [...kinds].join(' '));
  for (const [path, kind] of hostile)
    assert.throws(() => parse(path), refusedWithAllowed(kind), path.slice(0, 40));
  assert.throws(() => parse('/nowhere'), { code: 'path_not_found', message: allowedFolders });
  const home = mkdtempSync(join(tmpdir(), 'workcrate-dir-'));
  try {
    const place = {
      uid: null,
      workspace: join(home, 'workspace'),
      artifacts: join(home, 'artifacts'),
      packages: null,
    };
    for (const folder of ['workspace', 'artifacts']) mkdirSync(join(home, folder));
    writeFileSync(join(place.workspace, 'file'), '');
    symlinkSync('/etc', join(place.workspace, 'link'));
    for (const path of ['file', 'file/below', 'link', 'link/below'])
      assert.throws(() => settlingIn(place)(path), { message: allowedFolders }, path);
  } finally {
    rmSync(home, { recursive: true });
  }
  recordProof('D6:refusal-says-what-is-allowed');
});

for (const path of ['/', '//', '/.', '/etcetera', '/varnish/x', '/data', '/data/workcrate2', '/nowhere'])
  test(`${path} is not there inside, and the answer says what is`, () =>
    assert.throws(() => parse(path), {
      code: 'path_not_found',
      message: /\/workspace.*\/artifacts.*\/tmp.*~.*client_files.*request_upload/,
    }));

test('a home of this machine is not the one inside, though it may be called the same', () => {
  const own = ['/home/user'];
  assert.throws(() => parseWorkingDir('/home/user/x', own), refused('protected'));
  assert.equal(toInsidePath(parseWorkingDir('~/x', own)), '/home/user/x');
});

test('whatever is given is in one of the four folders or refused', () => {
  const part = fc.oneof(
    fc.constantFrom(
      '..',
      '.',
      '',
      '~',
      'etc',
      'workspace',
      'artifacts',
      'tmp',
      '%2e%2e',
      '\0',
      'a',
      '\u2025',
    ),
    fc.string({ unit: 'binary', maxLength: 5 }),
  );
  fc.assert(
    fc.property(fc.array(part, { minLength: 1, maxLength: 8 }), (parts) => {
      try {
        const meant = parse(parts.join('/'));
        assert.match(meant, /^\/(?:workspace|artifacts|tmp|home\/user)(?:\/|$)/);
        assert.ok(!meant.split('/').includes('..'));
      } catch (error) {
        assert.ok(isWorkcrateError(error, 'path_refused') || isWorkcrateError(error, 'path_not_found'));
      }
    }),
  );
  recordProof('D6:folders-of-the-sandbox');
});

test('what leads through a link is refused, wherever that leads, and nothing is made through one', () => {
  const home = mkdtempSync(join(tmpdir(), 'workcrate-dir-'));
  try {
    const place = {
      uid: null,
      workspace: join(home, 'workspace'),
      artifacts: join(home, 'artifacts'),
      packages: null,
    };
    const settle = settlingIn(place);
    for (const folder of ['workspace/real/deep', 'artifacts', 'secret'])
      mkdirSync(join(home, folder), { recursive: true });
    writeFileSync(join(place.workspace, 'file'), '');
    const links = {
      in: 'real/deep',
      abs: '/etc',
      out: '../secret',
      loop: 'loop',
      dead: 'nothing',
      round: '../workspace',
    };
    for (const [name, target] of Object.entries(links)) symlinkSync(target, join(place.workspace, name));
    assert.equal(settle('real/deep'), '/workspace/real/deep');
    assert.throws(() => settle('in'), {
      code: 'path_refused',
      message: /"\/workspace\/in" .*name the folder that the link leads to/,
    });
    assert.equal(settle('new/er'), '/workspace/new/er');
    assert.ok(existsSync(join(place.workspace, 'new/er')));
    assert.equal(settle('/artifacts/plots'), '/artifacts/plots');
    assert.ok(existsSync(join(place.artifacts, 'plots')));
    for (const path of [
      'in',
      'abs',
      'abs/x',
      'out',
      'out/new',
      'loop',
      'dead',
      'dead/x',
      'in/new',
      'round',
      '/workspace/out',
    ])
      assert.throws(() => settle(path), refused('link'), path);
    assert.throws(() => settle('file'), refused('not_folder'));
    assert.throws(() => settle('file/x'), isWorkcrateError);
    assert.ok(!existsSync(join(home, 'secret/new')) && !existsSync(join(place.workspace, 'nothing')));
  } finally {
    rmSync(home, { recursive: true });
  }
  recordProof('D6:links-and-tilde-resolved');
});

test(
  'a folder that is exchanged for a link tells nothing of this machine',
  { skip: noExchange },
  async () => {
    const home = mkdtempSync(join(tmpdir(), 'workcrate-dir-'));
    try {
      const place = {
        uid: null,
        workspace: join(home, 'workspace'),
        artifacts: join(home, 'artifacts'),
        packages: null,
      };
      for (const folder of ['workspace/prey/deep', 'artifacts', 'out-of-bounds/deep'])
        mkdirSync(join(home, folder), { recursive: true });
      symlinkSync('../out-of-bounds', join(place.workspace, 'link'));
      const settle = settlingIn(place);
      const seen = new Map<string, number>();
      {
        await using _attacker = await exchanging(
          join(place.workspace, 'prey'),
          join(place.workspace, 'link'),
        );
        for (let turn = 0; turn < 20_000; turn++) {
          const outcome = told(() => settle(turn % 2 === 0 ? 'prey' : 'prey/deep'));
          seen.set(outcome, (seen.get(outcome) ?? 0) + 1);
        }
      }
      const outcomes = [...seen.keys()];
      assert.deepEqual(
        outcomes.filter((outcome) => outcome.includes('out-of-bounds') || outcome.includes(home)),
        [],
      );
      assert.deepEqual(
        outcomes.filter((outcome) => outcome.startsWith('/')).sort(),
        ['/workspace/prey', '/workspace/prey/deep'],
        'no other folder is ever settled on',
      );
      assert.ok(outcomes.some((outcome) => /leads through a link/.test(outcome)));
    } finally {
      rmSync(home, { recursive: true });
    }
  },
);

function settlingIn(place: Workspace): (path: string) => string {
  return (path) => {
    const folder = parseWorkingDir(path, []);
    ensureFolder(place, folder);
    return toInsidePath(folder);
  };
}

/** All that a caller could get to see. */
function told(act: () => string): string {
  try {
    return act();
  } catch (error) {
    const { message, details } = asWorkcrateError(error);
    return `${message} ${JSON.stringify(details)}`;
  }
}

function refused(kind: string): (error: unknown) => boolean {
  return (error) => isWorkcrateError(error, 'path_refused') && error.details['kind'] === kind;
}
