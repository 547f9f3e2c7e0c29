import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { buildSeccompProgram } from './seccomp.ts';

export const python = '/usr/bin/python3';

/** Why the program cannot be applied here, or false. */
export function notApplicable(...programs: readonly string[]): string | false {
  if (buildSeccompProgram('none') === null) return `no seccomp program for ${process.arch}`;
  const missing = ['bwrap', ...programs].find((name) => spawnSync(name, ['--version']).status !== 0);
  if (missing !== undefined) return `no ${missing} here`;
  const trial = spawnSync('bwrap', [...walls, '--', 'true'], { encoding: 'utf8' });
  return trial.status === 0 ? false : `bwrap does not work here: ${trial.stderr.trim()}`;
}

/** Namespaces in which a call that slipped through would do no harm. */
const walls = [
  '--dev-bind',
  '/',
  '/',
  '--unshare-uts',
  '--unshare-ipc',
  '--unshare-pid',
  '--proc',
  '/proc',
  '--new-session',
];

interface Outcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command under the real filter. */
export async function underFilter(command: string, args: readonly string[]): Promise<Outcome> {
  const folder = mkdtempSync(join(tmpdir(), 'workcrate-seccomp-'));
  writeFileSync(join(folder, 'program'), buildSeccompProgram('none')!);
  const fd = openSync(join(folder, 'program'), 'r');
  try {
    const child = spawn('bwrap', [...walls, '--seccomp', '3', '--', command, ...args], {
      stdio: ['ignore', 'pipe', 'pipe', fd],
      timeout: 60_000,
      killSignal: 'SIGKILL',
    });
    const ended = once(child, 'close') as Promise<[number | null]>;
    const [stdout, stderr] = await Promise.all([text(child.stdout!), text(child.stderr!)]);
    return { code: (await ended)[0], stdout, stderr };
  } finally {
    closeSync(fd);
    rmSync(folder, { recursive: true });
  }
}
