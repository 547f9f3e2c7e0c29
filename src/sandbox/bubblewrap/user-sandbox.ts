import type { Log } from '../../observability/log.ts';
import type { Cgroups } from '../cgroups/cgroups.ts';
import type { Language, RunLimitSettings, Workspace } from '../sandbox.ts';
import {
  findHostPid,
  createGroupPool,
  startForkServer,
  type ForkServer,
  type ForkedWorker,
  type RunGroup,
} from './fork-server.ts';
import type { MountOptions } from './launch.ts';
import { openWorkerPipes, attachWorker, type Worker } from './worker.ts';

export interface UserSandboxOptions extends Omit<MountOptions, 'place'> {
  readonly python: string;
  readonly network: 'none' | 'host';
  readonly limits: RunLimitSettings;
  /** Of each process of a run. */
  readonly openFiles: number;
  readonly seccomp: Buffer;
  readonly cgroups: Cgroups;
  readonly log: Log;
}

/** The sandbox of one user, with the fork server in it. All its runs die with it, and it dies with this process. */
export interface UserSandbox {
  /** Resolves when it is gone. */
  readonly ended: Promise<void>;
  /** Starts an interpreter that waits for a run. */
  make(id: string, language: Language): Promise<Worker>;
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
  const noteGone = (id: string): void => {
    alive.get(id)?.resolve();
    alive.delete(id);
    // First let the waiter read the events of the group.
    setImmediate(groups.giveBack, id);
  };
  const server = await startForkServer(place, options, noteGone);
  const noteAllGone = (): void => {
    [...alive.keys()].forEach(noteGone);
    setImmediate(groups.close);
  };
  void server.ended.then(noteAllGone);

  const putIntoGroup = async (id: string, { pid }: ForkedWorker): Promise<RunGroup | null> => {
    const group = groups.take(id);
    await group?.add(findHostPid(server.pid, pid));
    return group;
  };

  return {
    ended: server.ended,
    async make(id, language) {
      alive.set(id, Promise.withResolvers());
      try {
        const made = await server.make(id, language);
        const group = await putIntoGroup(id, made);
        return await openWorker(server, id, language, made, group);
      } catch (error) {
        // Also one that starts late after all; for one that never started, `gone` is never sent.
        server.send({ kill: id });
        alive.delete(id);
        throw error;
      }
    },
    gone: (id) => alive.get(id)?.promise ?? Promise.resolve(),
    watch: (id) => server.send({ watch: id }),
    term: (id) => server.send({ term: id }),
    kill: (id) => server.send({ kill: id }),
    close: () => server.close(),
  };
}

/** After this the worker can go on by itself. */
async function openWorker(
  server: ForkServer,
  id: string,
  language: Language,
  { ends }: ForkedWorker,
  group: RunGroup | null,
): Promise<Worker> {
  const worker = attachWorker(openWorkerPipes(server.pid, ends), id, language, group);
  server.send({ opened: id });
  try {
    await worker.ready;
    return worker;
  } catch (error) {
    worker.abandon();
    throw error;
  }
}
