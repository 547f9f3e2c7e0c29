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
import { findConfinement } from '../confinement.ts';
import { createProcessPool } from '../pool.ts';
import type { PandocInstanceOptions } from './instance.ts';
import {
  pandocFailedError,
  demandJobFileNames,
  pandocMemoryError,
  pandocRefusedError,
  parsePandocLog,
} from './job.ts';
import type { PandocWorkerMethods } from './pandoc-worker.ts';
import type { Pandoc, PandocJob, PandocResult } from './pandoc.ts';

export interface WasmPandocOptions {
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
export function openWasmPandoc(options: WasmPandocOptions): Pandoc {
  const { processes, memoryBytes, idleSeconds } = options;
  let walls: CommandWrapper | null = null;
  const open = (): Thread<PandocMethods> => openPandocProcess(findPandocPackage(), walls, options);
  const pool = createProcessPool({ most: processes, idleMs: idleSeconds * 1000, open });

  return {
    kind: 'wasm',
    async convert(job, signal) {
      signal.throwIfAborted();
      demandJobFileNames(job);
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

/** The sources of this server, or what was built of them. */
const sourceRoot = dirname(dirname(import.meta.dirname));

const listReadablePaths = ({ folders }: PandocPackage): string[] => [
  sourceRoot,
  join(dirname(sourceRoot), 'package.json'),
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

/** Of Node itself, which hold where no other wall does: no network, no programs, no file but these. */
const buildPermissionFlags = (readable: readonly string[]): string[] => [
  '--permission',
  '--allow-worker',
  ...readable.map((path) => `--allow-fs-read=${path}`),
  '--disable-warning=SecurityWarning',
];

/**
 * Haskell is compiled to a great many small functions: to inline them costs more than it gives, and it pays to optimise
 * them sooner. Together a fifteenth of the time.
 */
const wasmTuningFlags = ['--no-wasm-inlining', '--wasm-tiering-budget=500000'];

/** What the process is given. */
export interface PandocProcessSettings extends PandocInstanceOptions {
  readonly wasm: string;
  readonly shim: string;
}

/** After which a thread is replaced: its memory only ever grows, and nobody knows what a long life does to it. */
const maxInstanceConversions = 200;
const maxInstanceMemoryBytes = 256 * 1024 ** 2;

/** What is done in the process that holds Pandoc: one conversion at a time, in a thread that is replaced now and then. */
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

/** Where the packages stand that hold Pandoc in WebAssembly, and what it needs to run. */
export interface PandocPackage {
  readonly wasm: string;
  /** As a URL, to be imported. */
  readonly shim: string;
  readonly folders: readonly string[];
}

const pandocPackageNames = ['pandoc-wasm', '@bjorn3/browser_wasi_shim'] as const;

/** They are optional dependencies. `resolve` tells where a package begins. */
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

/** The version of Pandoc, which stands beside it. */
async function readPackagedPandocVersion({ wasm }: PandocPackage): Promise<string> {
  return (await readFile(new URL('../pandoc-version.txt', `file://${wasm}`), 'utf8')).trim();
}
