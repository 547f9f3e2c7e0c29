import { readFile } from 'node:fs/promises';
import { dirname, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sourceFolder } from '../../../platform/program.ts';
import { isWorkcrateError, WorkcrateError } from '../../../platform/errors.ts';
import type { Log } from '../../../platform/observability/log.ts';
import {
  createHelperProcess,
  ranOutOfMemory,
  type Thread,
  type CommandWrapper,
} from '../../../platform/workers/workers.ts';
import { findConfinement } from '../confinement.ts';
import { createProcessPool } from '../pool.ts';
import type { PandocInstanceOptions } from './instance.ts';
import {
  pandocFailedError,
  checkJobFileNames,
  pandocMemoryError,
  pandocRefusedError,
  parsePandocLog,
} from './job.ts';
import type { PandocWorkerMethods } from './pandoc-worker.ts';
import type { Pandoc, PandocJob, PandocResult } from './pandoc.ts';

export interface WasmPandocOptions {
  /** Most processes; each does one conversion at a time. */
  readonly processes: number;
  /** Memory limit of each. */
  readonly memoryBytes: number;
  /** How long an idle process is kept. */
  readonly idleSeconds: number;
  /** Date of all output, in seconds since 1970; null: now. */
  readonly epoch: number | null;
  readonly log: Log;
}

/** Pandoc from its npm package, in processes that start when they are needed. */
export function openWasmPandoc(options: WasmPandocOptions): Pandoc {
  const { processes, memoryBytes, idleSeconds } = options;
  let walls: CommandWrapper | null = null;
  const open = (): Thread<PandocMethods> => openPandocProcess(findPandocPackage(), walls, options);
  const pool = createProcessPool({ most: processes, idleMs: idleSeconds * 1000, open });

  return {
    kind: 'wasm',
    async convert(job, signal) {
      signal.throwIfAborted();
      checkJobFileNames(job);
      walls = await findConfinement({ readable: listReadablePaths(findPandocPackage()) });
      try {
        return await pool.use((process) => process.call('convert', job), signal);
      } catch (error) {
        if (ranOutOfMemory(error)) throw pandocMemoryError(memoryBytes);
        throw isWorkcrateError(error, 'internal') ? pandocFailedError(error) : error;
      }
    },
    version: async () => readPackagedPandocVersion(findPandocPackage()),
    [Symbol.asyncDispose]: () => pool[Symbol.asyncDispose](),
  };
}

const listReadablePaths = ({ folders }: PandocPackage): string[] => [
  sourceFolder,
  join(dirname(sourceFolder), 'package.json'),
  ...folders,
];

function openPandocProcess(
  found: PandocPackage,
  wrapper: CommandWrapper | null,
  { memoryBytes, epoch, log }: WasmPandocOptions,
): Thread<PandocMethods> {
  const file = new URL(`./pandoc-process${extname(import.meta.filename)}`, import.meta.url);
  const data: PandocProcessSettings = { wasm: found.wasm, shim: found.shim, memoryBytes, epoch };
  const nodeFlags = [...buildPermissionFlags(listReadablePaths(found)), ...wasmTuningFlags];
  return createHelperProcess(file, data, log, { memoryBytes, nodeFlags, wrapper, env: {} });
}

/** Node's own permissions, in force where bubblewrap does not work: no network, no programs, only these files. */
const buildPermissionFlags = (readable: readonly string[]): string[] => [
  '--permission',
  '--allow-worker',
  ...readable.map((path) => `--allow-fs-read=${path}`),
  '--disable-warning=SecurityWarning',
];

/**
 * Haskell compiles to very many small functions: inlining them costs more than it saves, and optimizing them sooner
 * pays. Together this saves a fifteenth of the time.
 */
const wasmTuningFlags = ['--no-wasm-inlining', '--wasm-tiering-budget=500000'];

/** What the process gets at its start. */
export interface PandocProcessSettings extends PandocInstanceOptions {
  readonly wasm: string;
  readonly shim: string;
}

/** After these, a thread is replaced: its memory only grows. */
const maxInstanceConversions = 200;
const maxInstanceMemoryBytes = 256 * 1024 ** 2;

/** What the process does: one conversion at a time, in a thread that is replaced now and then. */
export function createPandocMethods(open: () => Promise<Thread<PandocWorkerMethods>>) {
  let thread: Promise<Thread<PandocWorkerMethods>> | null = null;
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
        isSpent = ++conversions >= maxInstanceConversions || memoryBytes > maxInstanceMemoryBytes;
        if (complaint !== '') throw pandocRefusedError(complaint);
        return { output, warnings: parsePandocLog(log) };
      } finally {
        if (isSpent) recycle();
      }
    },
  };
}

export type PandocMethods = ReturnType<typeof createPandocMethods>;

/** Where the packages with Pandoc in WebAssembly and the WASI shim are. */
export interface PandocPackage {
  readonly wasm: string;
  /** As a URL, to be imported. */
  readonly shim: string;
  readonly folders: readonly string[];
}

const pandocPackageNames = ['pandoc-wasm', '@bjorn3/browser_wasi_shim'] as const;

/** They are optional dependencies. `resolve` finds the entry file of a package. */
export function findPandocPackage(resolve: (name: string) => string = resolveImport): PandocPackage {
  try {
    const [pandoc, shim] = pandocPackageNames.map(resolve) as [string, string];
    return {
      wasm: fileURLToPath(new URL('./pandoc.wasm', pandoc)),
      shim,
      folders: [pandoc, shim].map((url) => dirname(dirname(fileURLToPath(url)))),
    };
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw cause;
    const message = `Documents need packages that are not installed. Run: npm install ${pandocPackageNames.join(' ')}`;
    throw new WorkcrateError('documents_unavailable', message, { cause });
  }
}

const resolveImport = (name: string): string => import.meta.resolve(name);

/** The package has a file with its version. */
async function readPackagedPandocVersion({ wasm }: PandocPackage): Promise<string> {
  return (await readFile(new URL('../pandoc-version.txt', `file://${wasm}`), 'utf8')).trim();
}
