import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';

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

/** Waits, within reason, until something is so. */
export async function eventually(isSo: () => boolean | Promise<boolean>): Promise<void> {
  for (let tries = 0; !(await isSo()); tries++) {
    assert.ok(tries < 200, 'it did not come about within 10 s');
    await pause(50);
  }
}
