import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { fromSource } from '../../behaviour/cli/program.testing.ts';

/** A disk whose power can be cut: what was not synced is gone. Only programs started in it see it. */
export interface LosableDisk extends AsyncDisposable {
  readonly path: string;
  /** How to start Workcrate so that it sees the disk. */
  readonly program: readonly string[];
  /** Ends all writing at once, as the shutdown ioctl of ext4 does, without flushing anything. */
  cutPower(): void;
  /** Mounts it again, with the journal replayed. To be called when no process uses it any more. */
  mountAgain(): void;
}

/** Mounts an ext4 of 128 MB from a file, or gives null after skipping the test with the reason. */
export async function losableDisk(t: TestContext): Promise<LosableDisk | null> {
  await using made = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'workcrate-power-'));
  made.defer(() => rm(folder, { recursive: true, force: true }));
  const [image, path] = [join(folder, 'image'), join(folder, 'disk')];
  await mkdir(path);
  await using file = await open(image, 'w');
  await file.truncate(128 * 1024 ** 2);
  // A mount namespace of its own: a sandbox of another test would hold a copy of the mount, and keep it from ending.
  const args = ['--mount', '--propagation', 'private', 'sh', '-c', 'echo ready; exec sleep 600'];
  const holder = spawn('unshare', args, { stdio: ['ignore', 'pipe', 'ignore'] });
  made.defer(() => void holder.kill('SIGKILL'));
  await Promise.race([once(holder.stdout, 'data'), once(holder, 'exit'), once(holder, 'error')]);
  const inside = ['nsenter', '--mount', `--target=${holder.pid}`];
  const mount = (): void => run(...inside, 'mount', '-o', 'loop', image, path);
  try {
    run('mkfs.ext4', '-q', image);
    mount();
    run(...inside, 'xfs_io', '-x', '-c', 'stat', path);
  } catch (error) {
    t.skip(`no disk whose power can be cut can be had here: ${(error as Error).message}`);
    return null;
  }
  const all = made.move();
  return {
    path,
    program: [...inside, ...fromSource],
    cutPower: () => run(...inside, 'xfs_io', '-x', '-c', 'shutdown', path),
    mountAgain() {
      run(...inside, 'umount', path);
      waitUntilFree(image);
      mount();
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

/** What was killed in a sandbox holds its copy of the mount for a moment: a mount in that time is the dead one again. */
function waitUntilFree(image: string): void {
  const clock = new Int32Array(new SharedArrayBuffer(4));
  for (let tries = 0; tries < 600; tries++) {
    if (spawnSync('losetup', ['--associated', image], { encoding: 'utf8' }).stdout === '') return;
    Atomics.wait(clock, 0, 0, 50);
  }
  throw new Error(`The disk in ${image} is still in use after 30 s.`);
}

function run(...command: string[]): void {
  const { status, stderr, error } = spawnSync(command[0]!, command.slice(1), { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${command.join(' ')}: ${error?.message ?? stderr.split('\n')[0]}`);
}
