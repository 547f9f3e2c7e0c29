import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { WorkcrateError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { confinement } from '../confinement.ts';
import { broke, lacksMemory, refused, warningsIn } from './complaints.ts';
import { bytesOf, demandNames, filesOf, outputFile } from './job.ts';
import type { Pandoc, PandocJob, PandocResult } from './pandoc.ts';
import { findProgram, isAtLeast, type Program } from './program.ts';
import { run, type Ended } from './run.ts';

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
