/**
 * Says when a file has changed. By asking for its state: editors replace files, and what a container mounts is a link that
 * is switched, which no watch of a single file notices.
 */
import { unwatchFile, watchFile } from 'node:fs';

const intervalMs = 1000;

export function watchFileChanges(path: string, changed: () => void): Disposable {
  const listener = (): void => changed();
  watchFile(path, { interval: intervalMs, persistent: false }, listener);
  return { [Symbol.dispose]: () => unwatchFile(path, listener) };
}
