import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { collectBytes } from '../../../platform/streams.ts';
import { putNodePackages, putPythonModules } from '../environments.testing.ts';
import type { Installation, PackageLanguage } from '../environments.ts';
import type { CellRequest, Language, SandboxSession, Workspace } from '../sandbox.ts';
import { proves, useBench, type Bench, type MakeSandbox } from './harness.contract.ts';

/** Whether runs and sessions see what their user has installed, and whether installs can write what they have to. */
export function packagesContract(make: MakeSandbox): void {
  describe('packages', () => {
    const bench = useBench(make);
    seenPackagesContract(bench);
    installsContract(bench);
  });
}

async function putModules(bench: Bench, user: string, modules: Record<string, string>): Promise<string> {
  return putPythonModules(await bench.place(user), await bench.sandbox.runtime('python'), modules);
}

function seenPackagesContract(bench: Bench): void {
  it('python imports what its user has installed, also as a program, and another user does not', async () => {
    await putModules(bench, 'pia', { 'mine/__init__.py': 'value = 1', 'more.pth': 'further\n' });
    await putModules(bench, 'pia', {
      'mine/__init__.py': 'value = 2',
      'a.pth': 'further\nimport mine; mine.seen = True\n',
      'further/beyond.py': 'value = 3',
    });
    const code = 'import mine, beyond\nprint(mine.value, mine.seen, beyond.value)';
    const asked = { user: 'pia' };
    const got = await bench.run('python', code, asked);
    assert.equal(got.out, '2 True 3\n', got.err);
    const child =
      'import subprocess, sys\nsubprocess.run([sys.executable, "-c", "import mine; print(mine.value)"])';
    assert.equal((await bench.run('python', child, asked)).out, '2\n');
    const shell = await bench.run('bash', 'python3 -c "import mine; print(mine.value)"; hello-there', asked);
    assert.equal(shell.out, '2\nhello from a package\n', shell.err);
    const other = await bench.run('python', 'import mine', { user: 'paul' });
    assert.match(other.err, /No module named 'mine'/);
  });

  it('packages come before those of the system, and after modules beside the code', async () => {
    await putModules(bench, 'order', { 'mine.py': 'value = "installed"' });
    const { inside, host } = await bench.folder('order');
    const asked = { user: 'order', workingDir: inside };
    const places = `import mine, sys
at = sys.path.index(next(path for path in sys.path if "/python/" in path and "current" not in path))
later = [path for path in sys.path if path.endswith("dist-packages")]
print(mine.value, all(at < sys.path.index(path) for path in later), sys.prefix == sys.path[at].split("/lib/")[0])`;
    const got = await bench.run('python', places, asked);
    assert.equal(got.out, 'installed True True\n', got.err);
    writeFileSync(join(host, 'mine.py'), 'value = "beside"', { mode: 0o644 });
    assert.equal((await bench.run('python', 'import mine; print(mine.value)', asked)).out, 'beside\n');
  });

  it('no command and no start file of a package puts itself in the place of an interpreter', async () => {
    const place = await bench.place('hans');
    const names = ['bash', 'sh', 'env', 'node', 'python', 'mkdir'];
    const commands = Object.fromEntries(names.map((name) => [`bin/${name}`, '#!/bin/sh\necho taken\n']));
    const early = { 'sitecustomize.py': 'print("early")', 'mine.py': 'value = 1' };
    putPythonModules(place, await bench.sandbox.runtime('python'), early, commands);
    const asked = { user: 'hans', workingDir: '/tmp/made' };
    assert.equal((await bench.run('bash', 'echo own; node -p 1', asked)).out, 'own\n1\n');
    assert.equal((await bench.run('node', 'console.log("own")', asked)).out, 'own\n');
    assert.equal((await bench.run('python', 'import mine; print("own")', asked)).out, 'own\n');
    for (const [language, code] of [
      ['python', 'print("own")'],
      ['node', 'console.log("own")'],
      ['bash', 'echo own'],
    ] as const) {
      const session = await startSession(bench, language, 'hans');
      assert.equal(await runCell(session, code), 'own\n');
      await session.close();
    }
  });

  it('an environment of another version of Python is not seen, and does no harm', async () => {
    putPythonModules(await bench.place('old'), 'Python 2.7', { 'mine.py': '' });
    const got = await bench.run('python', 'try: import mine\nexcept ImportError: print("none")', {
      user: 'old',
    });
    assert.equal(got.out, 'none\n', got.err);
  });

  it('node requires and imports what its user has installed, from every folder', async () => {
    const packages = {
      mine: 'module.exports = { value: 1, own: require("needed") }',
      needed: 'module.exports = 2',
    };
    putNodePackages(await bench.place('nina'), { ...packages, '@scope/mine': 'module.exports = 3' });
    const { inside, host } = await bench.folder('nina');
    writeFileSync(join(host, 'a.cjs'), 'console.log(require("mine").value)', { mode: 0o644 });
    for (const workingDir of [inside, '/artifacts', '/tmp', '/home/user/deep']) {
      const asked = { user: 'nina', workingDir };
      const code = 'const mine = require("mine"); console.log(mine.value, mine.own, require("@scope/mine"))';
      const required = await bench.run('node', code, asked);
      assert.equal(required.out, '1 2 3\n', `${workingDir}: ${required.err}`);
      const imported = await bench.run('node', 'import mine from "mine"; console.log(mine.own)', asked);
      assert.equal(imported.out, '2\n', `${workingDir}: ${imported.err}`);
    }
    const shell = await bench.run('bash', 'node a.cjs', { user: 'nina', workingDir: inside });
    assert.equal(shell.out, '1\n', shell.err);
    assert.match(
      (await bench.run('node', 'require("mine")', { user: 'paul' })).err,
      /Cannot find module 'mine'/,
    );
  });

  it('a session sees what is installed while it is open, and keeps what it has imported', async () => {
    const session = await startSession(bench, 'python', 'sara');
    const look = 'try:\n  import mine\n  print(mine.value)\nexcept ImportError: print("none")';
    assert.equal(await runCell(session, look), 'none\n');
    await putModules(bench, 'sara', { 'mine.py': 'value = 1' });
    assert.equal(await runCell(session, look), '1\n');
    await putModules(bench, 'sara', { 'mine.py': 'value = 2', 'new.py': 'value = 3' });
    assert.equal(await runCell(session, `${look}\nimport new; print(new.value)`), '1\n3\n');
    await session.close();
    const another = await startSession(bench, 'python', 'sara');
    assert.equal(await runCell(another, look), '2\n');
    await another.close();
  });

  it('a session of Node or Bash sees what is installed while it is open', async () => {
    const node = await startSession(bench, 'node', 'nora');
    const bash = await startSession(bench, 'bash', 'nora');
    const look = 'try { console.log(require("mine")) } catch { console.log("none") }';
    putNodePackages(await bench.place('nora'), { other: 'module.exports = 0' });
    assert.equal(await runCell(node, look), 'none\n');
    assert.equal(await runCell(node, 'await import("mine").catch(() => console.log("none"))'), 'none\n');
    assert.equal(await runCell(bash, 'hello-there 2> /dev/null || echo none'), 'none\n');
    putNodePackages(await bench.place('nora'), { mine: 'module.exports = 1' });
    await putModules(bench, 'nora', { 'mine.py': '' });
    assert.equal(await runCell(node, look), '1\n');
    assert.equal(await runCell(node, 'console.log((await import("mine")).default)'), '1\n');
    assert.equal(await runCell(node, 'import mine from "mine"; console.log(mine)'), '1\n');
    assert.equal(await runCell(bash, 'hello-there'), 'hello from a package\n');
    for (const session of [node, bash]) await session.close();
  });

  proves(bench, 'filesystem', 'no code of a run can change what is installed', async () => {
    const place = await bench.place('wilma');
    await putModules(bench, 'wilma', { 'mine.py': 'value = 1' });
    putNodePackages(place, { mine: '' });
    const code = `for at in python/current/bin python/current python node/current/node_modules/mine node/names cache .
do touch /packages/$at/written 2> /dev/null && echo wrote $at; done
touch /node_modules/written 2> /dev/null && echo wrote; rm -rf /packages/* 2> /dev/null; ls /packages`;
    const got = await bench.run('bash', code, { user: 'wilma' });
    assert.deepEqual(
      got.out
        .split('\n')
        .filter((line) => line !== '')
        .sort(),
      ['node', 'python'],
    );
  });
}

/** Asks for an environment to install into. */
function askInstall(
  { packages, uid }: Workspace,
  language: PackageLanguage,
  npm: string | null = null,
): { readonly install: Installation; readonly folder: string } {
  const environment = randomBytes(6).toString('hex');
  const folder = join(packages!, language, environment);
  mkdirSync(folder, { mode: 0o700 });
  if (uid !== null) chownSync(folder, uid, uid);
  return { install: { language, environment, npm }, folder };
}

function installsContract(bench: Bench): void {
  it('an install writes to its environment and to the cache, and sees nothing that is installed', async () => {
    const place = await bench.place('ida');
    await putModules(bench, 'ida', { 'mine.py': '' });
    const { install, folder } = askInstall(place, 'python');
    const code = `import os, sys
root = os.environ["WORKCRATE_PACKAGES"]
open(root + "/python/${install.environment}/made", "w").write("made")
open(root + "/cache/kept", "w").write("kept")
try:
    import mine
except ImportError: print("sees nothing")`;
    const got = await bench.run('python', code, { user: 'ida', install });
    assert.equal(got.out, 'sees nothing\n', got.err);
    assert.deepEqual(readdirSync(folder), ['made']);
    assert.ok(existsSync(join(place.packages!, 'cache/kept')));
    const other = await bench.run('bash', 'env | grep -c WORKCRATE', { user: 'ida' });
    assert.equal(other.out, '0\n');
  });

  it('an install of Node has npm', async () => {
    const npm = mkdtempSync('/var/tmp/workcrate-npm-');
    try {
      mkdirSync(join(npm, 'bin'), { mode: 0o755 });
      writeFileSync(join(npm, 'bin/npm-cli.js'), 'console.log("npm runs")', { mode: 0o644 });
      chmodSync(npm, 0o755);
      const { install } = askInstall(await bench.place('ida'), 'node', npm);
      const code = 'require(process.env.WORKCRATE_NPM + "/bin/npm-cli.js")';
      const got = await bench.run('node', code, { user: 'ida', install });
      assert.equal(got.out, 'npm runs\n', got.err);
    } finally {
      rmSync(npm, { recursive: true });
    }
  });

  proves(bench, 'filesystem', 'an install can write to no other environment', async () => {
    const place = await bench.place('ida');
    const { folder } = askInstall(place, 'python');
    const { install, folder: own } = askInstall(place, 'python');
    const [theirs, ours] = [folder, own].map((path) => path.split('/').slice(-2).join('/'));
    const code = `cd /packages; for at in ${theirs} ${ours} python node .; do touch $at/x 2> /dev/null; done`;
    await bench.run('bash', code, { user: 'ida', install });
    assert.deepEqual([readdirSync(folder), readdirSync(own)], [[], ['x']]);
    assert.deepEqual(
      readdirSync(place.packages!).filter((name) => name === 'x'),
      [],
    );
  });

  proves(bench, 'disk', 'an install that writes too much is ended', async () => {
    const place = await bench.place('dora');
    const { install } = askInstall(place, 'python');
    const code = `import os
for number in range(40):
    with open("%s/python/${install.environment}/%d" % (os.environ["WORKCRATE_PACKAGES"], number), "wb") as file:
        for part in range(8): file.write(b"x" * 1024 ** 2); file.flush(); os.fsync(file.fileno())
import time; time.sleep(20)`;
    const got = await bench.run('python', code, { user: 'dora', install });
    assert.equal(got.reason, 'disk', got.err);
  });
}

async function startSession(bench: Bench, language: Language, user: string): Promise<SandboxSession> {
  const { inside } = await bench.folder(user);
  return bench.sandbox.startSession({
    id: `sess_${randomBytes(6).toString('hex')}`,
    user,
    place: await bench.place(user),
    language,
    workingDir: inside,
  });
}

async function runCell(session: SandboxSession, code: string): Promise<string> {
  const cell: CellRequest = { code, stdin: '', timeoutMs: 20_000, signal: new AbortController().signal };
  const run = await session.run(cell);
  const [out, err] = await Promise.all([collectBytes(run.stdout), collectBytes(run.stderr), run.ended]);
  return Buffer.concat([out, err]).toString();
}
