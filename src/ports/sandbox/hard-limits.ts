import { readFileSync } from 'node:fs';
import { WorkcrateError } from '../../platform/errors.ts';
import type { RunLimitSettings } from './sandbox.ts';

/** The hard limits of this process (`ulimit -H`): no run can have more. Infinity if there is none. */
export interface HardLimits {
  readonly openFiles: number;
  readonly processes: number;
  readonly fileBytes: number;
}

export const noHardLimits: HardLimits = {
  openFiles: Number.POSITIVE_INFINITY,
  processes: Number.POSITIVE_INFINITY,
  fileBytes: Number.POSITIVE_INFINITY,
};

export function readHardLimits(text = readOwnLimits()): HardLimits {
  const hard = (name: string): number => {
    const value = new RegExp(`^${name} +\\S+ +(\\S+)`, 'm').exec(text)?.[1] ?? 'unlimited';
    return value === 'unlimited' ? Number.POSITIVE_INFINITY : Number(value);
  };
  return {
    openFiles: hard('Max open files'),
    processes: hard('Max processes'),
    fileBytes: hard('Max file size'),
  };
}

/** Empty on a system without /proc. */
function readOwnLimits(): string {
  return process.platform === 'linux' ? readFileSync('/proc/self/limits', 'utf8') : '';
}

/** The most open files of the whole machine. Only root gets one beyond it. */
export function readFileMax(): number {
  if (process.platform !== 'linux') return Number.POSITIVE_INFINITY;
  return Number(readFileSync('/proc/sys/fs/file-max', 'utf8'));
}

/** What runs get, and texts for the operator if that is less than the settings say. */
export interface FittedLimits {
  readonly limits: RunLimitSettings;
  /** Of each process of a run. */
  readonly openFiles: number;
  readonly warnings: readonly string[];
}

/** What most systems give a program, and so what programs expect. */
const usualOpenFiles = 1024;
const minOpenFiles = 256;

/** Lowers limits that the machine does not allow, so that runs work with less instead of not at all. */
export function fitLimits(
  requested: RunLimitSettings,
  mostRuns: number,
  hard: HardLimits,
  fileMax: number,
): FittedLimits {
  if (hard.openFiles < minOpenFiles)
    throw new WorkcrateError(
      'sandbox_unavailable',
      `Runs need ${minOpenFiles} open files, and the server may have ${hard.openFiles} (ulimit -Hn). ${explainRaising('-n', 'LimitNOFILE')}`,
    );
  const processes = Math.min(requested.processes, hard.processes);
  const fileBytes = Math.min(requested.fileBytes, hard.fileBytes);
  const share = Math.max(minOpenFiles, Math.floor(fileMax / 2 / (processes * mostRuns)));
  const openFiles = Math.min(usualOpenFiles, hard.openFiles, share);
  return {
    limits: { ...requested, processes, fileBytes },
    openFiles,
    warnings: [
      ...(processes < requested.processes
        ? [
            `Runs have at most ${processes} processes instead of ${requested.processes}, since the server may have no more (ulimit -Hu). ${explainRaising('-u', 'LimitNPROC')}`,
          ]
        : []),
      ...(fileBytes < requested.fileBytes
        ? [
            `Files of runs have at most ${fileBytes} bytes instead of ${requested.fileBytes}, since the server may write no larger ones (ulimit -Hf). ${explainRaising('-f', 'LimitFSIZE')}`,
          ]
        : []),
      ...listOpenFilesWarnings({ openFiles, processes, mostRuns, fileMax }, hard),
    ],
  };
}

interface OpenFileLimits {
  readonly openFiles: number;
  readonly processes: number;
  readonly mostRuns: number;
  readonly fileMax: number;
}

function listOpenFilesWarnings(
  { openFiles, processes, mostRuns, fileMax }: OpenFileLimits,
  hard: HardLimits,
): string[] {
  const all = openFiles * processes * mostRuns;
  const runs = `${mostRuns} runs of ${processes} processes`;
  if (all > fileMax / 2)
    return [
      `${runs} could hold ${all} of the machine's ${fileMax} open files. Lower --max-runs or --run-processes, or raise fs.file-max (sysctl).`,
    ];
  if (openFiles === usualOpenFiles) return [];
  return openFiles === hard.openFiles
    ? [
        `A process of a run has at most ${openFiles} open files instead of ${usualOpenFiles}, since the server may have no more (ulimit -Hn). ${explainRaising('-n', 'LimitNOFILE')}`,
      ]
    : [
        `A process of a run has at most ${openFiles} open files instead of ${usualOpenFiles}, so that ${runs} leave half of the machine's ${fileMax} to others. Lower --max-runs or --run-processes, or raise fs.file-max (sysctl).`,
      ];
}

const explainRaising = (option: string, directive: string): string =>
  `Raise it: ulimit ${option} in a shell, ${directive}= in a unit of systemd, --ulimit for a container.`;
