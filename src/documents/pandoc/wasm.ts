import { readFile } from 'node:fs/promises';
import { dirname, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isWorkcrateError, WorkcrateError } from '../../errors.ts';
import type { Log } from '../../observability/log.ts';
import {
  createHelperProcess,
  ranOutOfMemory,
  type Thread,
  type CommandWrapper,
} from '../../workers/workers.ts';
import { confinement } from '../confinement.ts';
import { createPool } from '../pool.ts';
import type { InstanceOptions } from './instance.ts';
import { broke, demandNames, lacksMemory, refused, warningsIn } from './job.ts';
import type { WorkerMethods } from './pandoc-worker.ts';
import type { Pandoc, PandocJob, PandocResult } from './pandoc.ts';

export interface WasmOptions {
  /** Most processes, each of which does one conversion at a time. */
  readonly processes: number;
  /** Most that each may have. */
  readonly memoryBytes: number;
  /** How long one is kept that has nothing to do. */
  readonly idleSeconds: number;
  /** Seconds since 1970 that all output is dated, null: now. */
  readonly epoch: number | null;
  readonly log: Log;
}

/** Pandoc from its npm package, in processes that are started when they are needed. */
export function wasmPandoc(options: WasmOptions): Pandoc {
  const { processes, memoryBytes, idleSeconds } = options;
  let walls: CommandWrapper | null = null;
  const open = (): Thread<PandocMethods> => openProcess(findPackage(), walls, options);
  const pool = createPool({ most: processes, idleMs: idleSeconds * 1000, open });

  return {
    kind: 'wasm',
    async convert(job, signal) {
      signal.throwIfAborted();
      demandNames(job);
      walls = await confinement({ readable: readableFor(findPackage()) });
      try {
        return await pool.use((process) => process.call('convert', job), signal);
      } catch (error) {
        if (ranOutOfMemory(error)) throw lacksMemory(memoryBytes);
        throw isWorkcrateError(error, 'internal') ? broke(error) : error;
      }
    },
    version: async () => packagedVersion(findPackage()),
    [Symbol.asyncDispose]: () => pool[Symbol.asyncDispose](),
  };
}

/** The sources of this server, or what was built of them. */
const sources = dirname(dirname(import.meta.dirname));

const readableFor = ({ folders }: PandocPackage): string[] => [
  sources,
  join(dirname(sources), 'package.json'),
  ...folders,
];

function openProcess(
  found: PandocPackage,
  wrapper: CommandWrapper | null,
  { memoryBytes, epoch, log }: WasmOptions,
): Thread<PandocMethods> {
  const file = new URL(`./pandoc-process${extname(import.meta.filename)}`, import.meta.url);
  const data: ProcessSettings = { wasm: found.wasm, shim: found.shim, memoryBytes, epoch };
  const nodeFlags = [...permissions(readableFor(found)), ...tuning];
  return createHelperProcess(file, data, log, { memoryBytes, nodeFlags, wrapper, env: {} });
}

/** Of Node itself, which hold where no other wall does: no network, no programs, no file but these. */
const permissions = (readable: readonly string[]): string[] => [
  '--permission',
  '--allow-worker',
  ...readable.map((path) => `--allow-fs-read=${path}`),
  '--disable-warning=SecurityWarning',
];

/**
 * Haskell is compiled to a great many small functions: to inline them costs more than it gives, and it pays to optimise
 * them sooner. Together a fifteenth of the time.
 */
const tuning = ['--no-wasm-inlining', '--wasm-tiering-budget=500000'];

/** What the process is given. */
export interface ProcessSettings extends InstanceOptions {
  readonly wasm: string;
  readonly shim: string;
}

/** After which a thread is replaced: its memory only ever grows, and nobody knows what a long life does to it. */
const mostConversions = 200;
const mostMemory = 256 * 1024 ** 2;

/** What is done in the process that holds Pandoc: one conversion at a time, in a thread that is replaced now and then. */
export function createConverting(open: () => Promise<Thread<WorkerMethods>>) {
  let thread: Promise<Thread<WorkerMethods>> | null = null;
  let conversions = 0;

  function recycle(): void {
    void thread?.then((old) => old[Symbol.asyncDispose]());
    [thread, conversions] = [null, 0];
  }

  return {
    async convert(job: PandocJob): Promise<PandocResult> {
      thread ??= open();
      let isSpent = true;
      try {
        const { output, complaint, log, memoryBytes } = await (await thread).call('convert', job);
        isSpent = ++conversions >= mostConversions || memoryBytes > mostMemory;
        if (complaint !== '') throw refused(complaint);
        return { output, warnings: warningsIn(log) };
      } finally {
        if (isSpent) recycle();
      }
    },
  };
}

export type PandocMethods = ReturnType<typeof createConverting>;

/** Where the packages stand that hold Pandoc in WebAssembly, and what it needs to run. */
export interface PandocPackage {
  readonly wasm: string;
  /** As a URL, to be imported. */
  readonly shim: string;
  readonly folders: readonly string[];
}

const names = ['pandoc-wasm', '@bjorn3/browser_wasi_shim'] as const;

/** They are optional dependencies. `resolve` tells where a package begins. */
export function findPackage(resolve: (name: string) => string = resolveHere): PandocPackage {
  try {
    const [pandoc, shim] = names.map(resolve) as [string, string];
    return {
      wasm: fileURLToPath(new URL('./pandoc.wasm', pandoc)),
      shim,
      folders: [pandoc, shim].map((url) => dirname(dirname(fileURLToPath(url)))),
    };
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw cause;
    const message = `Documents need packages that are not installed. Run: npm install ${names.join(' ')}`;
    throw new WorkcrateError('documents_unavailable', message, { cause });
  }
}

const resolveHere = (name: string): string => import.meta.resolve(name);

/** The version of Pandoc, which stands beside it. */
async function packagedVersion({ wasm }: PandocPackage): Promise<string> {
  return (await readFile(new URL('../pandoc-version.txt', `file://${wasm}`), 'utf8')).trim();
}
