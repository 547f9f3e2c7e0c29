import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chownSync, existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { getErrno, isWorkcrateError } from '../../../platform/errors.ts';
import { openCgroups, type Cgroups, type Group } from './cgroups.ts';
import { controllerNames, killListedProcesses, writeControl, type Resource } from './group.ts';
import { groupsOf, soon, waiting, waitingPython } from './waiting.testing.ts';

const name = `workcrate-test-${process.pid}`;
const cgroups = openCgroups({ name });
after(() => cgroups.close());

const mebibyte = 1024 * 1024;
const limits = { memoryBytes: 64 * mebibyte, processes: 32, cpus: 2 };
const noPython = spawnSync('python3', ['--version']).status === 0 ? false : 'no python3 here';
const noSetpriv = spawnSync('setpriv', ['--version']).status === 0 ? false : 'no setpriv here';
const nobody = 65_534;
const needs = (resource: Resource) => (cgroups.holds[resource] === true ? noPython : cgroups.holds[resource]);
const noGroups = cgroups.kind === 'none' ? `no control groups here: ${cgroups.holds.processes}` : false;
const notRoot = process.getuid?.() === 0 ? noGroups || noSetpriv : 'only root can become another user';

test(
  'a run that takes more memory than it may is killed, and that is counted',
  { skip: needs('memory') },
  async () => {
    await using python = waitingPython(`hoard = bytearray(${200 * mebibyte})`);
    await using run = await bounded(cgroups, 'memory', python.pid, limits);
    python.go();
    assert.equal((await python.ended).signal, 'SIGKILL');
    const { oomKilled, memoryPeakBytes } = run.group.events();
    assert.ok(cgroups.kind === 'v1' ? oomKilled === 1 : oomKilled >= 1, `${oomKilled}`);
    // Null where the kernel keeps no such count.
    assert.ok(memoryPeakBytes === null || memoryPeakBytes > 32 * mebibyte, `${memoryPeakBytes}`);
  },
);

test('a run that stays within its memory is left alone', { skip: needs('memory') }, async () => {
  await using python = waitingPython(`hoard = bytearray(${16 * mebibyte})`);
  await using run = await bounded(cgroups, 'frugal', python.pid, limits);
  python.go();
  assert.equal((await python.ended).code, 0);
  assert.equal(run.group.events().oomKilled, 0);
});

test('a fork beyond the limit is refused, and that is counted', { skip: needs('processes') }, async () => {
  await using python = waitingPython(`import errno, os, time
made = 0
try:
    while made < 100:
        if os.fork() == 0: time.sleep(60); os._exit(0)
        made += 1
except OSError as error: print(made, errno.errorcode[error.errno], flush=True)
time.sleep(60)`);
  await using run = await bounded(cgroups, 'processes', python.pid, { ...limits, processes: 8 });
  python.go();
  assert.equal(await python.says(), '7 EAGAIN');
  assert.equal(run.group.events().pidsRefused, 1);
});

test('a run that takes more time than it may is throttled', { skip: needs('cpu') }, async () => {
  await using python = waitingPython('while True: pass');
  await using _ = await bounded(cgroups, 'cpu', python.pid, { ...limits, cpus: 0.2 });
  const folder = folderOf(python.pid, 'cpu');
  python.go();
  await soon('the loop was throttled', () =>
    /^nr_throttled [1-9]/m.test(readFileSync(join(folder, 'cpu.stat'), 'utf8')),
  );
});

test('a kill ends daemons, sessions of their own and a fork bomb', { skip: needs('processes') }, async () => {
  await using python = waitingPython(`import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    while True:
        try: os.fork()
        except OSError: pass
print('forking', flush=True)
time.sleep(60)`);
  await using run = await bounded(cgroups, 'bomb', python.pid, limits);
  const folder = folderOf(python.pid, 'pids');
  python.go();
  await python.says();
  await soon('forks were refused', () => run.group.events().pidsRefused > 0);
  run.group.kill();
  assert.equal((await python.ended).signal, 'SIGKILL');
  await run.group.remove();
  assert.ok(!existsSync(folder));
});

test(
  'removing waits until the processes are gone, and may be repeated',
  { skip: noGroups || noPython },
  async () => {
    await using python = waitingPython('import time; time.sleep(60)');
    await using run = await bounded(cgroups, 'removed', python.pid, limits);
    python.go();
    const removed = run.group.remove();
    run.group.kill();
    await removed;
    await run.group.remove();
    assert.deepEqual(run.group.events().oomKilled, 0);
  },
);

test('a process that is no more cannot be added, nor a group made twice', { skip: noGroups }, async () => {
  const gone = spawnSync('true').pid;
  const group = cgroups.make('twice', limits);
  await assert.rejects(group.add(gone), (error) => isWorkcrateError(error, 'sandbox_failed'));
  assert.throws(
    () => cgroups.make('twice', limits),
    (error) => isWorkcrateError(error, 'sandbox_failed'),
  );
  await group.remove();
});

test('closing kills and removes what is left', { skip: noGroups || noPython }, async () => {
  const other = openCgroups({ name: `${name}-other` });
  await using python = waitingPython('import time; time.sleep(60)');
  await other.make('left', limits).add(python.pid);
  await other.close();
  assert.equal((await python.ended).signal, 'SIGKILL');
});

test(
  'a sweep ends the runs of a dead server and leaves those of a living one',
  { skip: noGroups },
  async () => {
    await using server = waiting(process.execPath, [serverScript(), name]);
    server.go();
    const { sleeper } = JSON.parse(await server.says()) as { sleeper: number };
    assert.equal(await cgroups.sweep(), 0);
    assert.ok(isAlive(sleeper));
    server.kill();
    await server.ended;
    assert.equal(await cgroups.sweep(), 1);
    await soon('the sleeper was gone', () => !isAlive(sleeper));
  },
);

test('a server that has the pid of a dead one again sweeps its groups', { skip: noGroups }, async () => {
  const group = cgroups.make('own', limits);
  const own = ownFolders().map((folder) => [
    folder,
    readdirSync(folder).find((entry) => entry.endsWith('-own'))!,
  ]);
  // The same pid, started at another time.
  for (const [folder = '', entry = ''] of own)
    mkdirSync(join(folder, entry.replace(/-\d+-own$/, '-1-former')));
  assert.equal(await cgroups.sweep(), 1);
  for (const [folder = '', entry = ''] of own) assert.ok(existsSync(join(folder, entry)));
  await group.remove();
});

test('an ordinary user is told what is not held, and runs all the same', { skip: notRoot }, async () => {
  await using server = asNobody();
  server.go();
  const { kind, holds } = JSON.parse(await server.says()) as Cgroups;
  assert.equal(kind, 'none');
  for (const reason of Object.values(holds))
    assert.match(String(reason), /E(?:ACCES|PERM).* Start the server /);
  server.leave();
  assert.equal((await server.ended).code, 0);
});

test('an ordinary user in groups that belong to them holds the limits', { skip: notRoot }, async () => {
  const given = ownFolders().map((folder) => join(folder, `${name}-given`));
  await using _ = { [Symbol.asyncDispose]: () => soon('the groups were empty', () => given.every(removed)) };
  await using server = asNobody();
  for (const folder of given) giveAway(folder, server.pid);
  server.go();
  const { kind, holds } = JSON.parse(await server.says()) as Cgroups;
  assert.deepEqual([kind, holds], [cgroups.kind, cgroups.holds]);
  server.leave();
  assert.equal((await server.ended).code, 0);
});

async function bounded(
  cgroups: Cgroups,
  id: string,
  pid: number,
  limits: Parameters<Cgroups['make']>[1],
): Promise<AsyncDisposable & { group: Group }> {
  const group = cgroups.make(id, limits);
  await group.add(pid);
  return {
    group,
    async [Symbol.asyncDispose]() {
      group.kill();
      await group.remove();
    },
  };
}

function asNobody(): ReturnType<typeof waiting> {
  const user = ['--reuid', `${nobody}`, '--regid', `${nobody}`, '--clear-groups'];
  return waiting('setpriv', [...user, process.execPath, serverScript(), name]);
}

function serverScript(): string {
  return fileURLToPath(new URL('server.testing.ts', import.meta.url));
}

function folderOf(pid: number | 'self', controller: string): string {
  const groups = groupsOf(pid);
  const group = groups.find(({ controllers }) => controllers.includes(controller));
  return (group ?? groups.find(({ version }) => version === 2))!.directory;
}

/** Where groups are made. */
function ownFolders(): string[] {
  const held = (Object.keys(controllerNames) as Resource[]).filter(
    (resource) => cgroups.holds[resource] === true,
  );
  return [
    ...new Set(
      held.map((resource) => folderOf('self', controllerNames[resource]).replace(/\/workcrate-server$/, '')),
    ),
  ];
}

/** As an administrator or systemd would. */
function giveAway(folder: string, pid: number): void {
  mkdirSync(folder);
  for (const file of ['.', 'cgroup.procs', 'cgroup.subtree_control'].map((file) => join(folder, file)))
    if (existsSync(file)) chownSync(file, nobody, nobody);
  writeControl(folder, 'cgroup.procs', `${pid}`);
}

/** With whatever a server made in it. */
function removed(folder: string): boolean {
  if (!existsSync(folder)) return true;
  const inner = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  if (!inner.every((entry) => removed(join(folder, entry.name)))) return false;
  killListedProcesses(folder);
  try {
    rmdirSync(folder);
    return true;
  } catch (error) {
    assert.equal(getErrno(error), 'EBUSY');
    return false;
  }
}

function isAlive(pid: number): boolean {
  return existsSync(`/proc/${pid}`) && !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
}
