import { execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, realpath, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { WorkcrateError } from '../../../platform/errors.ts';
import type { Log } from '../../../platform/observability/log.ts';
import { markExpendable, type CommandWrapper } from '../../../platform/workers/workers.ts';
import { findConfinement } from '../confinement.ts';
import {
  pandocFailedError,
  toContentBytes,
  checkJobFileNames,
  listJobFiles,
  pandocMemoryError,
  pandocOutputFile,
  pandocRefusedError,
  parsePandocLog,
} from './job.ts';
import type { Pandoc, PandocJob, PandocResult } from './pandoc.ts';

export interface SystemPandocOptions {
  /** A name on PATH, or a path. */
  readonly command: string;
  readonly memoryBytes: number;
  readonly epoch: number | null;
  readonly log: Log;
}

/** A Pandoc that is installed on this machine: one process for each conversion. */
export function openSystemPandoc(options: SystemPandocOptions): Pandoc {
  const { command, log } = options;
  const closing = new AbortController();
  let found: Promise<PandocProgram> | null = null;

  // After a failure it is tried again: Pandoc may be installed later.
  const program = (): Promise<PandocProgram> =>
    (found ??= findPandocProgram(command).then(
      (program) => {
        if (program.readable === null) log.warn('pandoc.unconfined', { path: program.path });
        return program;
      },
      (error: unknown) => {
        found = null;
        throw error;
      },
    ));

  return {
    kind: 'system',
    async convert(job, signal) {
      signal.throwIfAborted();
      checkJobFileNames(job);
      const either = AbortSignal.any([signal, closing.signal]);
      return convertWithProgram(await program(), job, options, either);
    },
    version: async () => (await program()).version,
    async [Symbol.asyncDispose]() {
      closing.abort(new WorkcrateError('stopping', 'The server is stopping.'));
    },
  };
}

async function convertWithProgram(
  program: PandocProgram,
  job: PandocJob,
  { memoryBytes, epoch }: SystemPandocOptions,
  signal: AbortSignal,
): Promise<PandocResult> {
  checkTypstWriter(program, job);
  await using folder = await createJobFolder();
  const at = (name: string): string => join(folder.path, name);
  for (const [name, bytes] of listJobFiles(job)) await writeFile(at(name), bytes);
  await writeFile(at(pandocDefaultsFile), JSON.stringify(buildPandocDefaults(program, job)));
  const { readable } = program;
  const ended = await runPandocProgram({
    wrapper: readable && (await findConfinement({ readable, folder: folder.path })),
    program: program.path,
    args: [`--defaults=${pandocDefaultsFile}`, '+RTS', `-M${memoryBytes}`, '-RTS'],
    folder: folder.path,
    env: { LANG: 'C.UTF-8', HOME: folder.path, ...(epoch !== null && { SOURCE_DATE_EPOCH: String(epoch) }) },
    input: toContentBytes(job.input),
    signal,
  });
  checkPandocSuccess(ended, memoryBytes);
  if ((await stat(at(pandocOutputFile))).size > memoryBytes) throw pandocMemoryError(memoryBytes);
  return {
    output: await readFile(at(pandocOutputFile)),
    warnings: parsePandocLog(await readFile(at(pandocLogFile), 'utf8')),
  };
}

const pandocDefaultsFile = '.defaults.yaml';
const pandocLogFile = '.log';

async function createJobFolder(): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await mkdtemp(join(tmpdir(), 'workcrate-pandoc-'));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

/** JSON is YAML. */
function buildPandocDefaults({ version }: PandocProgram, { options }: PandocJob): Record<string, unknown> {
  const { 'embed-resources': embed, ...others } = options;
  // Before that version, the option had another name.
  const embedding = isVersionAtLeast(version, '2.19') ? 'embed-resources' : 'self-contained';
  return {
    ...others,
    ...(embed !== undefined && { [embedding]: embed }),
    'output-file': pandocOutputFile,
    'log-file': pandocLogFile,
    // Warnings are in the log file; stderr has only the reason of a failure.
    verbosity: 'ERROR',
  };
}

const firstPandocWithTypst = '3.1.2';

function checkTypstWriter({ version }: PandocProgram, { options }: PandocJob): void {
  if (!String(options['to']).startsWith('typst') || isVersionAtLeast(version, firstPandocWithTypst)) return;
  throw new WorkcrateError(
    'unsupported',
    `Pandoc ${version} cannot write Typst, which PDF needs; ${firstPandocWithTypst} or later can. ` +
      'Set --pandoc to a newer one, or leave it out to use the packaged one.',
  );
}

/** Of the Haskell runtime, when memory runs out. */
const heapExhaustedExitCode = 251;

/** Pandoc's exit codes for errors that are not the document's fault. */
const internalErrorExitCodes = new Set([2, 62, 63, 66, 67]);

function checkPandocSuccess({ code, stderr }: ProgramEnd, memoryBytes: number): void {
  if (code === 0) return;
  if (code === heapExhaustedExitCode) throw pandocMemoryError(memoryBytes);
  if (code === null || code > 128 || internalErrorExitCodes.has(code))
    throw pandocFailedError(new Error(stderr));
  throw pandocRefusedError(stderr);
}

/** A Pandoc of this machine. */
export interface PandocProgram {
  readonly path: string;
  /** Such as `3.1.11`. */
  readonly version: string;
  /** What it reads besides its input; null if it cannot be confined. */
  readonly readable: readonly string[] | null;
}

/** Some builds of Pandoc are one file, others need these folders. */
const pandocDataFolders = ['/usr/share/pandoc', '/usr/local/share/pandoc'];

export async function findPandocProgram(command: string): Promise<PandocProgram> {
  const path = await findProgramPath(command);
  const readable = [path, ...pandocDataFolders.filter((folder) => existsSync(folder))];
  const walls = await findConfinement({ readable });
  const confined =
    walls && parsePandocVersion(await readProgramOutput(walls.command, [...walls.args, path, '--version']));
  const version = confined ?? parsePandocVersion(await readProgramOutput(path, ['--version']));
  if (version === null) throw pandocUnavailableError(`${path} does not print the version of a Pandoc.`);
  return { path, version, readable: confined === null ? null : readable };
}

/** A shell looks names up on PATH, so that the program itself never sees the environment of the server. */
async function findProgramPath(command: string): Promise<string> {
  const { stdout } = await execFileAsync(
    '/bin/sh',
    ['-c', 'command -v "$1"', 'sh', command],
    programProbeLimits,
  ).catch(() => ({
    stdout: '',
  }));
  const path = stdout.trim();
  if (!path.startsWith('/')) throw pandocUnavailableError(`There is no ${command} on PATH.`);
  return realpath(path);
}

const execFileAsync = promisify(execFile);
const programProbeLimits = { timeout: 10_000, maxBuffer: 100_000, killSignal: 'SIGKILL' } as const;

/** Empty if the program cannot be run. */
async function readProgramOutput(program: string, args: readonly string[]): Promise<string> {
  try {
    return (await execFileAsync(program, args, { ...programProbeLimits, env: { HOME: '/' } })).stdout;
  } catch {
    return '';
  }
}

const parsePandocVersion = (text: string): string | null =>
  /^pandoc\S* (\d+(?:\.\d+)+)/.exec(text)?.[1] ?? null;

const pandocUnavailableError = (why: string): WorkcrateError =>
  new WorkcrateError(
    'documents_unavailable',
    `${why} Install Pandoc, or leave --pandoc out to use the packaged one.`,
  );

export function isVersionAtLeast(version: string, least: string): boolean {
  const [have, need] = [version, least].map((text) => text.split('.').map(Number));
  for (const [at, number] of need!.entries())
    if ((have![at] ?? 0) !== number) return (have![at] ?? 0) > number;
  return true;
}

export interface ProgramRunOptions {
  readonly wrapper: CommandWrapper | null;
  readonly program: string;
  readonly args: readonly string[];
  readonly folder: string;
  /** Its whole environment. */
  readonly env: Readonly<Record<string, string>>;
  readonly input: Uint8Array;
  readonly signal: AbortSignal;
}

export interface ProgramEnd {
  /** Null if a signal ended it. */
  readonly code: number | null;
  readonly stderr: string;
}

const maxStderrCharacters = 10_000;

/** Runs a program to its end. When the signal fires, its process group is killed and the reason is thrown. */
async function runPandocProgram({ signal, input, ...options }: ProgramRunOptions): Promise<ProgramEnd> {
  signal.throwIfAborted();
  const child = spawnProgram(options);
  const { promise, resolve, reject } = Promise.withResolvers<ProgramEnd>();
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    if (stderr.length < maxStderrCharacters) stderr += text;
  });
  child.on('error', reject);
  child.on('close', (code) => resolve({ code, stderr: stderr.slice(0, maxStderrCharacters) }));
  // It may end before it has read all of its input; its exit code says why.
  child.stdin.on('error', () => {}).end(input);
  const abort = (): void => {
    killProcessGroup(child.pid);
    reject(signal.reason);
  };
  signal.addEventListener('abort', abort, { once: true });
  return promise.finally(() => signal.removeEventListener('abort', abort));
}

/** In a process group of its own, so that it can be killed with its children. */
function spawnProgram({ wrapper, program, args, folder, env }: Omit<ProgramRunOptions, 'signal' | 'input'>) {
  const [command, ...first] = wrapper === null ? [program] : [wrapper.command, ...wrapper.args, program];
  const child = spawn(command!, [...first, ...args], {
    cwd: folder,
    env: { ...env },
    stdio: ['pipe', 'ignore', 'pipe'],
    detached: true,
  });
  markExpendable(child.pid);
  return child;
}

function killProcessGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch {
    // It has just ended.
  }
}
