import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';
import { patienceMs } from '../../../platform/eventually.testing.ts';
import { parseOwnGroups, type OwnGroup } from './cgroups.ts';

/** A child that does nothing before it is told to go on, so that it can be put into a group first. */
export interface Waiting extends AsyncDisposable {
  readonly pid: number;
  go(): void;
  /** Ends its input, which some take as the sign to leave. */
  leave(): void;
  /** The first line that it says. */
  says(): Promise<string>;
  kill(): void;
  readonly ended: Promise<{ code: number | null; signal: string | null }>;
}

type Child = ChildProcessByStdio<Writable, Readable, null>;

/** Python code, which runs once it is told to. */
export function waitingPython(code: string): Waiting {
  return waiting('python3', ['-c', `import sys; sys.stdin.readline()\n${code}`]);
}

/** The command has to read a line of its input before it does anything. */
export function waiting(command: string, args: readonly string[]): Waiting {
  const child: Child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  // It may be killed with the line unread.
  child.stdin.on('error', () => {});
  let said = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (said += chunk));
  const ended = (once(child, 'exit') as Promise<[number | null, string | null]>).then(([code, signal]) => ({
    code,
    signal,
  }));
  return {
    pid: child.pid!,
    go: () => void child.stdin.write('\n'),
    leave: () => void child.stdin.end(),
    async says() {
      await soon('the child said something', () => said.includes('\n'));
      return said.split('\n')[0] ?? '';
    },
    kill: () => void child.kill('SIGKILL'),
    ended,
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

/** The groups that a process is in. */
export function groupsOf(pid: number | 'self'): OwnGroup[] {
  return parseOwnGroups(
    readFileSync('/proc/self/mountinfo', 'utf8'),
    readFileSync(`/proc/${pid}/cgroup`, 'utf8'),
  );
}

/** Waits for something that comes soon or never. */
export async function soon(what: string, is: () => boolean): Promise<void> {
  for (const end = performance.now() + patienceMs; performance.now() < end;) {
    if (is()) return;
    await wait(10);
  }
  throw new Error(`it did not come about that ${what}`);
}
