import { readdirSync, readFileSync } from 'node:fs';

/** Processes of this machine whose command line holds the words. */
export function processesWith(words: string): string[] {
  return readdirSync('/proc').filter((pid) => /^\d+$/.test(pid) && commandLineOf(pid).includes(words));
}

function commandLineOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1');
  } catch {
    // It has ended meanwhile.
    return '';
  }
}
