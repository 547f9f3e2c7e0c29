import { readFileSync, writeFileSync } from 'node:fs';

/**
 * Loaded into each process of tests: at its end it writes down how many seconds of processors it took, with all
 * processes that it started and that have ended. Unlike the time on the clock these say the same on a busy machine.
 */
export const cpuVariable = 'WORKCRATE_TEST_CPU';

const file = process.env[cpuVariable];
if (file !== undefined) process.on('exit', () => writeFileSync(file, String(readCpuSeconds())));

const ticksPerSecond = 100;

function readCpuSeconds(): number {
  try {
    const stat = readFileSync('/proc/self/stat', 'latin1');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    // utime, stime, cutime, cstime: see proc(5).
    return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / ticksPerSecond;
  } catch {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6;
  }
}
