import { statSync } from 'node:fs';
import { insideFolder } from '../inside-folder.ts';
import { fitLimits, readFileMax, unlimited, type Fitted } from '../hard-limits.ts';
import { seccompProgram } from '../seccomp/seccomp.ts';
import type { Place, SandboxOptions } from '../sandbox.ts';
import { supervisorCommand } from './supervisor.ts';

export interface DockerOptions extends SandboxOptions {
  /** The engine's unix socket. */
  readonly socket: string;
  /** Has python3, bash and env in it. */
  readonly image: string;
  /** Such as runsc; null is the engine's own. */
  readonly runtime: string | null;
  /** Tells the containers of this server from those of others. */
  readonly instance: string;
}

export const instanceLabel = 'workcrate.instance';

/** Nobody, for a container that holds no user's folders. */
const nobody = 65_534;

/** The body of a container's creation: every wall there is, around one supervisor. */
export function containerOf(options: DockerOptions, place: Place | null): object {
  const uid = uidOf(place);
  return {
    Image: options.image,
    Entrypoint: supervisorCommand(seccompProgram(options.network) ?? Buffer.alloc(0), options.network),
    Cmd: [],
    User: `${uid}:${uid}`,
    WorkingDir: '/',
    Hostname: 'sandbox',
    Labels: { [instanceLabel]: options.instance },
    OpenStdin: true,
    StdinOnce: true,
    AttachStdin: true,
    AttachStdout: true,
    AttachStderr: true,
    Tty: false,
    NetworkDisabled: isCutOff(options),
    HostConfig: { ...walls(options), ...limitsOf(options, uid), Mounts: mountsOf(options, place) },
  };
}

/** Never 0: as root, a user's own; else the server's. */
function uidOf(place: Place | null): number {
  const own = process.getuid?.() ?? 0;
  return place?.uid ?? (own === 0 ? nobody : own);
}

/**
 * No network is also what NetworkMode says, but only this spares the engine a program of its own, which it would start
 * beside each container to look after an empty network: two fifths of what a container costs. Then nobody but the
 * runtime brings loopback up. Ours does; one that was named may not.
 */
function isCutOff({ runtime, network }: DockerOptions): boolean {
  return network === 'none' && runtime === null;
}

/** As in bubblewrap/inside/workcrate_inside/namespaces.py, and for the same reason. */
const tcpBuffer = '4096 8192 16384';
const smallBuffers = { 'net.ipv4.tcp_rmem': tcpBuffer, 'net.ipv4.tcp_wmem': tcpBuffer };

function walls({ runtime, network }: DockerOptions): object {
  return {
    ...(runtime === null ? {} : { Runtime: runtime }),
    NetworkMode: network,
    IpcMode: 'private',
    ...(network === 'none' ? { Sysctls: smallBuffers } : {}),
    CapDrop: ['ALL'],
    SecurityOpt: ['no-new-privileges'],
    ReadonlyRootfs: true,
    Init: false,
    // Output is read as it comes; the engine would keep a second copy of all of it.
    LogConfig: { Type: 'none' },
  };
}

/** The hard limits are those of the engine, which are not known here. */
export const fitToMachine = ({ limits, mostRuns }: DockerOptions): Fitted =>
  fitLimits(limits, mostRuns, unlimited, readFileMax());

function limitsOf(options: DockerOptions, uid: number): object {
  const { limits, openFiles } = fitToMachine(options);
  const { memoryBytes, processes, cpus, fileBytes, tmpBytes } = limits;
  const inodes = Math.floor(tmpBytes / 1024) + 1000;
  const folder = (mode: string) =>
    `rw,exec,nosuid,nodev,size=${tmpBytes},nr_inodes=${inodes},mode=${mode},uid=${uid},gid=${uid}`;
  const most = (name: string, value: number) => ({ Name: name, Soft: value, Hard: value });
  return {
    Memory: memoryBytes,
    MemorySwap: memoryBytes,
    // The supervisor is one more.
    PidsLimit: processes + 1,
    NanoCpus: Math.round(cpus * 1e9),
    ShmSize: tmpBytes,
    Tmpfs: { '/tmp': folder('1777'), '/home/user': folder('700'), '/dev/shm': folder('1777') },
    Ulimits: [most('fsize', fileBytes), most('core', 0), most('nofile', openFiles)],
  };
}

interface Mount {
  readonly Type: 'bind';
  readonly Source: string;
  readonly Target: string;
  readonly ReadOnly: boolean;
}

function mountsOf(options: DockerOptions, place: Place | null): Mount[] {
  const { tools, skills } = options;
  const mounts = [bind(process.execPath, '/opt/workcrate/bin/node', true)];
  // Without a network the engine writes none, and localhost would be unknown.
  if (isCutOff(options)) mounts.push(bind(`${insideFolder}/etc/hosts`, '/etc/hosts', true));
  if (place !== null)
    mounts.push(bind(place.workspace, '/workspace', false), bind(place.artifacts, '/artifacts', false));
  if (isFolder(tools)) mounts.push(bind(tools, '/tools', true));
  if (isFolder(skills)) mounts.push(bind(skills, '/skills', true));
  return mounts;
}

function bind(source: string, target: string, readOnly: boolean): Mount {
  return { Type: 'bind', Source: source, Target: target, ReadOnly: readOnly };
}

function isFolder(path: string | null): path is string {
  return path !== null && statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
