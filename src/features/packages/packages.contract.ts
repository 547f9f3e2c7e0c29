import assert from 'node:assert/strict';
import { existsSync, globSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { eventually } from '../../platform/eventually.testing.ts';
import { recordProof } from '../../../test/requirements/requirements.testing.ts';
import type { PackageLanguage } from '../../ports/sandbox/environments.ts';
import type { PackagesOptions } from './packages.ts';
import {
  startNodeRegistry,
  startPythonIndex,
  type TestNodePackage,
  type TestRegistry,
  type TestWheel,
} from './registries.testing.ts';
import {
  ada,
  bob,
  findMissingNpm,
  findMissingPip,
  nameAll,
  openPackageRoom,
  type PackageRoom,
  type RoomParts,
} from './room.testing.ts';

export type MakeParts = () => Promise<RoomParts>;

const wheels: readonly TestWheel[] = [
  { name: 'alpha', version: '1.0' },
  { name: 'alpha', version: '2.0', requires: ['beta>=1'] },
  { name: 'beta', version: '1.5' },
  { name: 'beta', version: '1.6' },
  { name: 'gamma', version: '1.0', requires: ['beta<1'] },
  {
    name: 'tool_kit',
    version: '3.1',
    files: {
      'tool_kit/__init__.py': 'def main(): print("from the tool kit")\n',
      'tool_kit-3.1.dist-info/entry_points.txt': '[console_scripts]\nuse-kit = tool_kit:main\n',
    },
  },
  { name: 'sourced', version: '1.0', kind: 'sdist' },
  { name: 'liar', version: '1.0', sha256: '0'.repeat(64) },
  {
    name: 'climbing',
    version: '1.0',
    members: [{ name: '../../../../escaped.py', bytes: Buffer.from('x') }],
  },
  { name: 'absolute', version: '1.0', members: [{ name: '/tmp/escaped.py', bytes: Buffer.from('x') }] },
  {
    name: 'linking',
    version: '1.0',
    members: [
      {
        name: 'linking/passwd',
        bytes: Buffer.from('/etc/passwd'),
        central: { attributes: 0o120777 * 65536 },
      },
    ],
  },
  { name: 'bomb', version: '1.0', members: makeBombMembers() },
  { name: 'deep', version: '1.0', members: makeDeepMembers() },
  { name: 'endless', version: '1.0', delayMs: Infinity },
];

/** Folders so deep that nobody counts them, and then 1 GB of zeros. */
function makeDeepMembers() {
  const bytes = Buffer.alloc(50 * 1024 ** 2);
  const deep = { name: `deep/${'d/'.repeat(300)}file`, bytes: Buffer.from('x') };
  return [deep, ...Array.from({ length: 20 }, (_, at) => ({ name: `deep/${at}`, bytes, method: 8 }))];
}

/** 300 MB of zeros in about as many KB. */
function makeBombMembers() {
  const bytes = Buffer.alloc(10 * 1024 ** 2);
  return Array.from({ length: 30 }, (_, at) => ({ name: `bomb/${at}`, bytes, method: 8 }));
}

const nodePackages: readonly TestNodePackage[] = [
  { name: 'aa', version: '1.0.0' },
  { name: 'aa', version: '1.1.0', dependencies: { bb: '^1.0.0' } },
  { name: 'bb', version: '1.2.0' },
  {
    name: '@scope/tool',
    version: '1.0.0',
    files: { 'main.js': '#!/usr/bin/env node\nconsole.log("from the tool");\n' },
    more: {
      bin: { 'use-tool': 'main.js' },
      scripts: { postinstall: 'touch /tmp/ran; echo ran > ../../ran' },
    },
  },
  { name: 'endless', version: '1.0.0', isEndless: true },
  { name: 'liar', version: '1.0.0', integrity: `sha512-${Buffer.alloc(64).toString('base64')}` },
  {
    name: 'climbing',
    version: '1.0.0',
    files: { 'main.js': '', '../../../escaped.js': 'x' },
    links: { 'package/passwd': '/etc/passwd' },
  },
];

/**
 * What has to be true of packages in every backend. What pip and npm do by themselves is the same everywhere, and is tried
 * in one of them.
 */
export function packagesContract(name: string, make: MakeParts): void {
  describe(`packages in ${name}`, { timeout: 600_000 }, () => {
    pythonContract(make, name === 'bubblewrap');
    nodeContract(make, name === 'bubblewrap');
    if (name !== 'subprocess') secretsContract(make);
  });
}

interface Scene extends AsyncDisposable {
  readonly room: PackageRoom;
  readonly registry: TestRegistry;
}

/** A room and a registry for all tests of a `describe`. */
function useScene(open: () => Promise<Scene>): () => Scene {
  let scene: Scene | null = null;
  before(async () => void (scene = await open()));
  after(async () => scene?.[Symbol.asyncDispose]());
  return () => scene!;
}

async function openScene(
  make: MakeParts,
  start: () => Promise<TestRegistry>,
  toOptions: (registry: TestRegistry) => Partial<PackagesOptions>,
): Promise<Scene> {
  await using opened = new AsyncDisposableStack();
  const registry = opened.use(await start());
  const room = opened.use(await openPackageRoom(await make(), toOptions(registry)));
  const all = opened.move();
  return { room, registry, [Symbol.asyncDispose]: () => all.disposeAsync() };
}

/** Files that an install has left, but for what runs see and the one before. */
async function listLeft({ room }: Scene, language: PackageLanguage): Promise<string[]> {
  const { packages } = await room.place(ada.user);
  const environments = readdirSync(join(packages!, language)).filter((each) => /^[0-9a-f]{12}$/.test(each));
  const scratch = readdirSync(join(packages!, 'cache')).filter((each) => each.startsWith('scratch'));
  return [...environments, ...scratch];
}

function pythonContract(make: MakeParts, isWhole: boolean): void {
  describe('for Python', { skip: findMissingPip() }, () => {
    let aheadMs = 0;
    const clock = (): number => Date.now() + aheadMs;
    const scene = useScene(() =>
      openScene(
        make,
        () => startPythonIndex(wheels),
        ({ url }) => ({ pipIndexUrl: url, clock }),
      ),
    );

    it('what is installed is seen by the next run of that user and of no other, and can be removed', async () => {
      const { room } = scene();
      const look = 'import alpha, beta\nprint(alpha.version, beta.version)';
      assert.match(await room.run('python', look), /No module named 'alpha'/);
      const installed = await room.install('python', ['alpha']);
      assert.equal(nameAll(installed.added), 'alpha 2.0, beta 1.6');
      assert.deepEqual(installed.current!.requested, ['alpha']);
      assert.equal(await room.run('python', look), '2.0 1.6\n');
      assert.match(await room.run('python', look, bob), /No module named 'alpha'/);
      const removed = await room.remove('python', ['alpha']);
      assert.equal(nameAll(removed.removed), 'alpha 2.0, beta 1.6');
      assert.match(await room.run('python', look), /No module named 'alpha'/);
      recordProof('D13:into-the-environment-of-the-user', 'D13:seen-by-runs-at-once');
    });

    if (isWhole)
      it('another install keeps versions that are there, and the same again does nothing', async () => {
        const { room, registry } = scene();
        await room.install('python', ['beta==1.5']);
        const more = await room.install('python', ['alpha', 'tool-kit']);
        assert.equal(nameAll(more.added), 'alpha 2.0, tool-kit 3.1');
        assert.deepEqual(more.current!.requested, ['alpha', 'beta==1.5', 'tool-kit']);
        assert.equal(await room.run('bash', 'use-kit'), 'from the tool kit\n');
        const asked = registry.asked.length;
        const again = await room.install('python', ['tool_kit', 'alpha']);
        assert.deepEqual([again.isChanged, again.added, registry.asked.length], [false, [], asked]);
        const other = await room.install('python', ['alpha==1.0']);
        assert.deepEqual([nameAll(other.added), nameAll(other.removed)], ['alpha 1.0', 'alpha 2.0']);
      });

    if (isWhole)
      it('a clock that is ahead takes away nothing that runs may still use', async () => {
        const { room } = scene();
        await room.install('python', ['beta==1.5']);
        const { current } = await room.install('python', ['beta==1.6']);
        assert.ok((await listLeft(scene(), 'python')).includes(current!.previous!));
        aheadMs = 2 * 3_600_000;
        await assert.rejects(room.install('python', ['no-such-thing']), { code: 'package_not_found' });
        aheadMs = 0;
        assert.ok((await listLeft(scene(), 'python')).includes(current!.previous!));
      });

    it('the network leads to the registry, and nowhere else', async () => {
      const { room, registry } = scene();
      const { host } = new URL(registry.url);
      await room.install('python', ['beta==1.6']);
      assert.ok(room.proxy.asked.length > 0 && room.proxy.asked.every((line) => line.includes(host)));
      assert.deepEqual(room.proxy.refused, []);
      assert.equal(await room.run('python', tryNetwork), '[]\n');
      recordProof('D13:network-to-the-registry-alone');
    });

    const failures: readonly (readonly [why: string, names: string[], code: string, said: RegExp])[] = [
      ['a name that exists nowhere', ['no-such-thing'], 'package_not_found', /nothing for "no-such-thing"/],
      ['a version that there is not', ['alpha==9'], 'package_not_found', /nothing for "alpha==9"/],
      ['one that has only sources', ['sourced'], 'package_not_found', /only the source.*--packages-source/],
      ['versions that do not go together', ['alpha==2.0', 'gamma'], 'install_failed', /do not go together/],
      ['a file that is not the one announced', ['liar'], 'install_failed', /hashes differ/],
      ['a wheel that climbs out', ['climbing'], 'install_failed', /outside the target/],
      ['a wheel with absolute paths', ['absolute'], 'install_failed', /outside the target/],
    ];
    for (const [why, names, code, said] of isWhole ? failures : failures.slice(0, 1))
      it(`${why} is said, and nothing is changed`, async () => {
        const { room } = scene();
        const { current } = await room.install('python', ['beta']);
        await assert.rejects(room.install('python', names), { code, message: said });
        const { languages } = await room.packages.list(ada);
        assert.equal(languages[0]!.current?.id, current!.id);
        assert.match(await room.run('python', 'import beta; print(beta.version)'), /^1\.[56]\n$/);
        assert.ok((await listLeft(scene(), 'python')).length <= 2);
        assert.ok(!existsSync('/tmp/escaped.py'));
        recordProof('D13:a-failed-install-changes-nothing');
      });

    if (isWhole)
      it('a link in a wheel is a file, and leads nowhere', async () => {
        const { room } = scene();
        await room.install('python', ['linking']);
        const code =
          'import os, linking; print(os.path.islink(os.path.dirname(linking.__file__) + "/passwd"))';
        assert.equal(await room.run('python', code), 'False\n');
        await room.remove('python', ['linking']);
      });

    it('a wheel that is a bomb ends at the limit of the disk', async () => {
      const { room } = scene();
      await assert.rejects(room.install('python', ['bomb']), {
        code: 'quota_exceeded',
        message: /do not fit/,
      });
      assert.equal(await room.run('python', 'print(1)'), '1\n');
      assert.ok((await listLeft(scene(), 'python')).length <= 2);
    });

    if (isWhole)
      it('a wheel that is a bomb in folders that nobody can count ends there too', async () => {
        const { room } = scene();
        const { packages } = await room.place(ada.user);
        let most = 0;
        const timer = setInterval(() => (most = Math.max(most, measureFolder(packages!))), 100).unref();
        const installing = room.install('python', ['deep']);
        await assert.rejects(installing, { code: 'quota_exceeded', message: /do not fit/ });
        clearInterval(timer);
        assert.ok(most < 700 * 1024 ** 2, `${most} bytes were there`);
        assert.equal(await room.run('python', 'print(1)'), '1\n');
      });

    it('an install that is cancelled ends, and the next one is done', async () => {
      const { room, registry } = scene();
      const stop = new AbortController();
      const cancelled = room.install('python', ['endless'], ada, { cancel: stop.signal });
      const waiting = room.install('python', ['beta==1.5']);
      while (!registry.asked.includes('/files/endless-1.0-py3-none-any.whl'))
        await new Promise((resolve) => setTimeout(resolve, 20));
      stop.abort();
      await assert.rejects(cancelled, { code: 'cancelled' });
      assert.ok((await waiting).current!.requested.includes('beta==1.5'));
      assert.equal(await room.run('python', 'import beta; print(beta.version)'), '1.5\n');
      assert.ok((await listLeft(scene(), 'python')).length <= 2);
    });
  });
}

/** Everything that a run can read: files, and the environments and command lines of processes. */
const lookForSecret = `import base64, os
wanted = [b"OPERATOR" + b"SECRET", base64.b64encode(b"me:OPERATOR" + b"SECRET")]
found = []
seen = 0
def look(path):
    global seen
    try:
        with open(path, "rb") as file: text = file.read(4000000)
    except OSError: return
    seen += 1
    if any(each in text for each in wanted): found.append(path)
for top in ("/packages", "/node_modules", "/tmp", "/home", "/workspace", "/artifacts", "/dev/shm", "/etc", "/opt/workcrate/inside", "/run", "/var", "/root"):
    for folder, _, names in os.walk(top):
        for name in names:
            if not os.path.islink(folder + "/" + name): look(folder + "/" + name)
for pid in filter(str.isdigit, os.listdir("/proc")):
    for name in ("cmdline", "environ"): look("/proc/%s/%s" % (pid, name))
print(seen > 10, found, os.path.exists("/packages/cache"))`;

function secretsContract(make: MakeParts): void {
  const cases = [
    ['python', findMissingPip, () => startPythonIndex(wheels), 'pipIndexUrl', 'me:OPERATORSECRET@'],
    ['node', findMissingNpm, () => startNodeRegistry(nodePackages), 'npmRegistry', ':OPERATORSECRET@'],
  ] as const;
  for (const [language, findMissing, start, setting, credentials] of cases)
    it(
      `a run sees no credentials of the registry while packages of ${language} are installed`,
      { skip: findMissing() },
      async () => {
        await using scene = await openScene(make, start, ({ url }) => ({
          [setting]: url.replace('//', `//${credentials}`),
        }));
        const { room, registry } = scene;
        // Something is there to be seen.
        await room.install(language, language === 'python' ? ['beta'] : ['bb']);
        const stop = new AbortController();
        const endless = room.install(language, ['endless'], ada, { cancel: stop.signal });
        const isAsked = (): boolean => registry.asked.some((path) => /endless.*\.(?:whl|tgz)$/.test(path));
        await Promise.race([eventually(isAsked), endless]);
        const told = await room.run('python', lookForSecret);
        stop.abort();
        await assert.rejects(endless, { code: 'cancelled' });
        assert.equal(told, 'True [] False\n');
        assert.ok(registry.authorized.length > 0 && registry.authorized.every((each) => each !== null));
        recordProof('D13:credentials-of-a-registry-not-in-runs');
      },
    );
}

/** Of the files in `site-packages/deep` of the environments; the folders below are not looked into. */
function measureFolder(packages: string): number {
  const sizes = globSync(`${packages}/python/*/lib/*/site-packages/deep/*`).map(
    (path) => statSync(path, { throwIfNoEntry: false })?.size ?? 0,
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}

const tryNetwork = `import os, socket
print([name for name in os.environ if "proxy" in name.lower()])`;

function nodeContract(make: MakeParts, isWhole: boolean): void {
  describe('for Node', { skip: findMissingNpm() }, () => {
    const scene = useScene(() =>
      openScene(
        make,
        () => startNodeRegistry(nodePackages),
        ({ url }) => ({ npmRegistry: url }),
      ),
    );

    it('what is installed is seen by the next run of that user and of no other, and can be removed', async () => {
      const { room } = scene();
      const look = 'console.log(require("aa").version, require("bb").version)';
      assert.match(await room.run('node', look), /Cannot find module 'aa'/);
      const installed = await room.install('node', ['aa', '@scope/tool']);
      assert.equal(nameAll(installed.added), '@scope/tool 1.0.0, aa 1.1.0, bb 1.2.0');
      assert.equal(await room.run('node', look), '1.1.0 1.2.0\n');
      assert.equal(await room.run('node', 'import aa from "aa"; console.log(aa.version)'), '1.1.0\n');
      assert.equal(await room.run('bash', 'use-tool'), 'from the tool\n');
      assert.match(await room.run('node', look, bob), /Cannot find module 'aa'/);
      const { packages } = await room.place(ada.user);
      assert.ok(!existsSync(join(packages!, 'node', installed.current!.id, 'ran')), 'a script has run');
      const removed = await room.remove('node', ['aa']);
      assert.equal(nameAll(removed.removed), 'aa 1.1.0, bb 1.2.0');
      assert.match(await room.run('node', look), /Cannot find module 'aa'/);
      recordProof('D13:node-packages');
    });

    if (isWhole)
      it('the same again does nothing, and another version replaces the first', async () => {
        const { room, registry } = scene();
        await room.install('node', ['aa@1.0.0']);
        const asked = registry.asked.length;
        const again = await room.install('node', ['aa']);
        assert.deepEqual([again.isChanged, registry.asked.length], [false, asked]);
        const other = await room.install('node', ['aa@^1.1']);
        assert.equal(nameAll(other.added), 'aa 1.1.0, bb 1.2.0');
      });

    const failures: readonly (readonly [why: string, names: string[], code: string, said: RegExp])[] = [
      ['a name that exists nowhere', ['no-such-thing'], 'package_not_found', /no-such-thing/],
      ['a version that there is not', ['aa@9.0.0'], 'package_not_found', /aa@9/],
      ['a file that is not the one announced', ['liar'], 'install_failed', /hashes differ/],
    ];
    for (const [why, names, code, said] of isWhole ? failures : failures.slice(0, 1))
      it(`${why} is said, and nothing is changed`, async () => {
        const { room } = scene();
        await room.install('node', ['bb']);
        await assert.rejects(room.install('node', names), { code, message: said });
        assert.equal(await room.run('node', 'console.log(require("bb").version)'), '1.2.0\n');
        assert.ok((await listLeft(scene(), 'node')).length <= 2);
      });

    if (isWhole)
      it('a package that climbs out does not get there', async () => {
        const { room } = scene();
        const { current } = await room.install('node', ['climbing']);
        const { packages } = await room.place(ada.user);
        const own = join(packages!, 'node', current!.id);
        assert.deepEqual(readdirSync(join(own, 'node_modules/climbing')).sort(), ['main.js', 'package.json']);
        assert.ok(!existsSync(join(own, 'escaped.js')) && !existsSync(join(packages!, 'escaped.js')));
      });
  });
}
