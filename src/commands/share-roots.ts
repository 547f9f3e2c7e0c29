import { homedir } from 'node:os';
import type { Config } from '../config.ts';

/**
 * The folders whose files may be shared by path: those that were named, else the one that the client
 * started the server in, which is its project. A home folder or `/` is no project.
 */
export function shareRootsFor(
  config: Config,
  startedIn: string = process.cwd(),
  home: string = homedir(),
): string[] {
  if (config.shareRoots.length > 0) return [...config.shareRoots];
  return startedIn === '/' || startedIn === home ? [] : [startedIn];
}
