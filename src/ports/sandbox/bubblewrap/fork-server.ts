import { spawn, type ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { getErrno, WorkcrateError } from '../../../platform/errors.ts';
import type { Log } from '../../../platform/observability/log.ts';
import type { Cgroups, Group } from '../cgroups/cgroups.ts';
import { getSignalName, type Language, type RunLimitSettings, type Workspace } from '../sandbox.ts';
import {
  startError,
  buildSandboxCommand,
  makeStage,
  listMounts,
  sandboxFailedError,
  outerEnvironment,
  wrongPrefixError,
} from './launch.ts';
import { sandboxMark } from './leftovers.ts';
import type { PreloadedEvent } from './preload.ts';
import type { UserSandboxOptions } from './user-sandbox.ts';

/** A run whose init waits until the server has opened its ends of the pipes. */
export interface ForkedWorker {
  readonly made: string;
  /** As the fork server knows it. */
  readonly pid: number;
  /** The server's ends of the pipes, as file descriptors of the fork server. */
  readonly ends: readonly number[];
}

type ForkServerEvent =
  /** With Python's `sys.prefix`. */
  | { readonly up: string }
  | ForkedWorker
  | { readonly unmade: string; readonly error: string }
  | { readonly preloaded: PreloadedEvent }
  | { readonly unloaded: number }
  | { readonly gone: string };

export interface WantedWorker {
  readonly id: string;
  readonly language: Language;
  /** By the process that has the libraries loaded. */
  readonly isPreloaded: boolean;
  /** The token of its way out, where it may have one. */
  readonly gate: string | undefined;
  /** For a run whose code may call tools. */
  readonly tools: WantedTools | undefined;
}

export interface WantedTools {
  /** For the one connection over which it calls. */
  readonly token: string;
  /** What it finds in /tools/mcp. */
  readonly files: Readonly<Record<string, string>>;
}

type ForkServerCommand = Readonly<Record<string, unknown>>;

/** The process of inside/forkserver.py. The protocol is lines of JSON. */
export interface ForkServer {
  /** As this machine knows it. */
  readonly pid: number;
  readonly ended: Promise<void>;
  send(command: ForkServerCommand): void;
  make(wanted: WantedWorker): Promise<ForkedWorker>;
  /** Resolves when a process has loaded these libraries; rejects if it could load none. */
  preload(names: readonly string[]): Promise<PreloadedEvent>;
  close(): Promise<void>;
}

const maxStartMs = 15_000;

/** `gone` is called for every run that has been reaped. */
export async function startForkServer(
  place: Workspace,
  options: UserSandboxOptions,
  gone: (id: string) => void,
): Promise<ForkServer> {
  const stage = place.uid === null ? null : makeStage();
  const mounts = listMounts({ ...options, place, gate: options.gate.path });
  const [command, ...args] = buildSandboxCommand(stage, { ...options, mounts, uid: place.uid });
  const child = spawn(command!, args, {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...outerEnvironment, ...sandboxMark },
    // A process group of its own: bubblewrap has several processes until it is set up, and all have to be killed.
    detached: true,
  });
  const ended = waitForChildExit(child).finally(() => stage?.[Symbol.dispose]());
  const getErrorText = keepLastErrorText(child.stderr!);
  const { up, made, makes, preloaded } = listenToForkServer(child, ended, getErrorText, gone);

  const send = (message: object): void => void child.stdin!.write(`${JSON.stringify(message)}\n`);
  send(toForkServerSettings(options));
  const late = setTimeout(() => killGroup(child), maxStartMs);
  const prefix = await up.finally(() => clearTimeout(late));
  if (options.pythonPrefix !== null && prefix !== options.pythonPrefix) {
    killGroup(child);
    await ended;
    throw wrongPrefixError(options.python, prefix, options.pythonPrefix);
  }
  return {
    pid: findOnlyChild(child.pid!),
    ended,
    send,
    make({ id, language, isPreloaded, gate, tools }) {
      const promise = made(id);
      const command = { make: id, language, gate, tools };
      send(isPreloaded ? { relay: command } : command);
      const late = setTimeout(
        () => makes.get(id)?.reject(sandboxFailedError('it took too long')),
        maxStartMs,
      );
      return promise.finally(() => {
        clearTimeout(late);
        makes.delete(id);
      });
    },
    preload(names) {
      send({ preload: names });
      return preloaded;
    },
    async close() {
      killGroup(child);
      await ended;
    },
  };
}

/** Handles the events of the fork server; once it has ended, all pending promises reject. */
function listenToForkServer(
  child: ChildProcess,
  ended: Promise<void>,
  getErrorText: () => string,
  gone: (id: string) => void,
) {
  const up = Promise.withResolvers<string>();
  const makes = new Map<string, PromiseWithResolvers<ForkedWorker>>();
  const preloaded = Promise.withResolvers<PreloadedEvent>();
  preloaded.promise.catch(() => {});
  let hasPreloaded = false;
  let failure: WorkcrateError | null = null;
  child.stdin!.on('error', () => {});
  createInterface({ input: child.stdout! }).on('line', (line) => {
    const event = JSON.parse(line) as ForkServerEvent;
    if ('up' in event) up.resolve(event.up);
    else if ('made' in event) makes.get(event.made)?.resolve(event);
    else if ('unmade' in event) makes.get(event.unmade)?.reject(sandboxFailedError(event.error));
    else if ('preloaded' in event) {
      hasPreloaded = event.preloaded.loaded.length > 0;
      preloaded.resolve(event.preloaded);
    } else if ('unloaded' in event) {
      // Its runs have lost the process that reports their end.
      if (hasPreloaded) killGroup(child);
      preloaded.reject(new WorkcrateError('sandbox_failed', describePreloadEnd(event.unloaded)));
    } else gone(event.gone);
  });
  const fail = (): void => {
    failure = startError(getErrorText());
    up.reject(failure);
    preloaded.reject(failure);
    for (const { reject } of makes.values()) reject(failure);
  };
  void ended.then(fail);
  const made = (id: string): Promise<ForkedWorker> => {
    const waiting = Promise.withResolvers<ForkedWorker>();
    if (failure !== null) waiting.reject(failure);
    makes.set(id, waiting);
    return waiting.promise;
  };
  return { up: up.promise, made, makes, preloaded: preloaded.promise };
}

/** The alarm of preload.py ends it if it takes too long. */
function describePreloadEnd(code: number): string {
  if (code >= 0) return `the process that loads libraries ended with exit code ${code}`;
  const name = getSignalName(-code);
  return name === 'SIGALRM'
    ? 'to load libraries took too long'
    : `${name} ended the process that loads libraries`;
}

function killGroup({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch (error) {
    if (getErrno(error) !== 'ESRCH') throw error;
  }
}

/** A program that cannot be started emits only `error`. */
function waitForChildExit(child: ChildProcess): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  child.once('error', () => resolve());
  child.once('close', () => resolve());
  return promise;
}

function toForkServerSettings({ network, limits, openFiles, seccomp, cgroups }: UserSandboxOptions) {
  // Well above what the cgroup allows: that one counts how often it had to refuse, and this one counts all processes of
  // the uid, those that another server on the machine runs by it included.
  const processes = limits.processes * (cgroups.holds.processes === true ? 4 : 1);
  const rlimits: Record<string, number> = {
    // Not 0, with which the kernel would still start a program of the host's that gathers core dumps.
    CORE: 1,
    MSGQUEUE: 819_200,
    NICE: 0,
    RTPRIO: 0,
    SIGPENDING: 4096,
    FSIZE: Math.min(limits.fileBytes, limits.diskBytes),
    NOFILE: openFiles,
    NPROC: processes,
  };
  if (cgroups.holds.memory !== true) rlimits['DATA'] = getMemoryPerProcess(limits);
  const node = getNodeFlags(limits);
  const processors = limits.cpus;
  return { network, tmp: limits.tmpBytes, seccomp: seccomp.toString('base64'), rlimits, node, processors };
}

/** Node would size its heap by the memory of the machine, and be killed instead of collecting garbage. */
export const getNodeFlags = ({ memoryBytes }: RunLimitSettings): string[] => [
  `--max-old-space-size=${Math.max(64, Math.floor((memoryBytes * 0.75) / 1024 ** 2))}`,
];

/** Without a cgroup the kernel limits each process by itself, and Node reserves 2 GB before it does anything. */
export const getMemoryPerProcess = ({ memoryBytes }: RunLimitSettings): number => memoryBytes + 2 * 1024 ** 3;

/** Keeps the end of stderr, for the error message. */
function keepLastErrorText(stderr: Readable): () => string {
  let words = '';
  stderr.setEncoding('utf8').on('data', (text: string) => (words = (words + text).slice(-2000)));
  return () => words.trim();
}

/** What a worker needs of its cgroup. */
export type RunGroup = Pick<Group, 'events' | 'kill'>;

interface GroupSlot {
  readonly group: Group;
  /** The counters before the current run. */
  before: ReturnType<Group['events']>;
  /** As they were when its end was looked at; null until then. */
  last: ReturnType<Group['events']> | null;
  wasKilled: boolean;
}

const maxFreeGroups = 16;

/** The cgroups of one user's runs. Making one takes the kernel a millisecond, so they are reused. */
export function createGroupPool(cgroups: Cgroups, limits: RunLimitSettings, log: Log) {
  const free: GroupSlot[] = [];
  const taken = new Map<string, GroupSlot>();
  const remove = ({ group }: GroupSlot): void =>
    void group.remove().catch((error: unknown) => log.error('sandbox.group_stays', { error }));

  const addTo = async (id: string, slot: GroupSlot, pid: number): Promise<GroupSlot> => {
    taken.set(id, slot);
    try {
      await slot.group.add(pid);
      return slot;
    } catch (error) {
      taken.delete(id);
      remove(slot);
      throw error;
    }
  };
  /** Somebody may have removed a group that nobody was in: systemd, a container runtime, a tidy operator. */
  const addOrReplace = async (id: string, pid: number): Promise<GroupSlot> => {
    try {
      return await addTo(id, free.pop() ?? makeSlot(cgroups.make(id, limits)), pid);
    } catch (error) {
      if (!isGroupGone(error)) throw error;
      log.warn('sandbox.group_gone', { error });
      return addTo(id, makeSlot(cgroups.make(`${id}-again`, limits)), pid);
    }
  };

  return {
    /** Puts a process into a group of its own. A group that is gone is not used again: another is made, once. */
    async take(id: string, pid: number): Promise<RunGroup | null> {
      if (cgroups.kind === 'none') return null;
      const slot = await addOrReplace(id, pid);
      return {
        events: () => countEventsSince(slot),
        kill() {
          slot.wasKilled = true;
          slot.group.kill();
        },
      };
    },

    /** Call it when no process of the run is alive. A group that was killed is not reused. */
    giveBack(id: string): void {
      const slot = taken.get(id);
      taken.delete(id);
      if (slot === undefined) return;
      if (slot.wasKilled || free.length >= maxFreeGroups) return remove(slot);
      const before = slot.last ?? slot.group.events();
      slot.before = slot.group.resetPeak() ? { ...before, memoryPeakBytes: null } : before;
      slot.last = null;
      free.push(slot);
    },

    close(): void {
      for (const slot of [...free.splice(0), ...taken.values()]) remove(slot);
      taken.clear();
    },
  };
}

const isGroupGone = (error: unknown): boolean =>
  error instanceof Error && ['ENOENT', 'ENODEV'].includes(getErrno(error.cause) ?? '');

const noGroupEvents = { oomKilled: 0, pidsRefused: 0, memoryPeakBytes: null };

const makeSlot = (group: Group): GroupSlot => ({
  group,
  before: noGroupEvents,
  last: null,
  wasKilled: false,
});

function countEventsSince(slot: GroupSlot): ReturnType<Group['events']> {
  const { group, before } = slot;
  const now = group.events();
  slot.last = now;
  const oomKilled = now.oomKilled - before.oomKilled;
  // Where the peak cannot be reset, only a higher one is that of this run.
  const isOwn = (now.memoryPeakBytes ?? 0) > (before.memoryPeakBytes ?? 0);
  const memoryPeakBytes = isOwn ? now.memoryPeakBytes : null;
  return { ...now, oomKilled, memoryPeakBytes, pidsRefused: now.pidsRefused - before.pidsRefused };
}

/** The pid on this machine of a child of the fork server, which knows its pid inside. */
export function findHostPid(parent: number, innerPid: number): number {
  // The newest is the last.
  const found = listChildPids(parent).findLast((pid) => readInnerPid(pid) === innerPid);
  if (found === undefined) throw new WorkcrateError('sandbox_failed', 'A run ended before it began.');
  return Number(found);
}

/** The process that bubblewrap has started, once it is up. */
function findOnlyChild(parent: number): number {
  const [child] = listChildPids(parent);
  if (child === undefined) throw new WorkcrateError('sandbox_failed', 'The sandbox ended while it began.');
  return Number(child);
}

function listChildPids(parent: number): string[] {
  const text = readFileSync(`/proc/${parent}/task/${parent}/children`, 'latin1');
  return text.split(' ').filter((pid) => pid !== '');
}

/** The second number: as seen from the namespace below this one. */
function readInnerPid(pid: string): number {
  const status = readFileSync(`/proc/${pid}/status`, 'latin1');
  return Number(/^NSpid:\s+\d+\s+(\d+)/m.exec(status)?.[1]);
}
