/**
 * The backend that runs code in containers of a Docker engine, a new one for each run. It does not know how a container
 * is made (`container.ts`) or what happens inside (`supervisor.ts`), and it pulls no image.
 */
import { WorkcrateError } from '../../../platform/errors.ts';
import { collectText } from '../../../platform/streams.ts';
import { createWatchedDisk } from '../disk.ts';
import { toProxyVariables } from '../gate.ts';
import {
  distributionScript,
  packageScript,
  parseDistributions,
  parsePackages,
  parseVersionLine,
  type PythonPackages,
} from '../interpreters.ts';
import {
  createRunQueue,
  type EnforcedClaims,
  type Language,
  type SandboxRun,
  type RunRequest,
  type Sandbox,
  type Workspace,
} from '../sandbox.ts';
import { buildSeccompProgram } from '../seccomp/seccomp.ts';
import { openSession } from '../sessions/session.ts';
import {
  fitDockerLimits,
  instanceLabel,
  startContainer,
  type Container,
  type DockerOptions,
} from './container.ts';
import { openDockerEngine, type Engine } from './engine.ts';
import { runInContainer, type ContainerRun } from './run.ts';
import { startContainerSession, type ContainerSession } from './session.ts';
import { createWaitingContainers } from './waiting.ts';

export type { DockerOptions } from './container.ts';

const dockerProbeMs = 30_000;

/** Where the router of a session finds the other interpreters. */
const insideContainer = { node: ['/opt/workcrate/bin/node'], bash: 'bash' };

/** What we need to know of an engine. */
interface EngineInfo {
  readonly MemoryLimit?: boolean;
  readonly PidsLimit?: boolean;
  readonly CpuCfsQuota?: boolean;
}

/**
 * Each run has a container of its own, which was started ahead of time and is removed after the run. Rejects with
 * `sandbox_unavailable` if the engine or the image is missing.
 */
export async function dockerSandbox(options: DockerOptions): Promise<Sandbox> {
  const engine = openDockerEngine(options.socket);
  const info = await engine.call<EngineInfo>('GET', '/info');
  await removeLeftContainers(engine, options);
  const { runtimes, packages, distributions } = await probeImage(engine, options);
  const languages = [...runtimes.keys()];

  const queue = createRunQueue(options);
  const disk = createWatchedDisk(options.limits.diskBytes, options.log);
  const isProxied = options.isProxied === true;
  const start = (
    place: Workspace,
    isGated: boolean,
    { install = null, tools = null }: Pick<RunRequest, 'install' | 'tools'> = {},
  ): Promise<Container> => startContainer(engine, options, { place, isGated, install, tools });
  const waiting = createWaitingContainers(options, (place) => start(place, isProxied));
  /** A container that waits may be one that cannot be given a network. */
  const take = (
    request: Pick<RunRequest, 'user' | 'place' | 'install' | 'tools'>,
    needsNetwork: boolean,
  ): Promise<Container> => {
    const { user, place, install = null, tools = null } = request;
    if (install !== null || tools !== null) return start(place, needsNetwork, { install, tools });
    return needsNetwork && !isProxied ? start(place, true) : waiting.take(user, place);
  };
  const running = new Set<ContainerRun>();
  const sessions = new Set<ContainerSession>();

  return {
    kind: 'docker',
    languages,
    holds: describeDockerLimits(options, info),
    limits: options.limits,
    warnings: fitDockerLimits(options).warnings,
    runtime: async (language) => runtimes.get(language) ?? null,
    pythonPackages: async () => packages,
    pythonDistributions: async () => distributions,
    preload: async () => null,
    folders: () => null,
    warm: (user, place) => waiting.warm(user, place),
    claimDisk: (place, bytes) => disk.claim(place, bytes),
    async start(request) {
      const leave = await queue.enter(request);
      try {
        await disk.admit(request.place);
        const container = await take(request, (request.network ?? null) !== null);
        return follow(container, request, leave);
      } catch (error) {
        leave();
        throw error;
      }
    },
    async startSession(request) {
      await disk.admit(request.place);
      const container = await take(request, (request.environment ?? null) !== null);
      const session = startContainerSession(engine, container, request.workingDir, options);
      sessions.add(session);
      void session.over.finally(() => sessions.delete(session));
      waiting.refill(request.user, request.place);
      const environment = toProxyVariables(request.environment, options);
      return openSession(session.router, request, {
        queue,
        disk,
        inside: { ...insideContainer, environment },
      });
    },
    occupancy: () => ({ running: queue.running(), queued: queue.queued(), warm: waiting.count() }),
    async [Symbol.asyncDispose]() {
      queue.close();
      await waiting[Symbol.asyncDispose]();
      for (const { stop } of running) stop.killNow('cancelled');
      for (const { router } of sessions) router.kill('cancelled');
      await Promise.all([...running, ...sessions].map(({ over }) => over));
      await disk[Symbol.asyncDispose]();
    },
  };

  function follow(container: Container, request: RunRequest, leave: () => void): SandboxRun {
    const following = runInContainer(engine, container, request, { ...options, disk });
    running.add(following);
    void following.over.finally(() => {
      running.delete(following);
      leave();
    });
    // In the background, so that the run does not wait for it.
    waiting.refill(request.user, request.place);
    return following.run;
  }
}

/** Removes containers of this server that it left when it was killed. */
async function removeLeftContainers(engine: Engine, { instance, log }: DockerOptions): Promise<void> {
  const filters = encodeURIComponent(JSON.stringify({ label: [`${instanceLabel}=${instance}`] }));
  const found = await engine.call<{ Id: string }[]>('GET', `/containers/json?all=1&filters=${filters}`);
  for (const { Id } of found) await engine.call('DELETE', `/containers/${Id}?force=1&v=1`);
  if (found.length > 0) log.info('sandbox.leftovers_removed', { containers: found.length });
}

/** Every line is a version; the last one is missing if there is no node, and the exit code says so. */
const versionScript =
  `python3 -s -c '${packageScript}'; python3 -s -c '${distributionScript}';` +
  'python3 --version; echo "GNU bash $BASH_VERSION"; version=$(node --version) && echo "Node.js $version"';

interface ProbedImage {
  readonly runtimes: ReadonlyMap<Language, string | null>;
  readonly packages: PythonPackages | null;
  readonly distributions: ReadonlyMap<string, string>;
}

/**
 * Runs a container once, so that an unfit image is found at the start, and reads which languages there are, their
 * versions and the Python packages.
 */
async function probeImage(engine: Engine, options: DockerOptions): Promise<ProbedImage> {
  const container = await startContainer(engine, options, { place: null, isGated: false });
  const timer = setTimeout(() => void container.kill(), dockerProbeMs);
  try {
    const run = container.begin({
      language: 'bash',
      code: versionScript,
      workingDir: '/',
      stdin: '',
      mostMs: dockerProbeMs,
      environment: {},
    });
    const [out, err, report] = await Promise.all([
      collectText(run.stdout),
      collectText(run.stderr),
      run.report,
    ]);
    if (report === null) throw unfitImageError(options.image, err);
    if (report.code === 127) options.log.warn('sandbox.language_missing', { why: err.trim() });
    const findVersion = (name: string) =>
      parseVersionLine(out.split('\n').find((line) => line.startsWith(`${name} `)) ?? '');
    const found = new Map<Language, string | null>([['python', findVersion('Python')]]);
    if (/^Node\.js /m.test(out)) found.set('node', findVersion('Node.js'));
    if (!err.startsWith('bash cannot be started')) found.set('bash', findVersion('GNU bash'));
    return { runtimes: found, packages: parsePackages(out), distributions: parseDistributions(out) };
  } finally {
    clearTimeout(timer);
    await container.remove();
  }
}

function unfitImageError(image: string, errorText: string): WorkcrateError {
  const why = errorText.trim() === '' ? 'It said nothing.' : errorText.trim().slice(-500);
  return new WorkcrateError(
    'sandbox_unavailable',
    `The image ${image} cannot run code: it needs python3 (3.9 or newer, with ctypes), bash and env. ${why}`,
  );
}

function describeDockerLimits({ network }: DockerOptions, info: EngineInfo): EnforcedClaims {
  const explainMissingLimit = (what: string) =>
    `this engine cannot limit ${what}: the kernel lacks that cgroup.`;
  return {
    unprivileged: true,
    filesystem: true,
    network: network === 'none' ? true : 'the network is allowed by --sandbox-network host.',
    host_processes: true,
    whole_tree: true,
    syscalls:
      buildSeccompProgram(network) === null
        ? 'on this processor only the filter of the Docker engine is enforced.'
        : true,
    environment: true,
    fresh: true,
    memory: info.MemoryLimit === false ? explainMissingLimit('memory') : true,
    processes: info.PidsLimit === false ? explainMissingLimit('processes') : true,
    cpu: info.CpuCfsQuota === false ? explainMissingLimit('cores') : true,
    file_size: true,
    disk: true,
    tmp: true,
  };
}
