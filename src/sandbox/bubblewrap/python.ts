import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { promisify } from 'node:util';
import { WorkcrateError } from '../../errors.ts';

export interface Python {
  readonly path: string;
  /** The folder that it needs besides /usr, or null. */
  readonly prefix: string | null;
}

const system = '/usr/bin/python3';

/** The interpreter of runs and of the fork server. One from a home folder (pyenv) brings its prefix along. */
export async function findPython(chosen: string | null): Promise<Python> {
  const path = chosen ?? system;
  if (path === system && existsSync(path)) return { path, prefix: null };
  const ask = 'import sys, ctypes, os; print(os.path.realpath(sys.executable)); print(sys.base_prefix)';
  try {
    const { stdout } = await promisify(execFile)(path, ['-c', ask], { timeout: 20_000, env: {} });
    const [real, prefix] = stdout.split('\n') as [string, string];
    return { path: real, prefix: /^\/usr(?:\/|$)/.test(prefix) ? null : prefix };
  } catch (cause) {
    throw new WorkcrateError(
      'sandbox_unavailable',
      `The sandbox needs python3, and ${path} does not run. Install it (apt-get install python3), or name another with --python.`,
      { cause },
    );
  }
}
