import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { chmod, cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { eventually } from '../../../src/platform/eventually.testing.ts';
import { run, temporaryFolder } from './program.testing.ts';

const script = join(import.meta.dirname, '../../../scripts/system-packages.sh');
const tools = ['sh', 'id', 'uname', 'timeout', 'rm', 'chmod', 'cp', 'sleep'];
const needed = ['bwrap', 'python3', 'setpriv', 'unshare', 'mount'];
const wanted = ['dockerd', 'strace'];
/** Wanted too, but there on every machine of these tests. */
const others = [
  'ceph-mon',
  'ceph-osd',
  'radosgw',
  'pg_ctlcluster',
  'nginx',
  'prometheus',
  'sqlite3',
  'openssl',
  'chromium',
  'debootstrap',
];
const policy = '/usr/sbin/policy-rc.d';

/** Puts the commands of the packages in place, as the real one does. */
const obliging = `#!/bin/sh
echo "$@" >> "$RECORD"
for word; do
  case $word in
    bubblewrap) cp /bin/true "\${0%/*}/bwrap" ;;
    docker.io) cp /bin/true "\${0%/*}/dockerd"; ${policy}; echo "policy says $?" >> "$RECORD" ;;
    python3 | strace) cp /bin/true "\${0%/*}/$word" ;;
  esac
done
echo 'Setting up'
`;

const failing = `#!/bin/sh
echo "$@" >> "$RECORD"
echo 'E: Unable to locate package' >&2
exit 100
`;

const endless = `#!/bin/sh
echo $$ >> "$RECORD"
exec sleep 60
`;

/** What goes before a command for it to run as root, or as an ordinary user; null where that cannot be had. */
const root = process.getuid?.() === 0 ? [] : working(where('unshare'), '--map-root-user');
const ordinary =
  process.getuid?.() === 0
    ? working(where('setpriv'), '--reuid', '65534', '--regid', '65534', '--clear-groups')
    : [];

/** Root, whose /usr/sbin and /run are empty and its own, so that nothing on this machine is changed. */
const apart = working(
  where('unshare'),
  '--map-root-user',
  '--mount',
  '/bin/sh',
  '-c',
  `${where('mount')} -t tmpfs none /usr/sbin && ${where('mount')} -t tmpfs none /run && exec "$@"`,
  'sh',
);

function where(name: string): string {
  return spawnSync('/bin/sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).stdout.trim();
}

function working(...prefix: string[]): string[] | null {
  const { status } = spawnSync(prefix[0] || '/nonexistent', [...prefix.slice(1), '/bin/true']);
  return status === 0 ? prefix : null;
}

/** Why a test cannot run here, or false. */
function without(...prefixes: (string[] | null)[]): string | false {
  if (process.platform !== 'linux') return 'the packages are those of Linux';
  return prefixes.includes(null) && 'this user cannot become the other users that this is tried as';
}

/** A machine whose PATH holds what is named and nothing else; its apt-get writes down how it was called. */
async function machine(commands: readonly string[], managers: Record<string, string>) {
  const folder = await temporaryFolder();
  const bin = join(folder.path, 'bin');
  const record = join(folder.path, 'record');
  await mkdir(bin);
  for (const name of tools) await symlink(where(name), join(bin, name));
  for (const name of [...commands, ...others]) await symlink('/bin/true', join(bin, name));
  for (const [name, text] of Object.entries(managers))
    await writeFile(join(bin, name), text, { mode: 0o755 });
  await cp(script, join(folder.path, 'script.sh'));
  await writeFile(record, '');
  for (const path of [folder.path, bin]) await chmod(path, 0o755);
  const env = { PATH: bin, RECORD: record, WORKCRATE_SANDBOX: '' };
  const command = ['/bin/sh', join(folder.path, 'script.sh')];
  return {
    ...folder,
    env,
    command,
    run: (prefix: string[] | null, purpose: string, more: Record<string, string> = {}) =>
      run(purpose.split(' '), { program: [...prefix!, ...command], env: { ...env, ...more } }),
    /** The calls of apt-get, without the options that bound its waiting. */
    async calls(): Promise<string[]> {
      const lines = (await readFile(record, 'utf8')).split('\n');
      return lines.filter((line) => line !== '').map((line) => line.replace(/^-q (-o \S+ )*/, ''));
    },
  };
}

const silent = { code: 0, stdout: '', stderr: '' };

it(
  'where all is there nothing is said and apt-get is not called',
  { skip: without(root, ordinary) },
  async () => {
    await using place = await machine([...needed, ...wanted], { 'apt-get': failing });
    for (const prefix of [root, ordinary])
      for (const purpose of ['start', 'test']) assert.deepEqual(await place.run(prefix, purpose), silent);
    assert.deepEqual(await place.calls(), []);
  },
);

it('a command that is only in sbin counts as there', { skip: without(ordinary) }, async () => {
  await using place = await machine([...needed, 'strace'], { 'apt-get': failing });
  await mkdir(join(place.path, 'sbin'));
  await symlink('/bin/true', join(place.path, 'sbin/dockerd'));
  assert.deepEqual(await place.run(ordinary, 'test'), silent);
});

it('root gets what is missing by apt-get, and is told in one line', { skip: without(root) }, async () => {
  await using place = await machine(['setpriv', 'unshare', 'mount'], { 'apt-get': obliging });
  assert.deepEqual(await place.run(root, 'start'), {
    ...silent,
    stderr:
      'workcrate: installing, for code to run in a sandbox with packages: apt-get install --no-install-recommends bubblewrap python3 python3-pip (Ctrl-C stops it, WORKCRATE_NO_INSTALL=1 leaves it out)\n',
  });
  const calls = await place.calls();
  assert.deepEqual(
    calls.filter((call) => call !== 'update'),
    ['install --no-install-recommends --no-remove -y bubblewrap python3 python3-pip'],
  );
  assert.deepEqual(await place.run(root, 'start'), silent);
});

it('an ordinary user is told the command, and nothing is run', { skip: without(ordinary) }, async () => {
  await using place = await machine(['python3', 'mount', 'strace'], { 'apt-get': obliging });
  const { code, stdout, stderr } = await place.run(ordinary, 'test');
  assert.deepEqual([code, stdout], [0, '']);
  assert.deepEqual(stderr.replaceAll('sudo apt-get update && ', '').split('\n'), [
    'workcrate: code does not run in a sandbox until you install: sudo apt-get install --no-install-recommends bubblewrap util-linux',
    'workcrate: the tests that use them are skipped until you install: sudo apt-get install --no-install-recommends docker.io',
    '',
  ]);
  assert.deepEqual(await place.calls(), []);
});

it(
  'of what the tests need, only the commands that are named are looked for',
  { skip: without(ordinary) },
  async () => {
    await using place = await machine(['python3'], { 'apt-get': obliging });
    assert.deepEqual(await place.run(ordinary, 'test python3 nginx'), silent);
    const { stderr } = await place.run(ordinary, 'test python3 strace');
    assert.match(stderr, /^workcrate: the tests that use them are skipped until you install: .* strace\n$/);
    assert.match((await place.run(ordinary, 'test bwrap')).stderr, / until you install: .* bubblewrap\n$/);
  },
);

it(
  'where apt-get fails, it is tried again with new lists, and the start goes on',
  { skip: without(root) },
  async () => {
    await using place = await machine(needed.slice(1), { 'apt-get': failing });
    const { code, stdout, stderr } = await place.run(root, 'test');
    assert.deepEqual([code, stdout], [0, '']);
    assert.match(
      stderr,
      /that failed; code does not run in a sandbox until you install: .*apt-get install .* bubblewrap$/m,
    );
    assert.match(
      stderr,
      /tests that use them are skipped until you install: .*apt-get install .* docker\.io strace$/m,
    );
    const install = 'install --no-install-recommends --no-remove -y bubblewrap';
    const calls = await place.calls();
    assert.deepEqual(calls.slice(-2), ['update', install]);
    assert.ok(calls.length <= 3);
  },
);

it('WORKCRATE_NO_INSTALL=1 turns it off', { skip: without(root, ordinary) }, async () => {
  await using place = await machine([], { 'apt-get': obliging });
  for (const prefix of [root, ordinary])
    assert.deepEqual(await place.run(prefix, 'test', { WORKCRATE_NO_INSTALL: '1' }), silent);
  assert.deepEqual(await place.calls(), []);
});

it('a server without a sandbox, or with docker, needs no packages', { skip: without(root) }, async () => {
  await using place = await machine([], { 'apt-get': obliging });
  for (const sandbox of ['off', 'docker'])
    assert.deepEqual(await place.run(root, 'start', { WORKCRATE_SANDBOX: sandbox }), silent);
  assert.deepEqual(await place.calls(), []);
});

for (const [manager, command, packages] of [
  ['dnf', 'dnf install', 'moby-engine strace'],
  ['pacman', 'pacman -S', 'docker strace'],
  ['apk', 'apk add', 'docker strace'],
] as const)
  it(`where there is ${manager} its names are told`, { skip: without(root) }, async () => {
    await using place = await machine(needed.slice(1), { [manager]: failing });
    const { code, stderr } = await place.run(root, 'test');
    assert.equal(code, 0);
    assert.match(
      stderr,
      new RegExp(`until you install: ${command} bubblewrap\n.*install: ${command} ${packages}\n$`),
    );
    assert.deepEqual(await place.calls(), []);
  });

it(
  'for the tests docker.io and strace go in, and no daemon may start meanwhile',
  { skip: without(apart) },
  async () => {
    await using place = await machine(needed, { 'apt-get': obliging });
    const { code, stdout, stderr } = await place.run(
      [...apart!, '/bin/sh', '-c', `"$@"; ls ${policy}`, 'sh'],
      'test',
    );
    assert.deepEqual([code === 0, stdout], [false, ''], 'the policy is gone afterwards');
    assert.match(
      stderr,
      /^workcrate: installing, for the tests that use them: apt-get install --no-install-recommends docker\.io strace .*\n/,
    );
    const calls = await place.calls();
    assert.deepEqual(
      calls.filter((call) => call !== 'update'),
      ['install --no-install-recommends --no-remove -y docker.io strace', 'policy says 101'],
    );
  },
);

it('a package that apt-get does not know does not stop the others', { skip: without(apart) }, async () => {
  const picky = obliging.replace('for word', 'case "$*" in *strace*) exit 100 ;; esac\nfor word');
  await using place = await machine(needed, { 'apt-get': picky });
  const { stderr } = await place.run(apart, 'test');
  assert.match(stderr, /skipped until you install: .* strace\n$/);
  assert.ok((await place.calls()).includes('policy says 101'));
});

it('a policy for daemons that is there already stays as it is', { skip: without(apart) }, async () => {
  await using place = await machine(needed, { 'apt-get': obliging });
  const before = `echo 'exit 7' > ${policy}; chmod 755 ${policy}; "$@"; /bin/cat ${policy}`;
  const { stdout } = await place.run([...apart!, '/bin/sh', '-c', before, 'sh'], 'test');
  assert.equal(stdout, 'exit 7\n');
  assert.ok((await place.calls()).includes('policy says 7'));
});

it('where systemd runs, docker.io is named and not installed', { skip: without(apart) }, async () => {
  await using place = await machine([...needed, 'strace'], { 'apt-get': obliging });
  const before = '/bin/mkdir -p /run/systemd/system; "$@"';
  const { code, stderr } = await place.run([...apart!, '/bin/sh', '-c', before, 'sh'], 'test');
  assert.equal(code, 0);
  assert.match(stderr, /^workcrate: the tests that use them are skipped until you install: .* docker\.io\n$/);
  assert.deepEqual(await place.calls(), []);
});

it(
  'a signal ends it and apt-get with it, and the start does not go on',
  { skip: without(root) },
  async () => {
    await using place = await machine(needed.slice(1), { 'apt-get': endless });
    const [program, ...args] = [...root!, ...place.command];
    const child = spawn(program!, [...args, 'start'], { env: place.env, stdio: 'ignore' });
    const ended = once(child, 'exit');
    while ((await place.calls()).length === 0 && child.exitCode === null) await pause(10);
    child.kill('SIGTERM');
    assert.deepEqual(await ended, [143, null]);
    const [pid] = await place.calls();
    // One that has ended has its number until the machine's first process has reaped it.
    await eventually(() => {
      const status = existsSync(`/proc/${pid}`) ? readFileSync(`/proc/${pid}/stat`, 'latin1') : ') Z';
      return status.split(') ').at(-1)!.startsWith('Z');
    });
  },
);

/** A Node that starts once these libraries are there, and names one at a time as the loader does. */
const lackingNode = (...libraries: string[]): string =>
  ['#!/bin/sh']
    .concat(
      libraries.map(
        (library) =>
          `[ -e "\${0%/*}/${library}" ] || { echo "node: error while loading shared libraries: ${library}: cannot open shared object file" >&2; exit 127; }`,
      ),
    )
    .join('\n');

const installingLibraries = `#!/bin/sh
echo "$@" >> "$RECORD"
case " $* " in *\\ libatomic1\\ *) : > "\${0%/*}/libatomic.so.1" ;; *\\ libgcc-s1\\ *) : > "\${0%/*}/libgcc_s.so.1" ;; esac
`;

it('root gets the libraries that Node lacks, one after the other', { skip: without(root) }, async () => {
  await using place = await machine(needed, {
    node: lackingNode('libatomic.so.1', 'libgcc_s.so.1'),
    'apt-get': installingLibraries,
  });
  const { code, stderr } = await place.run(root, 'node');
  assert.equal(code, 0, stderr);
  assert.match(stderr, /for Node to start: .* libatomic1 .*\n.*for Node to start: .* libgcc-s1 /);
  assert.deepEqual(await place.run(root, 'start'), silent);
});

it('where a library of Node cannot be installed, its name is told and nothing starts', async (t) => {
  if (without(root, ordinary) !== false) return t.skip(String(without(root, ordinary)));
  const node = lackingNode('libstdc++.so.6');
  await using debian = await machine(needed, { node, 'apt-get': failing });
  for (const [prefix, become] of [
    [root, ''],
    [ordinary, 'sudo '],
  ] as const)
    for (const purpose of ['node', 'start', 'test']) {
      const { code, stderr } = await debian.run(prefix, purpose, { WORKCRATE_SANDBOX: 'off' });
      assert.equal(code, 1);
      assert.match(
        stderr,
        new RegExp(`Node cannot start until you install:.* ${become}apt-get install .* libstdc\\+\\+6\n$`),
      );
    }
  await using other = await machine(needed, { node, dnf: failing });
  const { code, stderr } = await other.run(root, 'start');
  assert.deepEqual(
    [code, stderr],
    [
      1,
      'workcrate: Node cannot start until you install the package of your system that has libstdc++.so.6\n',
    ],
  );
});

it(
  'libraries of Python are installed if they are asked for, or named',
  { skip: without(root, ordinary) },
  async () => {
    const withoutLibraries = '#!/bin/sh\n[ -e "$RECORD.done" ]\n';
    const installing = `#!/bin/sh\necho "$@" >> "$RECORD"\ncase " $* " in *install*) : > "$RECORD.done" ;; esac\n`;
    await using place = await machine(['bwrap'], { 'apt-get': installing, python3: withoutLibraries });
    assert.match(
      (await place.run(ordinary, 'science')).stderr,
      /^workcrate: the Python of runs lacks libraries until you install:.* sudo apt-get install --no-install-recommends python3-numpy python3-pandas python3-matplotlib\n$/,
    );
    assert.deepEqual(await place.calls(), []);
    assert.match(
      (await place.run(root, 'science')).stderr,
      /^workcrate: installing, for the Python of runs: apt-get/,
    );
    assert.ok(
      (await place.calls()).includes(
        'install --no-install-recommends --no-remove -y python3-numpy python3-pandas python3-matplotlib',
      ),
    );
    assert.deepEqual(await place.run(root, 'science'), silent);
  },
);
