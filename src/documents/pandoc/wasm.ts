import { dirname, extname, join } from 'node:path';
import { isWorkcrateError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { createHelperProcess, ranOutOfMemory, type Thread, type Wrapper } from '../../threads/threads.ts';
import { confinement } from '../confinement.ts';
import { broke, lacksMemory } from './complaints.ts';
import type { PandocMethods, ProcessSettings } from './converting.ts';
import { demandNames } from './job.ts';
import { findPackage, packagedVersion, type PandocPackage } from './package.ts';
import type { Pandoc } from './pandoc.ts';
import { createPool } from '../pool.ts';

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
  let walls: Wrapper | null = null;
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
  wrapper: Wrapper | null,
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
