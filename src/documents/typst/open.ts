import { extname, join } from 'node:path';
import { isWorkcrateError, WorkcrateError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { createHelperProcess, ranOutOfMemory, type Thread } from '../../threads/threads.ts';
import { confinement } from '../confinement.ts';
import { createPool, type Pool } from '../pool.ts';
import type { CompilerOptions } from './compiler.ts';
import { textFamilies } from './families.ts';
import { findFonts } from './fonts.ts';
import { offline } from './offline.ts';
import { findPackage } from './package.ts';
import type { TypstMethods } from './typst-process.ts';
import type { Typst } from './typst.ts';

export interface TypstOptions {
  /** Folders with fonts besides those that the compiler brings along. */
  readonly fontFolders: readonly string[];
  /** Most processes at once, and how long one is kept that has nothing to do. */
  readonly processes: number;
  readonly idleSeconds: number;
  readonly memoryBytes: number;
  /** What documents are dated, in seconds since 1970; null: now. */
  readonly epoch: number | null;
  readonly log: Log;
}

/** Typst, native and in processes of its own: it hears nothing while it works, and may fail in ways of its own. */
export function openTypst(options: TypstOptions): Typst {
  const fonts = findFonts(options.fontFolders, options.log);
  let pool: Promise<TypstPool> | null = null;
  let isClosed = false;

  return {
    families: textFamilies(fonts.flatMap(({ families }) => families)),
    async compile(job, signal) {
      signal.throwIfAborted();
      if (isClosed) throw new WorkcrateError('stopping', 'The server is stopping.');
      pool ??= openPool(
        options,
        fonts.map(({ path }) => path),
      );
      try {
        return await (await pool).use((process) => process.call('compile', job), signal);
      } catch (error) {
        throw failureOf(error);
      }
    },
    async [Symbol.asyncDispose]() {
      isClosed = true;
      await (await pool?.catch(() => null))?.[Symbol.asyncDispose]();
    },
  };
}

type TypstPool = Pool<Thread<TypstMethods>>;

const file = new URL(`./typst-process${extname(import.meta.filename)}`, import.meta.url);
const sources = join(import.meta.dirname, '../..');

/** What the process runs: our sources, and the file that says that they are modules. */
const own = [sources, join(sources, '../package.json')];

async function openPool(options: TypstOptions, fonts: readonly string[]): Promise<TypstPool> {
  const { memoryBytes, epoch, log, processes, idleSeconds } = options;
  const { url, folders } = findPackage();
  const wrapper = await confinement({ readable: [...own, ...folders, ...fonts] });
  const data: CompilerOptions = { url, fonts, epoch };
  return createPool({
    most: processes,
    idleMs: idleSeconds * 1000,
    open: () => createHelperProcess<TypstMethods>(file, data, log, { memoryBytes, env: offline, wrapper }),
  });
}

function failureOf(cause: unknown): unknown {
  if (ranOutOfMemory(cause)) {
    const message =
      'Setting the PDF took more memory than --document-memory allows. Make the document smaller.';
    return new WorkcrateError('document_failed', message, { cause });
  }
  if (!isWorkcrateError(cause, 'internal')) return cause;
  return new WorkcrateError('document_failed', 'What sets PDF failed at this document.', { cause });
}
