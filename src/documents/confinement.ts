import { execFile } from 'node:child_process';
import { access, constants } from 'node:fs/promises';
import { promisify } from 'node:util';
import type { CommandWrapper } from '../workers/workers.ts';

export interface ConfinementOptions {
  /** Files and folders that are seen under their own names, besides what programs are made of. */
  readonly readable: readonly string[];
  /** A folder that may be written to as well, and that the program begins in. */
  readonly folder?: string;
}

/**
 * A wall around a converter: no network, no file but those named, no process but its own, and it is gone when whoever
 * started it is. The environment is up to whoever starts it. Null where bubblewrap is missing or does not work.
 */
export async function confinement(options: ConfinementOptions): Promise<CommandWrapper | null> {
  const command = await (found ??= find());
  return command === null ? null : { command, args: argumentsOf(options) };
}

let found: Promise<string | null> | null = null;

const places = ['/usr/bin/bwrap', '/bin/bwrap', '/usr/local/bin/bwrap'];

const tryingMs = 10_000;

/** What works once works always, and what does not is not tried again. */
async function find(): Promise<string | null> {
  for (const command of places) if (await works(command)) return command;
  return null;
}

async function works(command: string): Promise<boolean> {
  try {
    await access(command, constants.X_OK);
    const args = [...argumentsOf({ readable: [] }), process.execPath, '--version'];
    await promisify(execFile)(command, args, { timeout: tryingMs, killSignal: 'SIGKILL', env: {} });
    return true;
  } catch {
    // Many machines and containers do not let anybody make namespaces. The caller has other walls, and says so.
    return false;
  }
}

/** What programs are made of. None of it is a secret, and none has to exist. */
const libraries = [
  '/lib',
  '/lib32',
  '/lib64',
  '/usr/lib',
  '/usr/lib32',
  '/usr/lib64',
  '/usr/local/lib',
  '/etc/ld.so.cache',
];

const words = (text: string): string[] => text.split(' ');

function argumentsOf({ readable, folder }: ConfinementOptions): string[] {
  return [
    ...words('--unshare-all --die-with-parent --new-session --cap-drop ALL --hostname workcrate'),
    ...libraries.flatMap((path) => ['--ro-bind-try', path, path]),
    ...words('--proc /proc --dev /dev'),
    ...[process.execPath, ...readable].flatMap((path) => ['--ro-bind', path, path]),
    ...(folder === undefined ? ['--chdir', '/'] : ['--bind', folder, folder, '--chdir', folder]),
    // Both are memory that could be filled.
    ...words('--remount-ro /dev --remount-ro /'),
    '--',
  ];
}
