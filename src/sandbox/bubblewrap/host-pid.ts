import { readFileSync } from 'node:fs';
import { WorkcrateError } from '../../errors.ts';

/** What this machine calls a child of the fork server, which knows it by its pid inside. */
export function hostPidOf(parent: number, innerPid: number): number {
  const children = readFileSync(`/proc/${parent}/task/${parent}/children`, 'latin1').split(' ');
  // The newest is the last.
  const found = children.findLast((pid) => pid !== '' && innerOf(pid) === innerPid);
  if (found === undefined) throw new WorkcrateError('sandbox_failed', 'A run ended before it began.');
  return Number(found);
}

/** The second number: as seen from the namespace below this one. */
function innerOf(pid: string): number {
  const status = readFileSync(`/proc/${pid}/status`, 'latin1');
  return Number(/^NSpid:\s+\d+\s+(\d+)/m.exec(status)?.[1]);
}
