import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import type { Contestant } from './contestants.ts';

const run = promisify(execFile);
const secondCore = ['-c', '1'];
/** The kernel's USER_HZ, which is 100 on every Linux that Node runs on. */
const ticksPerSecond = 100;

/** CPU seconds that the process and its children have used since they began. */
function cpuSeconds(pid: number): number {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean);
  // The name in parentheses may hold spaces; utime and stime are the 12th and 13th field after it.
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)!.split(' ');
  const own = (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
  return children.reduce((sum, child) => sum + cpuSeconds(Number(child)), own);
}

/** CPU seconds per GB over a few whole downloads of a file of one GB. */
export async function cpuPerGigabyte(
  { pid, urls }: Contestant,
  file: string,
  times: number,
): Promise<number> {
  const before = cpuSeconds(pid);
  for (let round = 0; round < times; round++)
    await run('taskset', [...secondCore, 'curl', '-sSf', '-o', '/dev/null', urls[file]!]);
  return (cpuSeconds(pid) - before) / times;
}

/** Requests per CPU second of the server, with 16 connections kept alive. */
export async function requestsPerCpuSecond(
  { pid, urls }: Contestant,
  file: string,
  seconds: number,
): Promise<number> {
  const before = cpuSeconds(pid);
  const { stdout } = await run('taskset', [
    ...secondCore,
    'wrk',
    '-t1',
    '-c16',
    `-d${seconds}s`,
    urls[file]!,
  ]);
  if (/Non-2xx|Socket errors/.test(stdout)) throw new Error(`wrk met errors:\n${stdout}`);
  return Number(/(\d+) requests in/.exec(stdout)![1]) / (cpuSeconds(pid) - before);
}
