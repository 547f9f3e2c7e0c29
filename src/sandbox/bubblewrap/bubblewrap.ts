/**
 * The default backend: Linux namespaces by bubblewrap, and one pool of waiting interpreters for each user. It builds no
 * command line (`launch.ts`), speaks to no process (`fork-server.ts`, `worker.ts`) and counts no disk (`../disk.ts`).
 */
import { WorkcrateError } from '../../errors.ts';
import { openCgroups } from '../cgroups/cgroups.ts';
import { createWatchedDisk } from '../disk.ts';
import { fitLimits, readFileMax, readHardLimits } from '../hard-limits.ts';
import { createPackageLookup, createRuntimeLookup } from '../interpreters.ts';
import {
  languages,
  createRunQueue,
  type EnforcedClaims,
  type RunLimitSettings,
  type Workspace,
  type Sandbox,
  type SandboxOptions,
} from '../sandbox.ts';
import { buildSeccompProgram } from '../seccomp/seccomp.ts';
import { openSession } from '../sessions/session.ts';
import { getMemoryPerProcess, getNodeFlags } from './fork-server.ts';
import { demandPrograms, findPython, outerEnvironment, sweepStages } from './launch.ts';
import { endLeftovers } from './leftovers.ts';
import { createInterpreterPool, type InterpreterPool } from './pool.ts';
import { runOnWorker, startSessionOnWorker } from './worker.ts';

export interface BubblewrapOptions extends SandboxOptions {
  /** A path, or null for the system's. */
  readonly python: string | null;
}

/** For so many users interpreters wait; of further ones, the least recent has a cold start. */
const mostPools = 16;
const forkServerAnswerMs = 4;

/** Linux namespaces by bubblewrap, with interpreters that are forked ahead of time. */
export async function bubblewrapSandbox(options: BubblewrapOptions): Promise<Sandbox> {
  const isRoot = process.getuid?.() === 0;
  demandPrograms(isRoot);
  if (isRoot) sweepStages();
  const processes = endLeftovers();
  if (processes > 0) options.log.info('sandbox.leftovers_removed', { processes });
  const seccomp = buildSeccompProgram(options.network);
  if (seccomp === null)
    throw new WorkcrateError('sandbox_unavailable', `There is no system call filter for ${process.arch}.`);
  const python = await findPython(options.python);
  const runtime = createRuntimeLookup({
    python: python.path,
    bash: '/bin/bash',
    path: outerEnvironment.PATH,
  });
  const pythonPackages = createPackageLookup(python.path, outerEnvironment.PATH);
  const cgroups = openCgroups({ name: 'workcrate' });
  await cgroups.sweep();
  const queue = createRunQueue(options);
  const { log } = options;
  const { limits, openFiles, warnings } = fitLimits(
    options.limits,
    options.mostRuns,
    readHardLimits(),
    readFileMax(),
  );
  const disk = createWatchedDisk(limits.diskBytes, log);
  const { path, prefix: pythonPrefix } = python;
  const shared = { limits, openFiles, python: path, pythonPrefix, seccomp, cgroups };
  const pools = createUserPools((place) => createInterpreterPool(place, { ...options, ...shared }), log);

  return {
    kind: 'bubblewrap',
    languages,
    holds: describeBubblewrapLimits(cgroups.holds, options.network, limits),
    limits,
    warnings,
    runtime,
    pythonPackages,
    folders: () => null,
    async warm(user, place) {
      const pool = pools.get(user, place);
      // So that no run has to wait for them.
      await Promise.all([pool.ready(), pythonPackages(), ...languages.map(runtime)]);
      pools.fillBehind(pool);
    },
    claimDisk: (place, bytes) => disk.claim(place, bytes),
    async start(request) {
      const leave = await queue.enter(request);
      try {
        await disk.admit(request.place);
        const pool = pools.get(request.user, request.place);
        const taken = await pool.take(request.language);
        return runOnWorker(taken, request, { limits, disk }, () => {
          leave();
          pools.fillBehind(pool);
        });
      } catch (error) {
        leave();
        throw error;
      }
    },
    async startSession(request) {
      await disk.admit(request.place);
      const pool = pools.get(request.user, request.place);
      // The router is Python whatever the language is.
      const taken = await pool.take('python');
      const router = startSessionOnWorker(taken, limits, () => pools.fillBehind(pool));
      pools.fillBehind(pool);
      const inside = { node: ['/opt/workcrate/bin/node', ...getNodeFlags(limits)], bash: '/bin/bash' };
      return openSession(router, request, { queue, disk, inside });
    },
    occupancy: () => ({
      running: queue.running(),
      queued: queue.queued(),
      warm: pools.countWarm(),
    }),
    async [Symbol.asyncDispose]() {
      queue.close();
      await pools.close();
      await disk[Symbol.asyncDispose]();
      await cgroups.close();
    },
  };
}

/** One pool of interpreters for each user; of too many, the least recent is closed. */
function createUserPools(createPool: (place: Workspace) => InterpreterPool, log: BubblewrapOptions['log']) {
  const pools = new Map<string, InterpreterPool>();
  let closing = false;

  /** Of users whose folders were created again: their waiting interpreters see folders that are gone. */
  const retired = new Set<InterpreterPool>();
  const closeIfIdle = async (pool: InterpreterPool): Promise<void> => {
    if (pool.running > 0 || !retired.delete(pool)) return;
    await pool.close();
  };

  const retire = (pool: InterpreterPool): void => {
    retired.add(pool);
    void closeIfIdle(pool);
  };

  const getPool = (user: string, place: Workspace): InterpreterPool => {
    const last = pools.get(user);
    if (last?.place === place) return last;
    const pool = createPool(place);
    pools.set(user, pool);
    if (last !== undefined) retire(last);
    if (pools.size > mostPools) void closeOldest(pools);
    return pool;
  };

  /** A moment later, so that the caller of the last run gets its answer first. */
  const fillBehind = (pool: InterpreterPool): void => {
    const logError = (error: unknown): void =>
      void (closing || log.error('sandbox.pool_not_filled', { error }));
    const fillOrClose = (): Promise<void> => (retired.has(pool) ? closeIfIdle(pool) : pool.fill());
    setTimeout(() => void fillOrClose().catch(logError), forkServerAnswerMs).unref();
  };

  return {
    get: getPool,
    fillBehind,
    countWarm: (): number => [...pools.values()].reduce((sum, pool) => sum + pool.warm, 0),
    async close(): Promise<void> {
      closing = true;
      await Promise.all([...pools.values(), ...retired].map((pool) => pool.close()));
    },
  };
}

async function closeOldest(pools: Map<string, InterpreterPool>): Promise<void> {
  const idle = [...pools].filter(([, pool]) => pool.running === 0);
  const [user, pool] = idle.sort(([, a], [, b]) => a.lastUsed - b.lastUsed)[0] ?? [];
  if (user === undefined) return;
  pools.delete(user);
  await pool!.close();
}

function describeBubblewrapLimits(
  cgroups: Pick<EnforcedClaims, 'memory' | 'processes' | 'cpu'>,
  network: 'none' | 'host',
  limits: RunLimitSettings,
): EnforcedClaims {
  const gigabytes = (getMemoryPerProcess(limits) / 1024 ** 3).toFixed(1);
  const each = `the limit of ${gigabytes} GB is for each process, not for the whole run`;
  return {
    unprivileged: true,
    filesystem: true,
    network: network === 'none' ? true : 'runs have the network of the host (--sandbox-network host)',
    host_processes: true,
    whole_tree: true,
    syscalls: true,
    environment: true,
    fresh: true,
    memory: cgroups.memory === true ? true : `${each}: ${cgroups.memory}`,
    // The kernel counts the processes of a user namespace too, and every run has one of its own.
    processes: true,
    cpu: cgroups.cpu,
    file_size: true,
    disk: true,
    tmp: true,
  };
}
