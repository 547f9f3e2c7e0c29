import type { Log } from '../../log.ts';
import { createPolicy, type AllowedPaths } from '../policy/policy.ts';

const mostNamed = 20;

/** Warns of allowed paths that are in none of some folders of this machine, once for each folder. */
export function createMissingWarning(
  pathsIn: (root: string) => AllowedPaths,
  log: Log,
): (folders: readonly string[]) => void {
  const warned = new Set<string>();
  const missingIn = (root: string) => createPolicy({ root, ...pathsIn(root) }).missingAllowed(root);
  return (folders) => {
    if (folders.every((folder) => warned.has(folder))) return;
    for (const folder of folders) warned.add(folder);
    const [first = [], ...others] = folders.map(missingIn);
    const missing = first.filter((path) => others.every((one) => one.includes(path)));
    if (missing.length === 0) return;
    log.warn('bridge.allowed_missing', { root: folders.join(', '), missing: missing.slice(0, mostNamed) });
  };
}
