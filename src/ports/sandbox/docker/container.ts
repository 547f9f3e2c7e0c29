import { randomBytes } from 'node:crypto';
import { readdirSync, statSync, type Dirent } from 'node:fs';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { WorkcrateError } from '../../../platform/errors.ts';
import { findPublicFolder } from '../../../platform/paths/paths.ts';
import { expendableOomScore } from '../../../platform/workers/workers.ts';
import {
  getInstallVariables,
  listWritableFolders,
  nodeNamesFolder,
  npmInside,
  packageLanguages,
  packagesInside,
  type Installation,
} from '../environments.ts';
import { certificatesInside, gateInside, type Gate, type GatePass, type ToolsPass } from '../gate.ts';
import { fitLimits, readFileMax, noHardLimits, type FittedLimits } from '../hard-limits.ts';
import { insideFolder } from '../inside-folder.ts';
import {
  toolsInside,
  type RunRequest,
  type RunTools,
  type SandboxOptions,
  type Workspace,
} from '../sandbox.ts';
import { buildSeccompProgram } from '../seccomp/seccomp.ts';
import { EngineError, type Engine } from './engine.ts';
import { splitOutputs, type ContainerOutputs } from './output.ts';
import { openWays, type ContainerWays } from './ways.ts';
import { buildSupervisorCommand, modulesInContainer, type SupervisorTask } from './supervisor.ts';

export interface DockerOptions extends SandboxOptions {
  /** The engine's unix socket. */
  readonly socket: string;
  /** Contains python3, bash and env. */
  readonly image: string;
  /** Such as runsc; null is the engine's own. */
  readonly runtime: string | null;
  /** Distinguishes the containers of this server from those of others. */
  readonly instance: string;
}

export const instanceLabel = 'workcrate.instance';

/** Nobody, for a container without a user's folders. */
const nobodyUid = 65_534;

/** What a container is made for. */
export interface ContainerPurpose {
  /** Whose folders it has; null for none. */
  readonly place: Workspace | null;
  /** Whether its run may be given a network; it has no other then. */
  readonly isGated: boolean;
  /** For a container in which packages are installed. */
  readonly install?: Installation | null;
  /** For a container whose run calls tools. */
  readonly tools?: RunTools | null;
}

/** The request body that creates a container: all isolation, around one supervisor. */
function toContainerConfig(
  asked: DockerOptions,
  { place, isGated, install = null }: ContainerPurpose,
  { gate, tools }: ContainerWays,
): object {
  const options = isGated ? { ...asked, network: 'none' as const } : asked;
  const uid = getContainerUid(place);
  return {
    Image: options.image,
    Entrypoint: buildSupervisorCommand(
      buildSeccompProgram(options.network) ?? Buffer.alloc(0),
      options.network,
      isGated,
    ),
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
    NetworkDisabled: hasNoNetwork(options),
    HostConfig: {
      ...toIsolationConfig(options),
      ...toContainerLimits(options, uid),
      Mounts: [
        ...listDockerMounts(options, place),
        ...listToolMounts(options, tools?.folder.path ?? null),
        ...listContainerPackageMounts(place, install),
        ...listGateMounts(gate, options),
      ],
    },
  };
}

/** Never 0: if the server is root, the user's own uid; else the server's. */
function getContainerUid(place: Workspace | null): number {
  const own = process.getuid?.() ?? 0;
  return place?.uid ?? (own === 0 ? nobodyUid : own);
}

/**
 * NetworkMode alone would also disable the network, but then the engine starts a helper program beside each container to
 * manage an empty network: two fifths of what a container costs. Without it only the runtime brings loopback up. The
 * default runtime does; another one may not.
 */
function hasNoNetwork({ runtime, network }: DockerOptions): boolean {
  return network === 'none' && runtime === null;
}

/** As in bubblewrap/inside/workcrate_inside/namespaces.py, and for the same reason. */
const tcpBuffer = '4096 8192 16384';
const smallBuffers = { 'net.ipv4.tcp_rmem': tcpBuffer, 'net.ipv4.tcp_wmem': tcpBuffer };

function toIsolationConfig({ runtime, network }: DockerOptions): object {
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
export const fitDockerLimits = ({ limits, mostRuns }: DockerOptions): FittedLimits =>
  fitLimits(limits, mostRuns, noHardLimits, readFileMax());

function toContainerLimits(options: DockerOptions, uid: number): object {
  const { limits, openFiles } = fitDockerLimits(options);
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
    OomScoreAdj: expendableOomScore,
    NanoCpus: Math.round(cpus * 1e9),
    ShmSize: tmpBytes,
    Tmpfs: { '/tmp': folder('1777'), '/home/user': folder('700'), '/dev/shm': folder('1777') },
    Ulimits: [most('fsize', fileBytes), most('core', 0), most('nofile', openFiles)],
  };
}

interface DockerMount {
  readonly Type: 'bind';
  readonly Source: string;
  readonly Target: string;
  readonly ReadOnly: boolean;
}

function listDockerMounts(options: DockerOptions, place: Workspace | null): DockerMount[] {
  const { skills } = options;
  const mounts = [
    toBindMount(process.execPath, '/opt/workcrate/bin/node', true),
    toBindMount(insideFolder, modulesInContainer, true),
  ];
  // Without a network the engine writes none, and localhost would be unknown.
  if (hasNoNetwork(options)) mounts.push(toBindMount(`${insideFolder}/etc/hosts`, '/etc/hosts', true));
  if (place !== null)
    mounts.push(
      toBindMount(place.workspace, '/workspace', false),
      toBindMount(place.artifacts, '/artifacts', false),
    );
  const shared = findPublicFolder(skills, '--skills-path');
  if (shared !== null) mounts.push(toBindMount(shared, '/skills', true));
  return mounts;
}

/** A folder cannot be mounted into one that is read-only and lacks it, so the operator's tools are mounted one by one. */
function listToolMounts({ tools }: DockerOptions, called: string | null): DockerMount[] {
  const folder = findPublicFolder(tools, '--tools-path');
  if (called === null) return folder === null ? [] : [toBindMount(folder, toolsInside, true)];
  const own = folder === null ? [] : readdirSync(folder, { withFileTypes: true }).filter(isMountable);
  return [
    ...own.map(({ name }) => toBindMount(join(folder!, name), `${toolsInside}/${name}`, true)),
    toBindMount(called, `${toolsInside}/mcp`, true),
  ];
}

/** The engine would follow a link to wherever it leads. */
const isMountable = (entry: Dirent): boolean =>
  entry.name !== 'mcp' && (entry.isFile() || entry.isDirectory());

function listGateMounts(gate: Gate | null, { certificates = null }: DockerOptions): DockerMount[] {
  if (gate === null) return [];
  const { path } = gate;
  const socket = toBindMount(path, gateInside, true);
  return certificates === null ? [socket] : [socket, toBindMount(certificates, certificatesInside, true)];
}

/** The root folder of an image can be given no link, so /node_modules is a folder of links. */
function listContainerPackageMounts(place: Workspace | null, install: Installation | null): DockerMount[] {
  const packages = place?.packages ?? null;
  if (packages === null) return [];
  const names = join(packages, nodeNamesFolder);
  const folders = install === null ? [] : listWritableFolders(install);
  return [
    ...packageLanguages.map((name) => toBindMount(join(packages, name), join(packagesInside, name), true)),
    ...(isExistingFolder(names) ? [toBindMount(names, '/node_modules', true)] : []),
    ...folders.map((name) => toBindMount(join(packages, name), join(packagesInside, name), false)),
    ...(install?.npm ? [toBindMount(install.npm, npmInside, true)] : []),
  ];
}

function toBindMount(source: string, target: string, readOnly: boolean): DockerMount {
  return { Type: 'bind', Source: source, Target: target, ReadOnly: readOnly };
}

function isExistingFolder(path: string | null): path is string {
  return path !== null && statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

/** A container that waits for its only run. */
export interface Container {
  readonly id: string;
  /** Whether it still waits, as far as is known. */
  readonly alive: boolean;
  /** For its way out; null where it cannot have one. */
  readonly pass: GatePass | null;
  begin(task: ContainerTask): ContainerOutputs;
  /** Becomes the router of a session: its reports are its stdout. */
  beginSession(workingDir: string): ContainerOutputs & { send(text: string): void };
  term(): Promise<void>;
  /** Resolves once none of its processes runs. */
  kill(): Promise<void>;
  /** In whatever state it is. */
  remove(): Promise<void>;
}

export type ContainerTask = Pick<
  RunRequest,
  'language' | 'code' | 'workingDir' | 'stdin' | 'network' | 'install'
> & {
  /** Added to that of every run. */
  readonly environment: Readonly<Record<string, string>>;
  /** When it ends by itself. */
  readonly mostMs: number;
};

/** Starts a container for a user, or without folders for nobody. */
export async function startContainer(
  engine: Engine,
  options: DockerOptions,
  purpose: ContainerPurpose,
): Promise<Container> {
  const ways = await openWays(purpose);
  const { Id: id } = await withContainerErrors(
    options,
    engine.call<{ Id: string }>('POST', '/containers/create', toContainerConfig(options, purpose, ways)),
  ).catch(async (error: unknown) => {
    await ways[Symbol.asyncDispose]();
    throw error;
  });
  const { pass, tools } = ways;
  const remove = async (): Promise<void> => {
    pass?.[Symbol.dispose]();
    await ignoreMissingContainer(engine.call('DELETE', `/containers/${id}?force=1&v=1`));
    await ways[Symbol.asyncDispose]();
  };
  let socket: Socket | null = null;
  try {
    socket = await withContainerErrors(options, engine.attach(id));
    await withContainerErrors(options, engine.call('POST', `/containers/${id}/start`));
    return wrapContainer(engine, { id, pass, toolsPass: tools?.pass ?? null, remove }, socket);
  } catch (error) {
    socket?.destroy();
    await remove();
    throw error;
  }
}

function wrapContainer(
  engine: Engine,
  {
    id,
    pass,
    toolsPass,
    remove,
  }: Pick<Container, 'id' | 'pass' | 'remove'> & { toolsPass: ToolsPass | null },
  socket: Socket,
): Container {
  let alive = true;
  const signal = (name: string) =>
    ignoreMissingContainer(engine.call('POST', `/containers/${id}/kill?signal=${name}`));
  // The engine closes it when the container ends, which may be in the middle of our input.
  socket.on('error', () => {});
  socket.once('close', () => void (alive = false));
  return {
    id,
    pass,
    get alive() {
      return alive;
    },
    begin(task) {
      const { language, workingDir, mostMs, network = null, install = null } = task;
      if (pass !== null) pass.network = network;
      const environment = {
        ...task.environment,
        ...(install === null ? {} : getInstallVariables(packagesInside, npmInside)),
      };
      const way = { gate: pass?.token ?? null, tools: toolsPass?.token ?? null, environment };
      const outputs = sendTask(socket, { language, workingDir, mostMs, ...way }, task.code);
      socket.end(task.stdin);
      return outputs;
    },
    beginSession(workingDir) {
      const way = { gate: pass?.token ?? null, tools: null, environment: {} };
      const outputs = sendTask(socket, { language: 'session', workingDir, mostMs: sessionMs, ...way }, '');
      return { ...outputs, send: (text) => void socket.write(text) };
    },
    term: () => signal('SIGTERM'),
    kill: () => signal('SIGKILL'),
    async remove() {
      alive = false;
      await remove();
    },
  };
}

/** A session ends with its input, whoever closes that; this is for an engine that does not. */
const sessionMs = 7 * 24 * 3_600_000;

function sendTask(
  socket: Socket,
  { mostMs, ...given }: Omit<SupervisorTask, 'codeLength' | 'mark' | 'mostSeconds'> & { mostMs: number },
  code: string,
): ContainerOutputs {
  const mark = randomBytes(24);
  const task: SupervisorTask = {
    ...given,
    codeLength: Buffer.byteLength(code),
    mark: mark.toString('hex'),
    mostSeconds: Math.ceil(mostMs / 1000),
  };
  const outputs = splitOutputs(socket, mark);
  socket.write(`${JSON.stringify(task)}\n${code}`);
  return outputs;
}

/** The container is gone, or is being removed. */
async function ignoreMissingContainer(call: Promise<unknown>): Promise<void> {
  try {
    await call;
  } catch (error) {
    if (!(error instanceof EngineError) || ![404, 409].includes(error.status)) throw error;
  }
}

async function withContainerErrors<T>({ image, runtime }: DockerOptions, call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
    if (error.status === 404 && /no such image/i.test(error.message)) throw imageMissingError(image, error);
    const hint = runtime === null ? '' : ` The runtime is ${runtime}.`;
    throw new WorkcrateError(
      'sandbox_failed',
      `Docker could not start a container: ${error.message}.${hint}`,
      {
        cause: error,
      },
    );
  }
}

function imageMissingError(image: string, cause: Error): WorkcrateError {
  return new WorkcrateError(
    'sandbox_unavailable',
    `Docker has no image ${image}. Build one with python3 and bash in it (docker build -t ${image} .), fetch one (docker pull), or make one from a folder with a root file system: tar -C FOLDER -c . | docker import - ${image}. Another image can be named with --executor-image.`,
    { cause },
  );
}
