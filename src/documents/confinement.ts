/**
 * The walls around a converter, by bubblewrap. It starts nothing: the caller starts its program with these arguments.
 * This is not the sandbox for users' code (`sandbox/`), which has more walls and limits.
 */
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
export async function findConfinement(options: ConfinementOptions): Promise<CommandWrapper | null> {
  const command = await (bubblewrapSearch ??= findBubblewrap());
  return command === null ? null : { command, args: buildBubblewrapArguments(options) };
}

let bubblewrapSearch: Promise<string | null> | null = null;

const bubblewrapPaths = ['/usr/bin/bwrap', '/bin/bwrap', '/usr/local/bin/bwrap'];

const bubblewrapTrialMs = 10_000;

/** What works once works always, and what does not is not tried again. */
async function findBubblewrap(): Promise<string | null> {
  for (const command of bubblewrapPaths) if (await isBubblewrapWorking(command)) return command;
  return null;
}

async function isBubblewrapWorking(command: string): Promise<boolean> {
  try {
    await access(command, constants.X_OK);
    const args = [...buildBubblewrapArguments({ readable: [] }), process.execPath, '--version'];
    await promisify(execFile)(command, args, { timeout: bubblewrapTrialMs, killSignal: 'SIGKILL', env: {} });
    return true;
  } catch {
    // Many machines and containers do not let anybody make namespaces. The caller has other walls, and says so.
    return false;
  }
}

/** What programs are made of. None of it is a secret, and none has to exist. */
const systemLibraryPaths = [
  '/lib',
  '/lib32',
  '/lib64',
  '/usr/lib',
  '/usr/lib32',
  '/usr/lib64',
  '/usr/local/lib',
  '/etc/ld.so.cache',
];

const splitArguments = (text: string): string[] => text.split(' ');

function buildBubblewrapArguments({ readable, folder }: ConfinementOptions): string[] {
  return [
    ...splitArguments('--unshare-all --die-with-parent --new-session --cap-drop ALL --hostname workcrate'),
    ...systemLibraryPaths.flatMap((path) => ['--ro-bind-try', path, path]),
    ...splitArguments('--proc /proc --dev /dev'),
    ...[process.execPath, ...readable].flatMap((path) => ['--ro-bind', path, path]),
    ...(folder === undefined ? ['--chdir', '/'] : ['--bind', folder, folder, '--chdir', folder]),
    // Both are memory that could be filled.
    ...splitArguments('--remount-ro /dev --remount-ro /'),
    '--',
  ];
}
