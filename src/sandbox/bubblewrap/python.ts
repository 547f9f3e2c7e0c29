import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { promisify } from 'node:util';
import { WorkcrateError } from '../../errors.ts';
import { outerEnvironment } from './launch.ts';

export interface Python {
  readonly path: string;
  /** The folder that it needs besides /usr, or null where it needs none. */
  readonly prefix: string | null;
}

const system = /^\/usr\/bin\/python3[.\d]*$/;

/** The interpreter of runs and of the fork server. One from a home folder (pyenv) brings its prefix along. */
export async function findPython(chosen: string | null): Promise<Python> {
  const path = chosen ?? '/usr/bin/python3';
  if (system.test(path) && existsSync(path)) return { path, prefix: null };
  const ask = 'import sys, ctypes, os; print(os.path.realpath(sys.executable)); print(sys.base_prefix)';
  try {
    const { stdout } = await promisify(execFile)(path, ['-c', ask], {
      timeout: 20_000,
      env: outerEnvironment,
    });
    const [real, prefix] = stdout.split('\n') as [string, string];
    demandVisible(prefix);
    return { path: real, prefix: /^\/usr(?:\/|$)/.test(prefix) ? null : prefix };
  } catch (cause) {
    if (cause instanceof WorkcrateError) throw cause;
    throw new WorkcrateError(
      'sandbox_unavailable',
      `The sandbox needs python3, and ${path} does not run. Install it (apt-get install python3), or name another with --python.`,
      { cause },
    );
  }
}

/** Where every run has an empty folder of its own, there is no Python. */
function demandVisible(prefix: string): void {
  if (/^\/(?:tmp|home\/user|dev|proc)(?:\/|$)/.test(prefix))
    throw new WorkcrateError(
      'sandbox_unavailable',
      `Runs cannot see the Python in ${prefix}, since they have a folder of their own there. Name another with --python.`,
    );
}
