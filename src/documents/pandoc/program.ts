import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { promisify } from 'node:util';
import { WorkcrateError } from '../../errors.ts';
import { confinement } from '../confinement.ts';

/** A Pandoc of this machine. */
export interface Program {
  readonly path: string;
  /** Such as `3.1.11`. */
  readonly version: string;
  /** What it reads besides its input, where a wall can be put around it; null where it cannot. */
  readonly readable: readonly string[] | null;
}

/** Some come in one file, others have what they need beside them. */
const shared = ['/usr/share/pandoc', '/usr/local/share/pandoc'];

export async function findProgram(command: string): Promise<Program> {
  const path = await pathOf(command);
  const readable = [path, ...shared.filter((folder) => existsSync(folder))];
  const walls = await confinement({ readable });
  const confined = walls && versionIn(await answerOf(walls.command, [...walls.args, path, '--version']));
  const version = confined ?? versionIn(await answerOf(path, ['--version']));
  if (version === null) throw unavailable(`${path} does not say which version of Pandoc it is.`);
  return { path, version, readable: confined === null ? null : readable };
}

/** A shell looks names up on PATH, so that the program itself never sees the environment of the server. */
async function pathOf(command: string): Promise<string> {
  const { stdout } = await execute('/bin/sh', ['-c', 'command -v "$1"', 'sh', command], bounds).catch(() => ({
    stdout: '',
  }));
  const path = stdout.trim();
  if (!path.startsWith('/')) throw unavailable(`There is no ${command} on PATH.`);
  return realpath(path);
}

const execute = promisify(execFile);
const bounds = { timeout: 10_000, maxBuffer: 100_000, killSignal: 'SIGKILL' } as const;

/** Empty where it cannot be run. */
async function answerOf(program: string, args: readonly string[]): Promise<string> {
  try {
    return (await execute(program, args, { ...bounds, env: { HOME: '/' } })).stdout;
  } catch {
    return '';
  }
}

const versionIn = (text: string): string | null => /^pandoc\S* (\d+(?:\.\d+)+)/.exec(text)?.[1] ?? null;

const unavailable = (why: string): WorkcrateError =>
  new WorkcrateError(
    'documents_unavailable',
    `${why} Install Pandoc, or leave the setting pandoc empty: the packaged one is used then.`,
  );

/** Whether a version is at least another. */
export function isAtLeast(version: string, least: string): boolean {
  const [have, need] = [version, least].map((text) => text.split('.').map(Number));
  for (const [at, number] of need!.entries())
    if ((have![at] ?? 0) !== number) return (have![at] ?? 0) > number;
  return true;
}
