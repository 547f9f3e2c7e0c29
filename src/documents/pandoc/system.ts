import { execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, realpath, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { WorkcrateError } from '../../errors.ts';
import type { Log } from '../../observability/log.ts';
import type { CommandWrapper } from '../../workers/workers.ts';
import { confinement } from '../confinement.ts';
import { broke, bytesOf, demandNames, filesOf, lacksMemory, outputFile, refused, warningsIn } from './job.ts';
import type { Pandoc, PandocJob, PandocResult } from './pandoc.ts';

export interface SystemOptions {
  /** A name on PATH, or a path. */
  readonly command: string;
  readonly memoryBytes: number;
  readonly epoch: number | null;
  readonly log: Log;
}

/** A Pandoc of this machine: a process for each conversion. */
export function systemPandoc(options: SystemOptions): Pandoc {
  const { command, log } = options;
  const closing = new AbortController();
  let found: Promise<Program> | null = null;

  // What is missing may be installed later.
  const program = (): Promise<Program> =>
    (found ??= findProgram(command).then(
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
      demandNames(job);
      const either = AbortSignal.any([signal, closing.signal]);
      return convert(await program(), job, options, either);
    },
    version: async () => (await program()).version,
    async [Symbol.asyncDispose]() {
      closing.abort(new WorkcrateError('stopping', 'The server is stopping.'));
    },
  };
}

async function convert(
  program: Program,
  job: PandocJob,
  { memoryBytes, epoch }: SystemOptions,
  signal: AbortSignal,
): Promise<PandocResult> {
  demandWriter(program, job);
  await using folder = await newFolder();
  const at = (name: string): string => join(folder.path, name);
  for (const [name, bytes] of filesOf(job)) await writeFile(at(name), bytes);
  await writeFile(at(defaultsFile), JSON.stringify(defaultsFor(program, job)));
  const { readable } = program;
  const ended = await run({
    wrapper: readable && (await confinement({ readable, folder: folder.path })),
    program: program.path,
    args: [`--defaults=${defaultsFile}`, '+RTS', `-M${memoryBytes}`, '-RTS'],
    folder: folder.path,
    env: { LANG: 'C.UTF-8', HOME: folder.path, ...(epoch !== null && { SOURCE_DATE_EPOCH: String(epoch) }) },
    input: bytesOf(job.input),
    signal,
  });
  demandSuccess(ended, memoryBytes);
  if ((await stat(at(outputFile))).size > memoryBytes) throw lacksMemory(memoryBytes);
  return {
    output: await readFile(at(outputFile)),
    warnings: warningsIn(await readFile(at(logFile), 'utf8')),
  };
}

const defaultsFile = '.defaults.yaml';
const logFile = '.log';

async function newFolder(): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await mkdtemp(join(tmpdir(), 'workcrate-pandoc-'));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

/** JSON is YAML. */
function defaultsFor({ version }: Program, { options }: PandocJob): Record<string, unknown> {
  const { 'embed-resources': embed, ...others } = options;
  // It had another name before.
  const embedding = isAtLeast(version, '2.19') ? 'embed-resources' : 'self-contained';
  return {
    ...others,
    ...(embed !== undefined && { [embedding]: embed }),
    'output-file': outputFile,
    'log-file': logFile,
    // Warnings are in the log: what is said besides them is why it failed.
    verbosity: 'ERROR',
  };
}

const firstWithTypst = '3.1.2';

function demandWriter({ version }: Program, { options }: PandocJob): void {
  if (!String(options['to']).startsWith('typst') || isAtLeast(version, firstWithTypst)) return;
  throw new WorkcrateError(
    'unsupported',
    `Pandoc ${version} cannot write Typst, which PDF is made of: ${firstWithTypst} or later can. ` +
      'Name such a one by the setting pandoc, or leave it empty for the packaged one.',
  );
}

/** Of the runtime of Haskell, where memory runs out. */
const heapExhausted = 251;

/** Codes of Pandoc for what is no fault of the document: it should never happen, and the like. */
const ownFaults = new Set([2, 62, 63, 66, 67]);

function demandSuccess({ code, words }: Ended, memoryBytes: number): void {
  if (code === 0) return;
  if (code === heapExhausted) throw lacksMemory(memoryBytes);
  if (code === null || code > 128 || ownFaults.has(code)) throw broke(new Error(words));
  throw refused(words);
}

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

export interface RunOptions {
  readonly wrapper: CommandWrapper | null;
  readonly program: string;
  readonly args: readonly string[];
  readonly folder: string;
  /** All that is in its environment. */
  readonly env: Readonly<Record<string, string>>;
  readonly input: Uint8Array;
  readonly signal: AbortSignal;
}

export interface Ended {
  /** Null where a signal ended it. */
  readonly code: number | null;
  /** What it said on stderr. */
  readonly words: string;
}

const mostWords = 10_000;

/** Runs a program to its end. When the signal fires, all that it started is killed and its reason is thrown. */
async function run({ signal, input, ...options }: RunOptions): Promise<Ended> {
  signal.throwIfAborted();
  const child = start(options);
  const { promise, resolve, reject } = Promise.withResolvers<Ended>();
  let words = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    if (words.length < mostWords) words += text;
  });
  child.on('error', reject);
  child.on('close', (code) => resolve({ code, words: words.slice(0, mostWords) }));
  // It need not read all of its input; how it ends says why.
  child.stdin.on('error', () => {}).end(input);
  const abort = (): void => {
    killAll(child.pid);
    reject(signal.reason);
  };
  signal.addEventListener('abort', abort, { once: true });
  return promise.finally(() => signal.removeEventListener('abort', abort));
}

/** A group of its own, so that it can be killed with all its children. */
function start({ wrapper, program, args, folder, env }: Omit<RunOptions, 'signal' | 'input'>) {
  const [command, ...first] = wrapper === null ? [program] : [wrapper.command, ...wrapper.args, program];
  return spawn(command!, [...first, ...args], {
    cwd: folder,
    env: { ...env },
    stdio: ['pipe', 'ignore', 'pipe'],
    detached: true,
  });
}

function killAll(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch {
    // It has just ended.
  }
}
