/** A bare Debian 12, made by debootstrap: its smallest set of packages, this machine's old Node and npm, the checkout. */
import { execFile, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { findOldNode } from './old-node.testing.ts';
import { temporaryFolder } from './program.testing.ts';

const checkout = join(import.meta.dirname, '../../..');
const cache = join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'workcrate-tests');
const base = join(cache, 'debian-bookworm-minbase');

/** Why no bare machine can be made here, or false. */
export function findBareMachineReason(): string | false {
  if (process.platform !== 'linux') return 'a bare Debian needs Linux';
  if (process.getuid?.() !== 0) return 'a bare Debian needs root, to mount its folders';
  if (findInPath('npm') === null) return 'npm is not on PATH';
  if (!existsSync(base) && findInPath('debootstrap') === null) return 'debootstrap is not installed';
  const mounting = spawnSync('unshare', [
    '--mount',
    '--pid',
    '--fork',
    'mount',
    '-t',
    'tmpfs',
    'none',
    '/mnt',
  ]);
  return mounting.status !== 0 && `nothing can be mounted here: ${String(mounting.stderr).trim()}`;
}

function findInPath(name: string): string | null {
  const places = (process.env['PATH'] ?? '').split(delimiter).map((place) => join(place, name));
  return places.find((place) => existsSync(place)) ?? null;
}

/** Made once, a minute; null with the reason where Debian's packages cannot be had. */
export async function makeBase(): Promise<string | null> {
  if (existsSync(base)) return null;
  mkdirSync(cache, { recursive: true });
  const staged = mkdtempSync(`${base}-`);
  try {
    process.stderr.write('making a bare Debian 12 for the tests: 200 MB, once\n');
    await promisify(execFile)('debootstrap', ['--variant=minbase', 'bookworm', staged], { timeout: 240_000 });
    // A folder that is there by now is as good.
    if (!existsSync(base)) renameSync(staged, base);
    return null;
  } catch (error) {
    return `debootstrap failed: ${error instanceof Error ? error.message.slice(0, 300) : String(error)}`;
  } finally {
    rmSync(staged, { recursive: true, force: true });
  }
}

export interface Said {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** What a command is run as: an ordinary user, or root. */
export type Who = 'ada' | 'root';

const ids = { ada: '1000:1000', root: '0:0' };

/** Folders that the machine sees, and what it writes goes to memory; the last line waits for its end. */
const enter = `
set -eu
mount --make-rprivate /
mount -t tmpfs -o size=2g none "$MACHINE"
mkdir "$MACHINE/upper" "$MACHINE/work" "$MACHINE/root"
mount -t overlay -o "lowerdir=$BASE,upperdir=$MACHINE/upper,workdir=$MACHINE/work" none "$MACHINE/root"
cd "$MACHINE/root"
mkdir -p opt/workcrate usr/local/lib/npm home/ada
touch usr/local/bin/node
chown 1000:1000 home/ada
mount --bind "$OLD_NODE" usr/local/bin/node
mount --bind "$NPM" usr/local/lib/npm
ln -s ../lib/npm/bin/npm-cli.js usr/local/bin/npm
ln -s ../lib/npm/bin/npx-cli.js usr/local/bin/npx
mkdir "$MACHINE/upper-2" "$MACHINE/work-2"
mount -t overlay -o "lowerdir=$CHECKOUT,upperdir=$MACHINE/upper-2,workdir=$MACHINE/work-2" none opt/workcrate
# npx changes the mode of what it starts, as whoever owns the checkout.
chown -R 1000:1000 opt/workcrate/bin
mount --rbind /dev dev
mount -t proc none proc
cat /etc/resolv.conf > etc/resolv.conf
echo ready
while read -r command; do sh -c "$command" </dev/null & done
`;

/** Starts the machine. Everything in it ends with it. */
export async function startBareMachine() {
  const folder = await temporaryFolder();
  const { command, version } = await findOldNode(folder.path);
  const init = spawn('unshare', ['--mount', '--pid', '--fork', '--kill-child', 'sh', '-c', enter], {
    env: {
      ...process.env,
      MACHINE: folder.path,
      BASE: base,
      CHECKOUT: checkout,
      OLD_NODE: command[0]!,
      NPM: dirname(dirname(realpathSync(findInPath('npm')!))),
    },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  await Promise.race([once(init.stdout, 'data'), once(init, 'exit')]);
  if (init.exitCode !== null) throw new Error(`the bare machine did not start (${init.exitCode})`);
  const shell = execFileSync('pgrep', ['-P', String(init.pid)], { encoding: 'utf8' }).trim();

  /** Starts a command in the checkout, with what a login there has in its environment. */
  function start(who: Who, line: string, env: Record<string, string> = {}) {
    const variables = {
      PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
      HOME: who === 'ada' ? '/home/ada' : '/root',
      npm_config_update_notifier: 'false',
      ...env,
    };
    const inside = ['chroot', `--userspec=${ids[who]}`, join(folder.path, 'root'), '/bin/sh', '-c'];
    return spawn(
      'nsenter',
      ['--target', shell, '--mount', '--pid', ...inside, `cd /opt/workcrate && ${line}`],
      { env: variables, stdio: ['pipe', 'pipe', 'pipe'] },
    );
  }

  return {
    version,
    start,
    async run(who: Who, line: string, env: Record<string, string> = {}, input = ''): Promise<Said> {
      const child = start(who, line, env);
      child.stdin.end(input);
      const [stdout, stderr] = await Promise.all([
        child.stdout.setEncoding('utf8').toArray(),
        child.stderr.setEncoding('utf8').toArray(),
        once(child, 'close'),
      ]);
      return { code: child.exitCode, stdout: stdout.join(''), stderr: stderr.join('') };
    },
    async [Symbol.asyncDispose](): Promise<void> {
      init.kill('SIGKILL');
      if (init.exitCode === null && init.signalCode === null) await once(init, 'exit');
      await folder[Symbol.asyncDispose]();
    },
  };
}
