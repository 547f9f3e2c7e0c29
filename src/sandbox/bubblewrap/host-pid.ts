import { readFileSync } from 'node:fs';
import { WorkcrateError } from '../../errors.ts';

/** What this machine calls a child of the fork server, which knows it by its pid inside. */
export function hostPidOf(parent: number, innerPid: number): number {
  // The newest is the last.
  const found = childrenOf(parent).findLast((pid) => innerOf(pid) === innerPid);
  if (found === undefined) throw new WorkcrateError('sandbox_failed', 'A run ended before it began.');
  return Number(found);
}

/** What bubblewrap has started, once that has said that it is up. */
export function onlyChildOf(parent: number): number {
  const [child] = childrenOf(parent);
  if (child === undefined) throw new WorkcrateError('sandbox_failed', 'The sandbox ended while it began.');
  return Number(child);
}

function childrenOf(parent: number): string[] {
  const text = readFileSync(`/proc/${parent}/task/${parent}/children`, 'latin1');
  return text.split(' ').filter((pid) => pid !== '');
}

/** The second number: as seen from the namespace below this one. */
function innerOf(pid: string): number {
  const status = readFileSync(`/proc/${pid}/status`, 'latin1');
  return Number(/^NSpid:\s+\d+\s+(\d+)/m.exec(status)?.[1]);
}
