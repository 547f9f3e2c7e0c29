import { readdirSync, readFileSync, statSync } from 'node:fs';
import { createGroupNames, readProcess } from '../cgroups/processes.ts';

/** In the environment of every bubblewrap that a server starts: which server that is, by its pid and start. */
const cellMarkVariable = 'WORKCRATE_CELL';
const serverMarks = createGroupNames('workcrate');

export const sandboxMark = { [cellMarkVariable]: serverMarks.of('cell') };

/**
 * Kills what dead servers left behind, and returns how many. Only processes called bwrap, whose environment names a
 * server that is dead; as root none of root's, since anybody can choose the environment of a program.
 */
export function endLeftovers(): number {
  const left = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => ignoreEndedProcess(() => isLeftOver(pid), false));
  for (const pid of left) ignoreEndedProcess(() => process.kill(pid, 'SIGKILL'), false);
  return left.length;
}

function isLeftOver(pid: number): boolean {
  if (readFileSync(`/proc/${pid}/comm`, 'utf8') !== 'bwrap\n') return false;
  const { uid } = statSync(`/proc/${pid}`);
  const own = process.getuid?.() ?? 0;
  if (own === 0 ? uid === 0 : uid !== own) return false;
  const before = readProcess(pid)?.started;
  const marks = readFileSync(`/proc/${pid}/environ`, 'latin1')
    .split('\0')
    .filter((entry) => entry.startsWith(`${cellMarkVariable}=`))
    .map((entry) => entry.slice(cellMarkVariable.length + 1));
  // Still the same process: its pid was not reused meanwhile.
  return marks.some(serverMarks.isLeftOver) && readProcess(pid)?.started === before;
}

/** A process may end meanwhile. */
function ignoreEndedProcess<T>(act: () => T, otherwise: T): T {
  try {
    return act();
  } catch {
    return otherwise;
  }
}
