/**
 * The default backend: Linux namespaces by bubblewrap, and one pool of waiting interpreters for each user. It builds no
 * command line (`launch.ts`), speaks to no process (`fork-server.ts`, `worker.ts`) and counts no disk (`../disk.ts`).
 */
import { WorkcrateError } from '../../../platform/errors.ts';
import type { Log } from '../../../platform/observability/log.ts';
import { openCgroups } from '../cgroups/cgroups.ts';
import { createWatchedDisk } from '../disk.ts';
import { openGate, toProxyVariables } from '../gate.ts';
import { fitLimits, readFileMax, readHardLimits } from '../hard-limits.ts';
import { createDistributionLookup, createPackageLookup, createRuntimeLookup } from '../interpreters.ts';
import {
  languages,
  createRunQueue,
  type EnforcedClaims,
  type Preload,
  type RunLimitSettings,
  type RunRequest,
  type SessionRequest,
  type Workspace,
  type Sandbox,
  type SandboxOptions,
} from '../sandbox.ts';
import { buildSeccompProgram } from '../seccomp/seccomp.ts';
import { openSession } from '../sessions/session.ts';
import { createSpareMemory } from './demand.ts';
import { getMemoryPerProcess, getNodeFlags } from './fork-server.ts';
import { checkPrograms, findPython, outerEnvironment, sweepTemporaryFolders } from './launch.ts';
import { endLeftovers } from './leftovers.ts';
import {
  createInterpreterPool,
  type InterpreterPool,
  type InterpreterPoolOptions,
  type WorkerNeeds,
} from './pool.ts';
import { findImports, planPreload, type PreloadPlan } from './preload.ts';
import type { InterpreterKind } from './user-sandbox.ts';
import { runOnWorker, startSessionOnWorker } from './worker.ts';

export interface BubblewrapOptions extends SandboxOptions {
  /** A path, or null for the system's. */
  readonly python: string | null;
}

/** For so many users interpreters wait; of further ones, the least recent has a cold start. */
const maxPools = 16;
const forkServerAnswerMs = 4;

/** Linux namespaces by bubblewrap, with interpreters that are forked ahead of time. */
export async function bubblewrapSandbox(options: BubblewrapOptions): Promise<Sandbox> {
  const isRoot = process.getuid?.() === 0;
  checkPrograms(isRoot);
  sweepTemporaryFolders();
  const processes = endLeftovers();
  if (processes > 0) options.log.info('sandbox.leftovers_removed', { processes });
  const seccomp = buildSeccompProgram(options.network);
  if (seccomp === null)
    throw new WorkcrateError('sandbox_unavailable', `There is no system call filter for ${process.arch}.`);
  const python = await findPython(options.python);
  const programs = { python: python.path, bash: '/bin/bash', path: outerEnvironment.PATH };
  const runtime = createRuntimeLookup(programs);
  const pythonPackages = createPackageLookup(python.path, outerEnvironment.PATH);
  let plan: Promise<PreloadPlan> | null = null;
  const planOnce = (): Promise<PreloadPlan> => (plan ??= planPreload(python.path, options.pythonPreload));
  const preload = createPreloadNote(options.log);
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
  const gate = await openGate('relays');
  const { path, folders: pythonFolders, prefix: pythonPrefix } = python;
  const shared = { limits, openFiles, python: path, pythonFolders, pythonPrefix, seccomp, cgroups, gate };
  const preloading = { planPreload: planOnce, notePreload: preload.note };
  const poolOptions = { ...options, ...shared, ...preloading, spareMemory: createSpareMemory() };
  const pools = createUserPools((place) => createInterpreterPool(place, poolOptions), log);
  const installing = createInstallPools(poolOptions);

  const takeWorker = async (request: RunRequest) => {
    const needs = { network: (request.network ?? null) !== null, tools: request.tools ?? null };
    if (request.install) return installing.take(request, needs);
    const pool = pools.get(request.user, request.place);
    const taken = await pool.take(await chooseInterpreter(request, planOnce), needs);
    return { taken, finish: () => pools.fillBehind(pool) };
  };

  return {
    kind: 'bubblewrap',
    languages,
    holds: describeBubblewrapLimits(cgroups.holds, options.network, limits),
    limits,
    warnings,
    runtime,
    pythonPackages,
    pythonDistributions: createDistributionLookup(python.path, outerEnvironment.PATH),
    preload: () => preload.first,
    folders: () => null,
    async warm(user, place) {
      const pool = pools.get(user, place);
      void planOnce();
      // So that no run has to wait for them.
      await Promise.all([pool.ready(), pythonPackages(), ...languages.map(runtime)]);
      pools.fillBehind(pool);
    },
    claimDisk: (place, bytes) => disk.claim(place, bytes),
    async start(request) {
      const leave = await queue.enter(request);
      try {
        await disk.admit(request.place);
        const { taken, finish } = await takeWorker(request);
        return runOnWorker(taken, request, { ...options, limits, disk }, () => {
          leave();
          finish();
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
      const kind = request.language === 'python' ? 'preloaded' : 'python';
      const taken = await pool.take(kind, { network: (request.environment ?? null) !== null });
      const router = startSessionOnWorker(taken, limits, () => pools.fillBehind(pool));
      pools.fillBehind(pool);
      const inside = describeInside(request, { ...options, limits });
      return openSession(router, request, { queue, disk, inside });
    },
    occupancy: () => ({
      running: queue.running(),
      queued: queue.queued(),
      warm: pools.countWarm(),
    }),
    async [Symbol.asyncDispose]() {
      preload.close();
      queue.close();
      await pools.close();
      await installing.close();
      await gate[Symbol.asyncDispose]();
      await disk[Symbol.asyncDispose]();
      await cgroups.close();
    },
  };
}

/** One with libraries for code that imports any. */
async function chooseInterpreter(
  { language, code }: RunRequest,
  plan: () => Promise<PreloadPlan>,
): Promise<InterpreterKind> {
  if (language !== 'python' || findImports(code).length === 0) return language;
  return (await plan()).isWantedBy(code) ? 'preloaded' : language;
}

/** What the router of a session has to know. */
const describeInside = ({ environment }: SessionRequest, options: SandboxOptions) => ({
  node: ['/opt/workcrate/bin/node', ...getNodeFlags(options.limits)],
  bash: '/bin/bash',
  environment: toProxyVariables(environment, options),
});

/** One pool of interpreters for each user; of too many, the least recent is closed. */
function createUserPools(createPool: (place: Workspace) => InterpreterPool, log: Log) {
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
    if (pools.size > maxPools) void closeOldest(pools);
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

/** A sandbox of its own for each install, in which nothing else of the user runs. */
function createInstallPools(options: InterpreterPoolOptions) {
  const pools = new Set<InterpreterPool>();
  const close = async (pool: InterpreterPool): Promise<void> => {
    pools.delete(pool);
    await pool.close();
  };
  return {
    async take({ place, language, install = null }: RunRequest, needs: WorkerNeeds) {
      const pool = createInterpreterPool(place, { ...options, install });
      pools.add(pool);
      try {
        const taken = await pool.take(language, needs);
        return { taken, finish: () => void close(pool) };
      } catch (error) {
        await close(pool);
        throw error;
      }
    },
    async close(): Promise<void> {
      await Promise.all([...pools].map(close));
    },
  };
}

/** Logs what was loaded, and again only what is new. */
function createPreloadNote(log: Log) {
  const first = Promise.withResolvers<Preload | null>();
  let last = '';
  return {
    first: first.promise,
    note(preload: Preload): void {
      const { loaded, failed, ms } = preload;
      first.resolve(preload);
      const told = JSON.stringify([loaded, failed]);
      if (told === last) return;
      last = told;
      if (Object.keys(failed).length > 0) log.warn('sandbox.not_preloaded', { failed });
      if (loaded.length > 0) log.info('sandbox.preloaded', { loaded, ms });
    },
    close: () => first.resolve(null),
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
