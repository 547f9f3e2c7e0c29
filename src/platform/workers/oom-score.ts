import { writeFileSync } from 'node:fs';
import { getErrno } from '../errors.ts';

/**
 * What the kernel adds to the score of a process, in thousandths of the machine's memory, when memory is short and it
 * chooses whom to kill: 0 is that of the server, so whatever has this is killed before it. Children inherit it.
 */
export const expendableOomScore = 900;

/**
 * For a shell, before it becomes another program: what that starts has it from the beginning. If the shell has the right
 * CAP_SYS_RESOURCE, as root outside of a container has, no program can lower it again; else down to that of the server.
 */
export const becomeExpendable = `echo ${expendableOomScore} > /proc/self/oom_score_adj;`;

/** Has the kernel kill a process and its later children before the server. To raise a score needs no right. */
export function markExpendable(pid: number | undefined): void {
  if (pid === undefined || process.platform !== 'linux') return;
  try {
    writeFileSync(`/proc/${pid}/oom_score_adj`, `${expendableOomScore}`);
  } catch (error) {
    // It has ended, it has another uid than an ordinary server, or its score is higher already.
    if (!['ENOENT', 'ESRCH', 'EACCES', 'EPERM'].includes(getErrno(error) ?? '')) throw error;
  }
}
