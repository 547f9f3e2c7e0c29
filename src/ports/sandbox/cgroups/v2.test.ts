import assert from 'node:assert/strict';
import { accessSync, constants, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { openGroup, makeFolders, readPids, type Group } from './group.ts';
import { v2Base, v2Branch } from './versions.ts';
import { groupsOf, waiting } from './waiting.testing.ts';

const own = groupsOf('self').find(({ version }) => version === 2)?.directory ?? null;
const skip = whyNot();

test('cgroup.kill ends a tree with sessions of its own', { skip }, async () => {
  await using group = bareGroup('kill');
  await using shell = waiting('sh', ['-c', 'read -r line; setsid sleep 60 & sleep 60 & echo started; wait']);
  await group.add(shell.pid);
  shell.go();
  await shell.says();
  assert.ok(readPids(group.folder).length >= 3);
  group.kill();
  assert.equal((await shell.ended).signal, 'SIGKILL');
  await group.remove();
});

test(
  'the server moves to a leaf with what started it and what it started, and nobody else',
  { skip },
  async () => {
    await using group = bareGroup('move');
    await using leaf = bareGroup('move/workcrate-server');
    await using stranger = waiting('sh', ['-c', 'read -r line']);
    const script = fileURLToPath(new URL('leaf.testing.ts', import.meta.url));
    // Not the last command, which sh would put in its own place.
    await using shell = waiting('sh', ['-c', '"$@"; exit 0', 'sh', process.execPath, script, group.folder]);
    for (const pid of [stranger.pid, shell.pid]) await group.add(pid);
    for (const pid of pidsStartedBy(shell.pid)) await group.add(pid);
    shell.go();
    const moved = JSON.parse(await shell.says()) as number[];
    assert.deepEqual(new Set(readPids(leaf.folder)), new Set(moved));
    assert.deepEqual(readPids(group.folder), [stranger.pid]);
    assert.equal(v2Base(leaf.folder), group.folder);
    assert.equal(v2Base(group.folder), group.folder);
    leaf.kill();
  },
);

/** Without a controller, so that it can be made beside hierarchies of v1. */
function bareGroup(id: string): Group & AsyncDisposable & { folder: string } {
  const branch = v2Branch(own!, []);
  const name = id.replace(/^\w+/, (first) => `workcrate-test-${process.pid}-${first}`);
  makeFolders([branch], name, { memoryBytes: 0, processes: 0, cpus: 0 });
  const group = openGroup([branch], name);
  return {
    ...group,
    folder: join(own!, name),
    async [Symbol.asyncDispose]() {
      group.kill();
      await group.remove();
    },
  };
}

function pidsStartedBy(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
}

function whyNot(): string | false {
  if (own === null) return 'no cgroup v2 here';
  try {
    accessSync(own, constants.W_OK);
    accessSync(join(own, 'cgroup.procs'), constants.W_OK);
    return false;
  } catch {
    return `the group ${own} is not ours`;
  }
}
