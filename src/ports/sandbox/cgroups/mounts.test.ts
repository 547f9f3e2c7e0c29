import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseOwnGroups } from './cgroups.ts';

const v1 = {
  mountinfo: `22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw,errors=remount-ro
29 23 0:25 / /sys/fs/cgroup ro,nosuid,nodev,noexec shared:9 - tmpfs tmpfs ro,mode=755
31 29 0:27 / /sys/fs/cgroup/systemd rw,nosuid,nodev,noexec,relatime shared:11 - cgroup cgroup rw,xattr,release_agent=/lib/systemd/systemd-cgroups-agent,name=systemd
34 29 0:30 / /sys/fs/cgroup/memory rw,nosuid,nodev,noexec,relatime shared:15 - cgroup cgroup rw,memory
35 29 0:31 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid,nodev,noexec,relatime shared:16 - cgroup cgroup rw,cpu,cpuacct
36 29 0:32 / /sys/fs/cgroup/cpuset rw,nosuid,nodev,noexec,relatime shared:17 - cgroup cgroup rw,cpuset
40 29 0:36 / /sys/fs/cgroup/pids rw,nosuid,nodev,noexec,relatime shared:21 - cgroup cgroup rw,pids
`,
  cgroup: `10:pids:/user.slice/user-1000.slice/session-2.scope
8:cpuset:/
5:cpu,cpuacct:/user.slice
3:memory:/user.slice
1:name=systemd:/user.slice/user-1000.slice/session-2.scope
`,
};

const hybrid = {
  mountinfo: `${v1.mountinfo}30 29 0:26 / /sys/fs/cgroup/unified rw,nosuid,nodev,noexec,relatime shared:10 - cgroup2 cgroup2 rw,nsdelegate
`,
  cgroup: `${v1.cgroup}0::/user.slice/user-1000.slice/session-2.scope
`,
};

const v2 = {
  mountinfo: `24 31 0:22 / /proc rw,nosuid,nodev,noexec,relatime shared:12 - proc proc rw
30 23 0:26 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:4 - cgroup2 cgroup2 rw,nsdelegate,memory_recursiveprot
31 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw,errors=remount-ro
`,
  cgroup: '0::/user.slice/user-1000.slice/user@1000.service/app.slice/run-r1f7.scope\n',
};

test('on cgroup v1 every controller has the group of its own hierarchy', () => {
  assert.deepEqual(placesOf(v1), {
    pids: '/sys/fs/cgroup/pids/user.slice/user-1000.slice/session-2.scope',
    cpuset: '/sys/fs/cgroup/cpuset',
    'cpu,cpuacct': '/sys/fs/cgroup/cpu,cpuacct/user.slice',
    memory: '/sys/fs/cgroup/memory/user.slice',
    'name=systemd': '/sys/fs/cgroup/systemd/user.slice/user-1000.slice/session-2.scope',
  });
});

test('on a hybrid system the group of v2 stands beside those of v1', () => {
  const unified = '/sys/fs/cgroup/unified/user.slice/user-1000.slice/session-2.scope';
  assert.deepEqual(placesOf(hybrid), { ...placesOf(v1), v2: unified });
});

test('on cgroup v2 there is one group', () => {
  assert.deepEqual(placesOf(v2), {
    v2: '/sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service/app.slice/run-r1f7.scope',
  });
});

test('in a container of v1 the group that is mounted is not looked for below itself', () => {
  const container = '/docker/5f0c5f6e1d0b';
  const mountinfo = `1204 1203 0:30 ${container} /sys/fs/cgroup/memory ro,nosuid,nodev,noexec,relatime master:15 - cgroup cgroup rw,memory
1205 1203 0:36 ${container} /sys/fs/cgroup/pids ro,nosuid,nodev,noexec,relatime master:21 - cgroup cgroup rw,pids
`;
  assert.deepEqual(placesOf({ mountinfo, cgroup: `4:memory:${container}\n3:pids:${container}/inner\n` }), {
    memory: '/sys/fs/cgroup/memory',
    pids: '/sys/fs/cgroup/pids/inner',
  });
  assert.deepEqual(placesOf({ mountinfo, cgroup: `4:memory:${container}1\n` }), {});
});

test('in a cgroup namespace the root is the own group, and what is outside is left out', () => {
  const mountinfo =
    '627 626 0:26 / /sys/fs/cgroup ro,nosuid,nodev,noexec,relatime - cgroup2 cgroup rw,nsdelegate\n';
  assert.deepEqual(placesOf({ mountinfo, cgroup: '0::/\n' }), { v2: '/sys/fs/cgroup' });
  assert.deepEqual(placesOf({ mountinfo, cgroup: '0::/../sibling\n' }), {});
  assert.deepEqual(placesOf({ mountinfo, cgroup: '0::/gone (deleted)\n' }), {});
  const above = mountinfo.replace(' / /sys', ' /../.. /sys');
  assert.deepEqual(placesOf({ mountinfo: above, cgroup: '0::/\n' }), {});
});

test('of several mounts a writable one is taken, and a mount point may hold spaces', () => {
  const mountinfo = `50 40 0:26 / /mnt/two\\040words rw,relatime - cgroup2 cgroup2 rw
51 40 0:26 / /sys/fs/cgroup ro,relatime shared:1 master:2 - cgroup2 cgroup2 rw
`;
  assert.deepEqual(placesOf({ mountinfo, cgroup: '0::/a b\n' }), { v2: '/mnt/two words/a b' });
});

test('a machine without cgroups has no groups', () => {
  assert.deepEqual(parseOwnGroups('22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n', ''), []);
});

function placesOf({ mountinfo, cgroup }: { mountinfo: string; cgroup: string }): Record<string, string> {
  return Object.fromEntries(
    parseOwnGroups(mountinfo, cgroup).map(({ version, controllers, directory }) => [
      version === 2 ? 'v2' : controllers.join(','),
      directory,
    ]),
  );
}
