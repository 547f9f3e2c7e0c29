import { execFile } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { WorkcrateError } from '../../../platform/errors.ts';
import { findPublicFolder } from '../../../platform/paths/paths.ts';
import { becomeExpendable } from '../../../platform/workers/workers.ts';
import {
  getNodeModules,
  listWritableFolders,
  npmInside,
  packageLanguages,
  packageProgramFolders,
  packagesInside,
  type Installation,
} from '../environments.ts';
import { certificatesInside, gateInside } from '../gate.ts';
import { insideFolder } from '../inside-folder.ts';
import { getRepeatableVariables } from '../run-variables.ts';
import type { Workspace } from '../sandbox.ts';

/** Where a root server binds what a user's sandbox may see. Other processes see it empty. */
export interface Stage extends Disposable {
  readonly folder: string;
}

/** The whole environment of a run. If Python is elsewhere, its folder is in the PATH too. */
function makeForkServerEnvironment(python: string) {
  const own = python.startsWith('/usr/') ? [] : [dirname(python)];
  return {
    PATH: [
      '/opt/workcrate/bin',
      ...packageProgramFolders(packagesInside),
      ...own,
      '/usr/local/bin',
      '/usr/bin',
      '/bin',
    ].join(':'),
    HOME: '/home/user',
    LANG: 'C.UTF-8',
    TERM: 'dumb',
    TMPDIR: '/tmp',
    USER: 'user',
    ...getRepeatableVariables('/opt/workcrate/inside'),
  };
}

/** Not TMPDIR: an unprivileged uid has to get through here. */
const stageParent = '/tmp';

export function makeStage(): Stage {
  const folder = mkdtempSync(join(stageParent, `workcrate-cell-${process.pid}-`));
  chmodSync(folder, 0o711);
  return { folder, [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) };
}

/** Of a server, by its pid: a stage, or the folder of a gate. */
const temporaryNamePattern = /^workcrate-(?:cell|gate)-(\d+)-/;

/** Removes the stages and gates of servers that were killed. Only those of this user: anybody can use such a name. */
export function sweepTemporaryFolders(): void {
  for (const name of readdirSync(stageParent)) {
    const owner = Number(temporaryNamePattern.exec(name)?.[1]);
    if (Number.isNaN(owner) || existsSync(`/proc/${owner}`)) continue;
    const stats = lstatSync(join(stageParent, name), { throwIfNoEntry: false });
    if (stats?.isDirectory() && stats.uid === process.getuid?.())
      rmSync(join(stageParent, name), { recursive: true, force: true });
  }
}

export interface SandboxProfile {
  readonly uid: number | null;
  readonly mounts: readonly BindMount[];
  readonly network: 'none' | 'host';
  readonly python: string;
}

/**
 * The command that starts a user's sandbox. Never as root: a root server first binds what the unprivileged uid could not
 * reach by path (a home folder, the data folder) to a stage that only this command sees.
 */
export function buildSandboxCommand(stage: Stage | null, profile: SandboxProfile): string[] {
  const { uid } = profile;
  if (stage === null)
    return [
      ...splitFlags('/bin/sh -c'),
      `${becomeExpendable} exec "$@"`,
      'sh',
      ...buildBubblewrapCommand(profile, (mount) => mount.source),
    ];
  const staged = profile.mounts.map((mount, at) => ({ mount, at: createBindTarget(stage, mount, at) }));
  const sourceOf = (wanted: BindMount): string => staged.find(({ mount }) => mount === wanted)!.at;
  return [
    ...splitFlags('unshare --mount --propagation private -- /bin/sh -c'),
    bindAllScript,
    'sh',
    ...staged.flatMap(({ mount, at }) => [mount.source, at]),
    ...splitFlags(`-- setpriv --reuid ${uid} --regid ${uid} --clear-groups --`),
    ...buildBubblewrapCommand(profile, sourceOf),
  ];
}

const splitFlags = (text: string): string[] => text.split(' ');

const bindAllScript =
  `${becomeExpendable} ` +
  'while [ "$1" != -- ]; do mount --bind -- "$1" "$2" || exit 1; shift 2; done; shift; exec "$@"';

/** An empty folder or file as a mount point. */
function createBindTarget(stage: Stage, { source }: BindMount, number: number): string {
  const path = join(stage.folder, `mount-${number}`);
  if (statSync(source).isDirectory()) mkdirSync(path);
  else writeFileSync(path, '');
  return path;
}

function buildBubblewrapCommand(profile: SandboxProfile, sourceOf: (mount: BindMount) => string): string[] {
  const { mounts, network, python } = profile;
  return [
    // Root in its own user namespace, nobody outside: the fork server makes namespaces, runs do not.
    ...splitFlags('bwrap --unshare-user --uid 0 --gid 0 --cap-add ALL'),
    ...splitFlags('--unshare-pid --as-pid-1 --unshare-ipc --unshare-uts --unshare-cgroup-try'),
    ...(network === 'none' ? ['--unshare-net'] : []),
    // No --json-status-fd: if the server is killed before that is read, bubblewrap ends and its child waits for ever.
    ...splitFlags('--hostname sandbox --die-with-parent --new-session --clearenv'),
    ...Object.entries(makeForkServerEnvironment(python)).flatMap(([name, value]) => [
      '--setenv',
      name,
      value,
    ]),
    ...listSystemMounts(),
    ...splitFlags('--proc /proc --dev /dev --dir /tmp --dir /home/user --dir /tools --dir /skills'),
    // Node finds it from every folder.
    ...splitFlags(`--symlink ${getNodeModules(packagesInside)} /node_modules`),
    ...(network === 'host' ? hostNameLookupMounts : []),
    ...mounts.flatMap((mount) => [mount.writable ? '--bind' : '--ro-bind', sourceOf(mount), mount.target]),
    // Both are in memory that all runs of a user would share and could fill.
    ...splitFlags('--remount-ro /dev --remount-ro /'),
    '--',
    python,
    '/opt/workcrate/inside/forkserver.py',
  ];
}

/** How host names are looked up with the network of the host. */
const hostNameLookupMounts = ['--ro-bind-try', '/etc/resolv.conf', '/etc/resolv.conf'];

/** For the programs around the sandbox. Runs can read bubblewrap's environment, so it has nothing else. */
export const outerEnvironment = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' };

/** A path of the host that is visible inside, and where. */
export interface BindMount {
  readonly source: string;
  readonly target: string;
  readonly writable: boolean;
}

export interface MountOptions {
  readonly place: Workspace;
  readonly tools: string | null;
  readonly skills: string | null;
  /** Where Python lives, as far as that is not below /usr. */
  readonly pythonFolders: readonly string[];
  /** The server's socket for the way out. */
  readonly gate: string;
  readonly certificates?: string | null;
  /** For a sandbox in which packages are installed. */
  readonly install?: Installation | null;
}

/** What programs of /usr look for in /etc. None of it is secret, and none has to exist. */
const harmlessEtcEntries = [
  'alternatives',
  'fonts',
  'ld.so.cache',
  'ld.so.conf',
  'ld.so.conf.d',
  'localtime',
  'magic',
  'matplotlibrc',
  'mime.types',
  'perl',
  'python3',
  'python3.11',
  'ssl/certs',
  'timezone',
];

const readOnly = (source: string, target: string): BindMount => ({ source, target, writable: false });
const writable = (source: string, target: string): BindMount => ({ source, target, writable: true });

export function listMounts(options: MountOptions): BindMount[] {
  const { place, tools, skills, pythonFolders, gate, certificates = null, install = null } = options;
  return [
    ...harmlessEtcEntries
      .map((name) => `/etc/${name}`)
      .filter((path) => existsSync(path))
      .map((path) => readOnly(path, path)),
    ...['group', 'hosts', 'nsswitch.conf', 'passwd'].map((name) =>
      readOnly(`${insideFolder}/etc/${name}`, `/etc/${name}`),
    ),
    readOnly(insideFolder, '/opt/workcrate/inside'),
    readOnly(process.execPath, '/opt/workcrate/bin/node'),
    readOnly(gate, gateInside),
    ...(certificates === null ? [] : [readOnly(certificates, certificatesInside)]),
    ...pythonFolders.map((folder) => readOnly(folder, folder)),
    ...listPublicMounts(tools, '--tools-path', '/tools'),
    ...listPublicMounts(skills, '--skills-path', '/skills'),
    writable(place.workspace, '/workspace'),
    writable(place.artifacts, '/artifacts'),
    ...(place.packages === null ? [] : listPackageMounts(place.packages, install)),
  ];
}

function listPublicMounts(path: string | null, setting: string, target: string): BindMount[] {
  const folder = findPublicFolder(path, setting);
  return folder === null ? [] : [readOnly(folder, target)];
}

/** What may be written lies in what is read-only, and so comes after it. */
function listPackageMounts(packages: string, install: Installation | null): BindMount[] {
  const folders = install === null ? [] : listWritableFolders(install);
  const mount = (kind: typeof readOnly, name: string): BindMount =>
    kind(join(packages, name), join(packagesInside, name));
  return [
    ...packageLanguages.map((name) => mount(readOnly, name)),
    ...folders.map((name) => mount(writable, name)),
    ...(install?.npm ? [readOnly(install.npm, npmInside)] : []),
  ];
}

/** The programs of the host: /usr, and the folders beside it as links or folders, as the host has them. */
export function listSystemMounts(): string[] {
  const beside = ['bin', 'sbin', 'lib', 'lib32', 'lib64', 'libx32'].map((name) => `/${name}`);
  return ['--ro-bind', '/usr', '/usr', ...beside.filter((path) => existsSync(path)).flatMap(mountAsOnHost)];
}

function mountAsOnHost(path: string): string[] {
  return lstatSync(path).isSymbolicLink()
    ? ['--symlink', readlinkSync(path), path]
    : ['--ro-bind', path, path];
}

export interface Python {
  /** Of a virtual environment the path in it, by which Python knows that it is in one. */
  readonly path: string;
  /** The folders that it needs besides /usr: its own, and those of a virtual environment. */
  readonly folders: readonly string[];
  /** Its `sys.prefix`, which it must have inside too; null for the system's. */
  readonly prefix: string | null;
}

const systemPythonPattern = /^\/usr\/bin\/python3[.\d]*$/;

const askForFolders =
  'import sys, ctypes, os; print(os.path.realpath(sys.executable)); print(sys.prefix); print(sys.base_prefix)';

/**
 * The interpreter of runs and of the fork server. One from a home folder (pyenv) brings its folder along, and one of a
 * virtual environment that of the environment too.
 */
export async function findPython(chosen: string | null): Promise<Python> {
  const path = chosen ?? '/usr/bin/python3';
  if (systemPythonPattern.test(path) && existsSync(path)) return { path, folders: [], prefix: null };
  try {
    const { stdout } = await promisify(execFile)(path, ['-I', '-c', askForFolders], {
      timeout: 20_000,
      env: outerEnvironment,
    });
    const [real, prefix, base] = stdout.split('\n') as [string, string, string];
    const folders = [...new Set([base, prefix])]
      .filter((folder) => !/^\/usr(?:\/|$)/.test(folder))
      .sort((one, other) => one.length - other.length);
    folders.forEach(checkVisible);
    return { path: prefix === base ? real : resolve(path), folders, prefix };
  } catch (cause) {
    if (cause instanceof WorkcrateError) throw cause;
    throw new WorkcrateError(
      'sandbox_unavailable',
      `The sandbox needs python3, and ${path} does not run. Install it (apt-get install python3), or name another with --python.`,
      { cause },
    );
  }
}

/** Runs have other folders there, and would not see Python. */
function checkVisible(folder: string): void {
  if (
    /^\/(?:$|(?:tmp|home\/user|dev|proc|workspace|artifacts|packages|node_modules|tools|skills|opt\/workcrate)(?:\/|$))/.test(
      folder,
    )
  )
    throw new WorkcrateError(
      'sandbox_unavailable',
      `Runs cannot see the Python in ${folder}, since they have a folder of their own there. Name another with --python.`,
    );
}

/** A virtual environment that is none inside would lose its packages in silence. */
export function wrongPrefixError(python: string, inside: string, outside: string): WorkcrateError {
  return sandboxUnavailableError(
    `In the sandbox, ${python} is the Python of ${inside} and not that of ${outside}. Name another with --python.`,
  );
}

const debianPackages: Readonly<Record<string, string>> = {
  bwrap: 'bubblewrap',
  mount: 'mount',
  setpriv: 'util-linux',
  unshare: 'util-linux',
};

/** Refuses to start if a program is missing, and names its package. */
export function checkPrograms(asRoot: boolean): void {
  if (process.platform !== 'linux')
    throw sandboxUnavailableError('Bubblewrap needs Linux. On other systems use --sandbox docker.');
  const needed = asRoot ? ['bwrap', 'mount', 'setpriv', 'unshare'] : ['bwrap'];
  const missing = needed.filter((name) => !isInstalled(name)).map((name) => debianPackages[name]!);
  if (missing.length > 0)
    throw sandboxUnavailableError(
      `The sandbox needs ${missing.join(' and ')}, which is not installed. On Debian: apt-get install ${missing.join(' ')}`,
    );
}

function isInstalled(name: string): boolean {
  return outerEnvironment.PATH.split(':').some((folder) => existsSync(`${folder}/${name}`));
}

/** The last error of bubblewrap or the fork server, and what to do about it if that is known. */
export function startError(errorText: string): WorkcrateError {
  const known = bubblewrapRemedies.find(([pattern]) => pattern.test(errorText))?.[1];
  const remedy = known === undefined ? '' : ` ${known}`;
  return sandboxUnavailableError(
    `Bubblewrap cannot make a sandbox here: ${errorText || 'it gave no reason'}.${remedy}`,
  );
}

const allowNamespaces =
  'This machine does not let ordinary users make namespaces. Allow it (sysctl kernel.unprivileged_userns_clone=1, ' +
  'or on Ubuntu kernel.apparmor_restrict_unprivileged_userns=0), or use --sandbox docker.';

const bubblewrapRemedies: readonly (readonly [RegExp, string])[] = [
  [/uid map|new namespace|user namespaces|CLONE_NEWUSER|loopback/i, allowNamespaces],
  [
    /mount proc|Can't mount proc/i,
    'In a container, /proc must not be masked: start it with systempaths=unconfined.',
  ],
  [
    /No module named '_?ctypes'/,
    'Its python3 lacks ctypes: apt-get install python3, or name another with --python.',
  ],
  [
    /execvp .*: Permission denied/,
    'The users of runs may not read that Python: chmod -R o+rX its folder, or name another with --python.',
  ],
  [
    /execvp .*: No such file/,
    'Runs see /usr and the folder of that Python only, and it links to another. Name another with --python.',
  ],
];

function sandboxUnavailableError(message: string): WorkcrateError {
  return new WorkcrateError('sandbox_unavailable', message);
}

export function sandboxFailedError(why: string): WorkcrateError {
  return new WorkcrateError('sandbox_failed', `No sandbox could be made for the run: ${why}.`);
}
