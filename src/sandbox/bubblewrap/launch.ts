import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import type { Mount } from './mounts.ts';
import { systemArguments } from './mounts.ts';

/** Where a root server binds what a cell is to see of it. Empty for everybody but the cell. */
export interface Stage extends Disposable {
  readonly folder: string;
}

/** All that a run has in its environment. A Python from elsewhere is the one that its children find too. */
function environmentOf(python: string) {
  const own = python.startsWith('/usr/') ? [] : [dirname(python)];
  return {
    PATH: ['/opt/workcrate/bin', ...own, '/usr/local/bin', '/usr/bin', '/bin'].join(':'),
    HOME: '/home/user',
    LANG: 'C.UTF-8',
    TERM: 'dumb',
    TMPDIR: '/tmp',
    USER: 'user',
  };
}

/** An unprivileged uid has to get through here, so it is not below a TMPDIR of root's. */
const stages = '/tmp';
const stageName = /^workcrate-cell-(\d+)-/;

export function makeStage(): Stage {
  const folder = mkdtempSync(join(stages, `workcrate-cell-${process.pid}-`));
  chmodSync(folder, 0o711);
  return { folder, [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) };
}

/** Removes the stages of servers that were killed. Only root's own: anybody can make such a name. */
export function sweepStages(): void {
  for (const name of readdirSync(stages)) {
    const owner = Number(stageName.exec(name)?.[1]);
    if (Number.isNaN(owner) || existsSync(`/proc/${owner}`)) continue;
    const stats = lstatSync(join(stages, name), { throwIfNoEntry: false });
    if (stats?.isDirectory() && stats.uid === 0) rmSync(join(stages, name), { recursive: true, force: true });
  }
}

export interface Profile {
  readonly uid: number | null;
  readonly mounts: readonly Mount[];
  readonly network: 'none' | 'host';
  readonly python: string;
}

/**
 * The command that starts a cell. Never as root: a root server first binds what the unprivileged uid could
 * not reach by path (a home folder, the data folder) to a stage that is seen by this command alone.
 */
export function cellCommand(stage: Stage | null, profile: Profile): string[] {
  const { uid } = profile;
  if (stage === null) return bubblewrap(profile, (mount) => mount.source);
  const staged = profile.mounts.map((mount, at) => ({ mount, at: standIn(stage, mount, at) }));
  const sourceOf = (wanted: Mount): string => staged.find(({ mount }) => mount === wanted)!.at;
  return [
    ...words('unshare --mount --propagation private -- /bin/sh -c'),
    bindAll,
    'sh',
    ...staged.flatMap(({ mount, at }) => [mount.source, at]),
    ...words(`-- setpriv --reuid ${uid} --regid ${uid} --clear-groups --`),
    ...bubblewrap(profile, sourceOf),
  ];
}

const words = (text: string): string[] => text.split(' ');

const bindAll =
  'while [ "$1" != -- ]; do mount --bind -- "$1" "$2" || exit 1; shift 2; done; shift; exec "$@"';

/** An empty folder or file for something to be bound to. */
function standIn(stage: Stage, { source }: Mount, number: number): string {
  const path = join(stage.folder, `mount-${number}`);
  if (statSync(source).isDirectory()) mkdirSync(path);
  else writeFileSync(path, '');
  return path;
}

function bubblewrap(profile: Profile, sourceOf: (mount: Mount) => string): string[] {
  const { mounts, network, python } = profile;
  return [
    // Root of its own user namespace, nobody outside: the fork server makes namespaces, runs do not.
    ...words('bwrap --unshare-user --uid 0 --gid 0 --cap-add ALL'),
    ...words('--unshare-pid --as-pid-1 --unshare-ipc --unshare-uts --unshare-cgroup-try'),
    ...(network === 'none' ? ['--unshare-net'] : []),
    // No --json-status-fd: where the server is killed before that is read, bubblewrap ends and its child waits for good.
    ...words('--hostname sandbox --die-with-parent --new-session --clearenv'),
    ...Object.entries(environmentOf(python)).flatMap(([name, value]) => ['--setenv', name, value]),
    ...systemArguments(),
    ...words('--proc /proc --dev /dev --dir /tmp --dir /home/user --dir /tools --dir /skills'),
    ...(network === 'host' ? hostNames : []),
    ...mounts.flatMap((mount) => [mount.writable ? '--bind' : '--ro-bind', sourceOf(mount), mount.target]),
    // Both are memory that all runs of a user would share and could fill.
    ...words('--remount-ro /dev --remount-ro /'),
    '--',
    python,
    '/opt/workcrate/inside/forkserver.py',
  ];
}

/** How names are looked up, where the network is the host's. */
const hostNames = ['--ro-bind-try', '/etc/resolv.conf', '/etc/resolv.conf'];

/** Of the programs around the sandbox. Bubblewrap's own can be read inside, so it holds nothing else. */
export const outerEnvironment = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' };
