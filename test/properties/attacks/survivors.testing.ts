import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';

/** Host pids of processes that bear this word in their name or arguments. */
function bearing(word: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && `${text(name, 'comm')}\0${text(name, 'cmdline')}`.includes(word))
    .filter((name) => !/^State:\s+[ZX]/m.test(text(name, 'status')))
    .map(Number)
    .filter((pid) => pid !== process.pid);
}

function text(pid: string, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1');
  } catch {
    return '';
  }
}

/** Those that are left although they were given a moment. */
export async function survivors(word: string): Promise<number[]> {
  let left = bearing(word);
  for (let attempt = 0; attempt < 80 && left.length > 0; attempt++) {
    await setTimeout(25);
    left = bearing(word);
  }
  return left;
}

/** Ends what got away from a backend without walls. */
export async function endSurvivors(word: string): Promise<void> {
  const left = bearing(word);
  for (const pid of left)
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It ended by itself.
    }
  if (left.length > 0) await survivors(word);
}

/** How many processes there are on the machine. */
export function processCount(): number {
  return readdirSync('/proc').filter((name) => /^\d+$/.test(name)).length;
}
