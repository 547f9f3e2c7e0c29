import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Readable } from 'node:stream';

/** Runs a module's text in a Node of its own, from this folder; its errors go to the test's output. */
export function spawnModule(source: string, ...values: string[]): ChildProcessByStdio<null, Readable, null> {
  const flags = ['--input-type=module', '--eval', source, '--', ...values];
  return spawn(process.execPath, flags, { cwd: import.meta.dirname, stdio: ['ignore', 'pipe', 'inherit'] });
}
