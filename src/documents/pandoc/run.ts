import { spawn } from 'node:child_process';
import type { Wrapper } from '../../threads/threads.ts';

export interface RunOptions {
  readonly wrapper: Wrapper | null;
  readonly program: string;
  readonly args: readonly string[];
  readonly folder: string;
  /** All that is in its environment. */
  readonly env: Readonly<Record<string, string>>;
  readonly input: Uint8Array;
  readonly signal: AbortSignal;
}

export interface Ended {
  /** Null where a signal ended it. */
  readonly code: number | null;
  /** What it said on stderr. */
  readonly words: string;
}

const mostWords = 10_000;

/** Runs a program to its end. When the signal fires, all that it started is killed and its reason is thrown. */
export async function run({ signal, input, ...options }: RunOptions): Promise<Ended> {
  signal.throwIfAborted();
  const child = start(options);
  const { promise, resolve, reject } = Promise.withResolvers<Ended>();
  let words = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    if (words.length < mostWords) words += text;
  });
  child.on('error', reject);
  child.on('close', (code) => resolve({ code, words: words.slice(0, mostWords) }));
  // It need not read all of its input; how it ends says why.
  child.stdin.on('error', () => {}).end(input);
  const abort = (): void => {
    killAll(child.pid);
    reject(signal.reason);
  };
  signal.addEventListener('abort', abort, { once: true });
  return promise.finally(() => signal.removeEventListener('abort', abort));
}

/** A group of its own, so that it can be killed with all its children. */
function start({ wrapper, program, args, folder, env }: Omit<RunOptions, 'signal' | 'input'>) {
  const [command, ...first] = wrapper === null ? [program] : [wrapper.command, ...wrapper.args, program];
  return spawn(command!, [...first, ...args], {
    cwd: folder,
    env: { ...env },
    stdio: ['pipe', 'ignore', 'pipe'],
    detached: true,
  });
}

function killAll(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch {
    // It has just ended.
  }
}
