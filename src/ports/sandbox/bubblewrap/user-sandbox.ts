import type { Log } from '../../../platform/observability/log.ts';
import type { Cgroups } from '../cgroups/cgroups.ts';
import type { Gate, GatePass } from '../gate.ts';
import { languages, type RunLimitSettings, type Workspace } from '../sandbox.ts';
import { findHostPid, createGroupPool, startForkServer, type WantedTools } from './fork-server.ts';
import type { MountOptions } from './launch.ts';
import { openWorkerPipes } from './pipes.ts';
import type { PreloadedEvent } from './preload.ts';
import { attachWorker, type Worker } from './worker.ts';

export interface UserSandboxOptions extends Omit<MountOptions, 'place' | 'gate'> {
  readonly python: string;
  /** The `sys.prefix` that it must have; null if that is clear. */
  readonly pythonPrefix: string | null;
  readonly network: 'none' | 'host';
  readonly limits: RunLimitSettings;
  /** Of each process of a run. */
  readonly openFiles: number;
  readonly seccomp: Buffer;
  readonly cgroups: Cgroups;
  readonly gate: Gate;
  readonly log: Log;
}

/** What an interpreter is started as: one of Python may have libraries loaded. */
export const interpreterKinds = [...languages, 'preloaded'] as const;
export type InterpreterKind = (typeof interpreterKinds)[number];

export const makeForEachKind = <T>(make: (kind: InterpreterKind) => T): Record<InterpreterKind, T> => ({
  python: make('python'),
  node: make('node'),
  bash: make('bash'),
  preloaded: make('preloaded'),
});

/** What an interpreter is given by which it reaches the server. */
export interface WaysOut {
  /** For a network. */
  readonly pass: GatePass | null;
  /** For tools: then it is for the run that may call them, and for no other. */
  readonly tools: WantedTools | null;
}

/** The sandbox of one user, with the fork server in it. All its runs die with it, and it dies with this process. */
export interface UserSandbox {
  /** Resolves when it is gone. */
  readonly ended: Promise<void>;
  /** Starts an interpreter that waits for a run, one with libraries only after `preload`. */
  make(id: string, kind: InterpreterKind, ways: WaysOut): Promise<Worker>;
  /** Loads libraries, once. */
  preload(names: readonly string[]): Promise<PreloadedEvent>;
  /** Resolves when every process of a run has been killed and reaped. */
  gone(id: string): Promise<void>;
  /** From now on the run is killed if it takes memory of the kernel that no limit counts. */
  watch(id: string): void;
  /** SIGTERM to every process of a run. */
  term(id: string): void;
  /** SIGKILL to every process of a run. */
  kill(id: string): void;
  close(): Promise<void>;
}

export async function startUserSandbox(place: Workspace, options: UserSandboxOptions): Promise<UserSandbox> {
  const groups = createGroupPool(options.cgroups, options.limits, options.log);
  const alive = new Map<string, PromiseWithResolvers<void>>();
  /** Of these, those that the process with libraries has forked. */
  const relayed = new Set<string>();
  const noteGone = (id: string): void => {
    alive.get(id)?.resolve();
    alive.delete(id);
    relayed.delete(id);
    // First let the waiter read the events of the group.
    setImmediate(groups.giveBack, id);
  };
  const server = await startForkServer(place, options, noteGone);
  const noteAllGone = (): void => {
    [...alive.keys()].forEach(noteGone);
    setImmediate(groups.close);
  };
  void server.ended.then(noteAllGone);

  let preloadedPid: number | null = null;
  let isGateOpen = false;
  const openGateOnce = (): void => {
    if (!isGateOpen) server.send({ open: 'gate' });
    isGateOpen = true;
  };
  const tell = (id: string, command: Readonly<Record<string, string>>): void =>
    server.send(relayed.has(id) ? { relay: command } : command);

  return {
    ended: server.ended,
    async make(id, kind, { pass, tools }) {
      const isPreloaded = kind === 'preloaded';
      const language = isPreloaded ? 'python' : kind;
      const parent = isPreloaded ? preloadedPid! : server.pid;
      alive.set(id, Promise.withResolvers());
      if (isPreloaded) relayed.add(id);
      if (pass !== null) openGateOnce();
      try {
        const made = await server.make({
          id,
          language,
          isPreloaded,
          gate: pass?.token,
          tools: tools ?? undefined,
        });
        const group = await groups.take(id, findHostPid(parent, made.pid));
        const worker = attachWorker(openWorkerPipes(parent, made.ends), id, language, group);
        tell(id, { opened: id });
        return await waitUntilReady(worker);
      } catch (error) {
        // Also one that starts late after all; for one that never started, `gone` is never sent.
        tell(id, { kill: id });
        alive.delete(id);
        relayed.delete(id);
        throw error;
      }
    },
    async preload(names) {
      const loaded = await server.preload(names);
      if (loaded.loaded.length > 0) preloadedPid = findHostPid(server.pid, loaded.pid);
      return loaded;
    },
    gone: (id) => alive.get(id)?.promise ?? Promise.resolve(),
    watch: (id) => tell(id, { watch: id }),
    term: (id) => tell(id, { term: id }),
    kill: (id) => tell(id, { kill: id }),
    close: () => server.close(),
  };
}

/** After this the worker can go on by itself. */
async function waitUntilReady(worker: Worker): Promise<Worker> {
  try {
    await worker.ready;
    return worker;
  } catch (error) {
    worker.abandon();
    throw error;
  }
}
