import { spawnSync } from 'node:child_process';
import { appendFile, mkdtemp, rm, rmdir, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';

/** A disk of a few megabytes, mounted for one test. */
export interface SmallDisk extends AsyncDisposable {
  readonly path: string;
  /** Takes all the space that is left. */
  fill(): Promise<void>;
  /** Gives it back. */
  free(): Promise<void>;
}

/** Mounts one, or gives null after skipping the test with the reason. */
export async function smallDisk(t: TestContext, size = '2m'): Promise<SmallDisk | null> {
  const path = await mkdtemp(join(tmpdir(), 'workcrate-small-'));
  const refused = mount('-t', 'tmpfs', '-o', `size=${size}`, 'none', path);
  if (refused !== null) {
    await rmdir(path);
    t.skip(`no small disk can be mounted here: ${refused}`);
    return null;
  }
  const unmount = unmountAtTheLatest(path);
  const filler = join(path, 'filler');
  return {
    path,
    async fill() {
      const { bavail, bsize } = await statfs(path);
      await appendFile(filler, Buffer.alloc(bavail * bsize));
    },
    free: () => rm(filler),
    async [Symbol.asyncDispose]() {
      unmount();
      await rmdir(path);
    },
  };
}

/** Makes a folder read-only even for root, until disposed; or gives null after skipping the test with the reason. */
export function readOnly(t: TestContext, folder: string): Disposable | null {
  // A mount of its own over the folder, since the one below cannot change while files are open for writing.
  const unbound = mount('--bind', folder, folder);
  const unmount = unbound === null ? unmountAtTheLatest(folder) : () => {};
  const refused = unbound ?? mount('-o', 'remount,bind,ro', folder);
  if (refused === null) return { [Symbol.dispose]: unmount };
  unmount();
  t.skip(`no folder can be made read-only here: ${refused}`);
  return null;
}

/** Why it could not be done, or null. */
function mount(...args: string[]): string | null {
  const { status, stderr, error } = spawnSync('mount', args, { encoding: 'utf8' });
  return status === 0 ? null : (error?.message ?? stderr.split('\n')[0]!);
}

/** Lazily, since a server may still hold a file; and at the end of the process if nobody did before. */
function unmountAtTheLatest(path: string): () => void {
  const unmount = (): void => {
    process.off('exit', unmount);
    spawnSync('umount', ['--lazy', path]);
  };
  process.on('exit', unmount);
  return unmount;
}
