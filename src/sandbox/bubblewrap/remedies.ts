import { existsSync } from 'node:fs';
import { WorkcrateError } from '../../errors.ts';
import { outerEnvironment } from './launch.ts';

const packages: Readonly<Record<string, string>> = {
  bwrap: 'bubblewrap',
  mount: 'mount',
  setpriv: 'util-linux',
  unshare: 'util-linux',
};

/** Refuses to begin where a program is missing, and names the package that has it. */
export function demandPrograms(asRoot: boolean): void {
  if (process.platform !== 'linux')
    throw unavailable('Bubblewrap needs Linux. On other systems use --sandbox docker.');
  const needed = asRoot ? ['bwrap', 'mount', 'setpriv', 'unshare'] : ['bwrap'];
  const missing = needed.filter((name) => !isInstalled(name)).map((name) => packages[name]!);
  if (missing.length > 0)
    throw unavailable(
      `The sandbox needs ${missing.join(' and ')}, which is not installed. On Debian: apt-get install ${missing.join(' ')}`,
    );
}

function isInstalled(name: string): boolean {
  return outerEnvironment.PATH.split(':').some((folder) => existsSync(`${folder}/${name}`));
}

/** What bubblewrap or the fork server said last, and what to do about it where that is known. */
export function cannotStart(words: string): WorkcrateError {
  const known = remedies.find(([pattern]) => pattern.test(words))?.[1];
  const remedy = known === undefined ? '' : ` ${known}`;
  return unavailable(`Bubblewrap cannot make a sandbox here: ${words || 'it gave no reason'}.${remedy}`);
}

const allowNamespaces =
  'This machine does not let ordinary users make namespaces. Allow it (sysctl kernel.unprivileged_userns_clone=1, ' +
  'or on Ubuntu kernel.apparmor_restrict_unprivileged_userns=0), or use --sandbox docker.';

const remedies: readonly (readonly [RegExp, string])[] = [
  [/uid map|new namespace|user namespaces|CLONE_NEWUSER|loopback/i, allowNamespaces],
  [
    /mount proc|Can't mount proc/i,
    'In a container, /proc must not be masked: start it with systempaths=unconfined.',
  ],
  [
    /No module named '_?ctypes'/,
    'Its python3 lacks ctypes: apt-get install python3, or name another with --python.',
  ],
];

function unavailable(message: string): WorkcrateError {
  return new WorkcrateError('sandbox_unavailable', message);
}

export function notMade(why: string): WorkcrateError {
  return new WorkcrateError('sandbox_failed', `No sandbox could be made for the run: ${why}.`);
}
