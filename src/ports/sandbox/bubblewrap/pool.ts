import { randomBytes } from 'node:crypto';
import { availableParallelism } from 'node:os';
import type { Log } from '../../../platform/observability/log.ts';
import { readInstalledModules } from '../environments.ts';
import type { Gate, GatePass } from '../gate.ts';
import {
  sandboxClosedError,
  type Language,
  type Preload,
  type RunTools,
  type Workspace,
} from '../sandbox.ts';
import { createDemands, type SpareMemory } from './demand.ts';
import { toPreload, type PreloadPlan } from './preload.ts';
import {
  interpreterKinds,
  makeForEachKind,
  startUserSandbox,
  type InterpreterKind,
  type UserSandbox,
  type UserSandboxOptions,
  type WaysOut,
} from './user-sandbox.ts';
import type { Worker } from './worker.ts';

export interface InterpreterPoolOptions extends UserSandboxOptions {
  readonly warm: Readonly<Record<Language, number>>;
  /** For more than these, while they are asked for. */
  readonly spareMemory: SpareMemory;
  /** Whether those that wait can be given a network. */
  readonly isProxied?: boolean;
  readonly log: Log;
  /** Asked once the first interpreters wait. */
  planPreload(): Promise<PreloadPlan>;
  /** Called when libraries are loaded, or could not be. */
  notePreload(preload: Preload): void;
}

/** A worker together with the user's sandbox that can stop it. */
export interface TakenWorker {
  readonly worker: Worker;
  readonly userSandbox: UserSandbox;
  /** For its way out; null where it cannot have one. */
  readonly pass: GatePass | null;
}

/** What an interpreter has to be made for, beyond its language. */
export interface WorkerNeeds {
  readonly network: boolean;
  /** One that is given tools is made for the run: none waits with them. */
  readonly tools?: RunTools | null;
}

/** The interpreters of one user: some wait, each for one run; a run that finds none waits until one is forked. */
export interface InterpreterPool {
  readonly place: Workspace;
  readonly warm: number;
  /** Runs that have not ended. */
  readonly running: number;
  lastUsed: number;
  /** Resolves when runs can start; rejects if they cannot. */
  ready(): Promise<void>;
  fill(): Promise<void>;
  /** One with libraries is one without where they are not loaded yet, or cannot be. */
  take(kind: InterpreterKind, needs: WorkerNeeds): Promise<TakenWorker>;
  close(): Promise<void>;
}

/** Of those with libraries fewer wait: each takes more memory, and what they are for takes longer than to start one. */
const maxWarmPreloaded = 2;

const countPreloaded = (warm: InterpreterPoolOptions['warm'], areLoaded: boolean): number =>
  areLoaded ? Math.min(warm.python, maxWarmPreloaded) : 0;

export function createInterpreterPool(place: Workspace, options: InterpreterPoolOptions): InterpreterPool {
  const waiting = makeForEachKind<TakenWorker[]>(() => []);
  const making = makeForEachKind(() => 0);
  /** Runs that found none, and take the next interpreter. */
  const impatient = makeForEachKind<PromiseWithResolvers<TakenWorker>[]>(() => []);
  let running = 0;
  let closed = false;

  const forget = (userSandbox: UserSandbox): void => {
    libraries.forget();
    for (const kind of interpreterKinds) removeUserWorkers(userSandbox, waiting[kind]);
  };

  const sandbox = keepUserSandbox(place, options, forget);
  const libraries = createLibraryLoader(sandbox.get, options);

  const demand = createDemands(options.spareMemory, (kind) =>
    waiting[kind].splice(getWanted(kind)).forEach(endUnused),
  );

  const usual: WorkerNeeds = { network: options.isProxied === true };
  const make = async (kind: InterpreterKind, needs = usual): Promise<TakenWorker> => {
    // Not in a closed pool: nobody would end what is started there.
    if (closed) throw sandboxClosedError();
    return makeWorker(await sandbox.get(), kind, makePasses(options.gate, needs));
  };

  const fillOne = async (kind: InterpreterKind): Promise<void> => {
    making[kind]++;
    try {
      const taken = await make(kind);
      if (closed) return endUnused(taken);
      const first = impatient[kind].shift();
      if (first !== undefined) return first.resolve(taken);
      waiting[kind].push(taken);
      void taken.worker.outcome.then(() => removeItem(waiting[kind], taken) && taken.worker.abandon());
    } catch (error) {
      // The run that waited for it starts another one.
      const first = impatient[kind].shift();
      if (first !== undefined) make(kind).then(first.resolve, first.reject);
      throw error;
    } finally {
      making[kind]--;
    }
  };

  /** An interpreter that is being started for the pool is ready sooner than a new one. */
  const next = (kind: InterpreterKind): Promise<TakenWorker> => {
    if (making[kind] <= impatient[kind].length) return make(kind);
    const wanted = Promise.withResolvers<TakenWorker>();
    impatient[kind].push(wanted);
    return wanted.promise;
  };

  const missing = (kind: InterpreterKind): number =>
    closed ? 0 : getWanted(kind) - waiting[kind].length - making[kind];

  const getUsual = (kind: InterpreterKind): number =>
    kind === 'preloaded' ? countPreloaded(options.warm, libraries.areLoaded) : options.warm[kind];
  const getWanted = (kind: InterpreterKind): number => getUsual(kind) + demand[kind].extra;

  const nodesAtOnce = (): number => (demand.node.extra > 0 ? availableParallelism() : 1);
  const startable = (kind: InterpreterKind): number =>
    kind === 'node' ? Math.min(missing('node'), nodesAtOnce() - making.node) : missing(kind);

  /** Where none is to wait, none does. */
  const takeWaiting = async (kind: InterpreterKind): Promise<TakenWorker> => {
    const found = waiting[kind].shift();
    if (found !== undefined) return found;
    if (getUsual(kind) > 0) demand[kind].noteMiss();
    return next(kind);
  };

  /**
   * Starts all that are missing at once: most of the time goes to the kernel, which moves each into its cgroup. Node takes
   * processor time to start, so there is one at a time, or one for each processor while they are asked for.
   */
  const fill = async (): Promise<void> => {
    const started: Promise<void>[] = [];
    for (const kind of interpreterKinds)
      for (let count = startable(kind); count > 0; count--) started.push(fillOne(kind));
    await Promise.all(started);
    if (missing('node') > 0 && making.node === 0) await fill();
    // Last, since it takes a processor for a while.
    if (!libraries.areLoaded && !closed && (await libraries.load())) await fill();
  };

  return {
    place,
    get warm() {
      return interpreterKinds.reduce((sum, kind) => sum + waiting[kind].length, 0);
    },
    get running() {
      return running;
    },
    lastUsed: Date.now(),
    ready: async () => void (await sandbox.get()),
    fill,
    async take(wanted, needs) {
      this.lastUsed = Date.now();
      running++;
      try {
        // It does not wait for what it may not need: to import that takes as long as to load it.
        const kind = wanted === 'preloaded' && !libraries.areOfUseTo(place) ? 'python' : wanted;
        const isMadeForIt = (needs.tools ?? null) !== null || (needs.network && !usual.network);
        const taken = isMadeForIt ? await make(kind, needs) : await takeWaiting(kind);
        void taken.worker.outcome.then(() => running--);
        return taken;
      } catch (error) {
        running--;
        throw error;
      }
    },
    async close() {
      closed = true;
      libraries.forget();
      demand[Symbol.dispose]();
      Object.values(impatient).flat().forEach(sendAway);
      await sandbox.close();
    },
  };
}

async function makeWorker(
  userSandbox: UserSandbox,
  kind: InterpreterKind,
  passes: WorkerPasses,
): Promise<TakenWorker> {
  try {
    const worker = await userSandbox.make(randomBytes(8).toString('hex'), kind, passes);
    void worker.outcome.then(() => passes[Symbol.dispose]());
    return { userSandbox, worker, pass: passes.pass };
  } catch (error) {
    passes[Symbol.dispose]();
    throw error;
  }
}

/** By these its connections are let through until it has ended. */
type WorkerPasses = WaysOut & Disposable;

function makePasses(gate: Gate, { network, tools: given = null }: WorkerNeeds): WorkerPasses {
  const pass = network ? gate.makePass() : null;
  const toolsPass = given === null ? null : gate.makeToolsPass(given);
  const tools =
    toolsPass === null ? null : { token: toolsPass.token, files: Object.fromEntries(given!.files) };
  return {
    pass,
    tools,
    [Symbol.dispose]() {
      pass?.[Symbol.dispose]();
      toolsPass?.[Symbol.dispose]();
    },
  };
}

/** The user's sandbox, or a new one if the last has died. */
function keepUserSandbox(
  place: Workspace,
  options: UserSandboxOptions,
  noteEnd: (userSandbox: UserSandbox) => void,
) {
  let starting: Promise<UserSandbox> | null = null;

  const start = async (): Promise<UserSandbox> => {
    try {
      const userSandbox = await startUserSandbox(place, options);
      void userSandbox.ended.then(() => forget(userSandbox));
      return userSandbox;
    } catch (error) {
      starting = null;
      throw error;
    }
  };

  const forget = (userSandbox: UserSandbox): void => {
    starting = null;
    noteEnd(userSandbox);
  };

  return {
    get: (): Promise<UserSandbox> => (starting ??= start()),
    async close(): Promise<void> {
      const userSandbox = await starting?.catch(() => null);
      await userSandbox?.close();
    },
  };
}

const nothingLoaded = { pid: 0, loaded: [], failed: {}, modules: [], ms: 0 };

/** Loads libraries in the sandbox of a user, once in each. */
function createLibraryLoader(
  getUserSandbox: () => Promise<UserSandbox>,
  { planPreload, notePreload }: InterpreterPoolOptions,
) {
  let loading: Promise<Preload> | null = null;
  let areLoaded = false;
  let modules: readonly string[] = [];

  const load = async (): Promise<Preload> => {
    const plan = await planPreload();
    const userSandbox = plan.names.length === 0 ? null : await getUserSandbox();
    const event = await userSandbox?.preload(plan.names).catch((error: Error) => {
      const failed = Object.fromEntries(plan.names.map((name) => [name, error.message]));
      return { ...nothingLoaded, failed };
    });
    ({ modules } = event ?? nothingLoaded);
    return toPreload(event ?? nothingLoaded, plan);
  };

  return {
    get areLoaded() {
      return areLoaded;
    },
    /** Not to a user who has installed one of the loaded modules: code would get the wrong version. */
    areOfUseTo(place: Workspace): boolean {
      if (!areLoaded) return false;
      const installed = readInstalledModules(place);
      return installed.size === 0 || !modules.some((name) => installed.has(name));
    },
    /** Whether it worked. Of several calls, the first loads. */
    async load(): Promise<boolean> {
      const own = (loading ??= load());
      const preload = await own;
      // Meanwhile the sandbox may have ended.
      if (own !== loading) return false;
      notePreload(preload);
      areLoaded = preload.loaded.length > 0;
      return areLoaded;
    },
    /** The sandbox has ended. */
    forget(): void {
      loading = null;
      areLoaded = false;
    },
  };
}

const sendAway = ({ reject }: PromiseWithResolvers<TakenWorker>): void => reject(sandboxClosedError());

/** Of a user's sandbox that has ended. */
function removeUserWorkers(userSandbox: UserSandbox, waiting: TakenWorker[]): void {
  for (const taken of waiting.filter((taken) => taken.userSandbox === userSandbox)) {
    removeItem(waiting, taken);
    taken.worker.abandon();
  }
}

/** Ends an interpreter that no run was given. */
function endUnused({ userSandbox, worker }: TakenWorker): void {
  userSandbox.kill(worker.id);
  worker.abandon();
}

/** Whether it was there. */
function removeItem<T>(list: T[], item: T): boolean {
  const at = list.indexOf(item);
  if (at >= 0) list.splice(at, 1);
  return at >= 0;
}
