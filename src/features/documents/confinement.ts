/**
 * The walls around a converter, by bubblewrap. It starts nothing: the caller starts its program with these arguments.
 * This is not the sandbox for users' code (`ports/sandbox/`), which has more walls and limits.
 */
import { execFile } from 'node:child_process';
import { access, constants } from 'node:fs/promises';
import { promisify } from 'node:util';
import { becomeExpendable, type CommandWrapper } from '../../platform/workers/workers.ts';

export interface ConfinementOptions {
  /** Files and folders that are readable at their own paths, besides the system libraries. */
  readonly readable: readonly string[];
  /** A folder that is also writable, and the working directory. */
  readonly folder?: string;
}

/**
 * A wrapper that confines a converter: no network, only the files that are named, only its own processes, and it dies
 * with its parent. The parent chooses the environment. Null if bubblewrap is missing or does not work.
 */
export async function findConfinement(options: ConfinementOptions): Promise<CommandWrapper | null> {
  const command = await (bubblewrapSearch ??= findBubblewrap());
  if (command === null) return null;
  const args = ['-c', `${becomeExpendable} exec "$@"`, 'sh', command, ...buildBubblewrapArguments(options)];
  return { command: '/bin/sh', args };
}

let bubblewrapSearch: Promise<string | null> | null = null;

const bubblewrapPaths = ['/usr/bin/bwrap', '/bin/bwrap', '/usr/local/bin/bwrap'];

const bubblewrapTrialMs = 10_000;

/** Tried once: what works or fails now does so later, too. */
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
    // Many machines and containers do not allow namespaces. The caller has other walls, and logs it.
    return false;
  }
}

/** None of these is secret, and none has to exist. */
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
    // In no session of its own: whoever starts it makes it the leader of one without a terminal, and ends the process group
    // as a whole. What has left the group is missed if it has not asked yet to die with its parent.
    ...splitArguments('--unshare-all --die-with-parent --cap-drop ALL --hostname workcrate'),
    ...systemLibraryPaths.flatMap((path) => ['--ro-bind-try', path, path]),
    ...splitArguments('--proc /proc --dev /dev'),
    ...[process.execPath, ...readable].flatMap((path) => ['--ro-bind', path, path]),
    ...(folder === undefined ? ['--chdir', '/'] : ['--bind', folder, folder, '--chdir', folder]),
    // Both are in memory, which could be filled.
    ...splitArguments('--remount-ro /dev --remount-ro /'),
    '--',
  ];
}
