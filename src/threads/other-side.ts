import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { afterFailure, type FromThread, type ToThread } from './messages.ts';

/** Where calls are answered: a thread, or a process. */
export interface OtherSide {
  /** Throws where something cannot go over. What comes too late is dropped: `ended` is told of. */
  post(message: ToThread): void;
  /** Whether it holds the server back. */
  hold(isHeld: boolean): void;
  /** Ends it, whatever it is doing. */
  end(): Promise<void>;
}

export interface Hearing {
  /** Whether it is started in place of one that has failed, which it is told. */
  readonly isAfterFailure: boolean;
  heard(message: FromThread): void;
  ended(cause: unknown): void;
}

export type StartSide = (hearing: Hearing) => OtherSide;

const wordsFor = ({ isAfterFailure }: Hearing): string[] => (isAfterFailure ? [afterFailure] : []);

/** Megabytes. Bounded, so that what is too much does not take the whole machine along. */
const mostMemory = 2048;

/** V8 ends the whole process where a thread runs out of memory, so this is not for what others have written. */
export const inThread =
  (file: URL, workerData: unknown): StartSide =>
  (hearing) => {
    const { heard, ended } = hearing;
    const resourceLimits = { maxOldGenerationSizeMb: mostMemory };
    const worker = new Worker(file, { workerData, argv: wordsFor(hearing), resourceLimits });
    worker.on('message', heard);
    worker.on('error', ended);
    worker.on('messageerror', ended);
    worker.on('exit', (code) => ended(new Error(`The thread ended with ${code}.`)));
    return {
      post: (message) => worker.postMessage(message),
      hold: (isHeld) => (isHeld ? worker.ref() : worker.unref()),
      end: async () => void (await worker.terminate()),
    };
  };

/** Stdout belongs to the protocol under `workcrate stdio`; what V8 says at its end is for the log. */
const stdio: ('ignore' | 'inherit' | 'ipc')[] = ['ignore', 'ignore', 'inherit', 'ipc'];

/** `data` may hold secrets: it goes over the channel, and not where other users of the machine can see it. */
export const inProcess =
  (file: URL, data: unknown): StartSide =>
  (hearing) => {
    const { heard, ended } = hearing;
    const execArgv = [`--max-old-space-size=${mostMemory}`];
    const child = fork(file, wordsFor(hearing), { execArgv, stdio, serialization: 'advanced' });
    child.on('message', (message) => heard(message as FromThread));
    child.on('error', ended);
    child.on('exit', (code, signal) => ended(new Error(`The process ended with ${signal ?? code}.`)));
    const post = (message: object): void => {
      // A failure is followed by the end of the process, which is told of.
      if (child.connected) child.send(message, () => {});
    };
    post({ data });
    return { post, hold: (isHeld) => hold(child, isHeld), end: () => end(child) };
  };

function hold(child: ChildProcess, isHeld: boolean): void {
  for (const handle of [child, child.channel]) handle?.[isHeld ? 'ref' : 'unref']();
}

/** How long an idle process gets to end by itself, and the system to end one that does not. */
const mostEndingMs = 500;

async function end(child: ChildProcess): Promise<void> {
  if (child.connected) child.disconnect();
  await exitOf(child);
  child.kill('SIGKILL');
  await exitOf(child);
}

async function exitOf(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const late = new AbortController();
  const passed = pause(mostEndingMs, null, { signal: late.signal }).catch(() => {});
  await Promise.race([once(child, 'exit', { signal: late.signal }).catch(() => {}), passed]);
  late.abort();
}
