/**
 * The port for PDF: compiles Typst's markup in confined processes. It writes no markup (`formats/formats.ts` does) and
 * loads no native code into the server: only `typst-process.ts` does.
 */
import { readdirSync, realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { extname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { isWorkcrateError, WorkcrateError } from '../../../platform/errors.ts';
import { sourceFolder } from '../../../platform/program.ts';
import type { Log } from '../../../platform/observability/log.ts';
import { createHelperProcess, ranOutOfMemory, type Thread } from '../../../platform/workers/workers.ts';
import { findConfinement } from '../confinement.ts';
import { createProcessPool, type ProcessPool } from '../pool.ts';
import type { TypstCompilerOptions } from './compiler.ts';
import { findFonts, listTextFamilies } from './fonts.ts';
import type { TypstMethods } from './typst-process.ts';

/** One document in Typst's markup, to be compiled to PDF. */
export interface TypstJob {
  readonly source: string;
  /** All files that it can read, by plain names. */
  readonly files: Readonly<Record<string, Uint8Array>>;
  readonly pdfA: boolean;
  /** Whether to find the characters that no font has. */
  readonly findMissing: boolean;
}

export interface TypstResult {
  readonly pdf: Uint8Array;
  readonly pages: number;
  readonly warnings: readonly string[];
  /** Characters that no font has, each once; they are boxes on the page. */
  readonly missing: readonly string[];
}

/** The port for PDF, with the same obligations as `Pandoc` in `pandoc/pandoc.ts`. */
export interface Typst extends AsyncDisposable {
  /** Families that a document may use, in the order in which they are searched. */
  readonly families: readonly string[];
  compile(job: TypstJob, signal: AbortSignal): Promise<TypstResult>;
}

export interface TypstOptions {
  /** Folders with fonts besides the built-in ones. */
  readonly fontFolders: readonly string[];
  /** Most processes at once, and how long an idle one is kept. */
  readonly processes: number;
  readonly idleSeconds: number;
  readonly memoryBytes: number;
  /** Date of documents, in seconds since 1970; null: now. */
  readonly epoch: number | null;
  readonly log: Log;
}

/** Native Typst in processes of its own: it blocks its thread while it works, and it could crash. */
export function openTypst(options: TypstOptions): Typst {
  const fonts = findFonts(options.fontFolders, options.log);
  let pool: Promise<TypstPool> | null = null;
  let isClosed = false;

  return {
    families: listTextFamilies(fonts.flatMap(({ families }) => families)),
    async compile(job, signal) {
      signal.throwIfAborted();
      if (isClosed) throw new WorkcrateError('stopping', 'The server is stopping.');
      pool ??= openTypstPool(
        options,
        fonts.map(({ path }) => path),
      );
      try {
        return await (await pool).use((process) => process.call('compile', job), signal);
      } catch (error) {
        throw toTypstError(error);
      }
    },
    async [Symbol.asyncDispose]() {
      isClosed = true;
      await (await pool?.catch(() => null))?.[Symbol.asyncDispose]();
    },
  };
}

type TypstPool = ProcessPool<Thread<TypstMethods>>;

const typstProcessFile = new URL(`./typst-process${extname(import.meta.filename)}`, import.meta.url);

/** What the process runs: our sources, and the package.json that makes them modules. */
const typstReadablePaths = [sourceFolder, join(sourceFolder, '../package.json')];

async function openTypstPool(options: TypstOptions, fonts: readonly string[]): Promise<TypstPool> {
  const { memoryBytes, epoch, log, processes, idleSeconds } = options;
  const { url, folders } = findTypstPackage();
  const wrapper = await findConfinement({ readable: [...typstReadablePaths, ...folders, ...fonts] });
  const data: TypstCompilerOptions = { url, fonts, epoch };
  return createProcessPool({
    most: processes,
    idleMs: idleSeconds * 1000,
    open: () =>
      createHelperProcess<TypstMethods>(typstProcessFile, data, log, {
        memoryBytes,
        env: offlineEnvironment,
        wrapper,
      }),
  });
}

function toTypstError(cause: unknown): unknown {
  if (ranOutOfMemory(cause)) {
    const message =
      'Making the PDF took more memory than --document-memory allows. Make the document smaller.';
    return new WorkcrateError('document_failed', message, { cause });
  }
  if (!isWorkcrateError(cause, 'internal')) return cause;
  return new WorkcrateError(
    'document_failed',
    'Typst failed on this document. Simplify it, or build it in parts.',
    { cause },
  );
}

const missingFolder = '/nowhere';

/** No server can listen on port 0. */
const unreachableProxy = 'http://127.0.0.1:0';

/**
 * The environment of the compiler. Node's permissions do not apply to native code, so only bubblewrap confines it. Without
 * bubblewrap, this keeps it from downloading packages (by an unreachable proxy) and from reading the user's caches.
 */
export const offlineEnvironment: Readonly<Record<string, string>> = {
  http_proxy: unreachableProxy,
  https_proxy: unreachableProxy,
  all_proxy: unreachableProxy,
  FONTCONFIG_FILE: join(import.meta.dirname, 'no-fonts.conf'),
  HOME: missingFolder,
  XDG_CACHE_HOME: missingFolder,
  XDG_CONFIG_HOME: missingFolder,
  XDG_DATA_HOME: missingFolder,
};

const typstPackageName = '@myriaddreamin/typst-ts-node-compiler';

export type TypstCompilerPackage = typeof import('@myriaddreamin/typst-ts-node-compiler');

/** Where the optional package is, with all its folders. The addon for this machine is a package beside it. */
export function findTypstPackage(): { readonly url: string; readonly folders: readonly string[] } {
  const file = resolveTypstPackage();
  const scope = path.dirname(path.dirname(file));
  const folders = readdirSync(scope).map((name) => realpathSync(path.join(scope, name)));
  return { url: pathToFileURL(file).href, folders: [...new Set([scope, ...folders])] };
}

function resolveTypstPackage(): string {
  try {
    return createRequire(import.meta.url).resolve(typstPackageName);
  } catch (cause) {
    throw typstUnavailableError(cause);
  }
}

export async function importTypstPackage(url: string): Promise<TypstCompilerPackage> {
  try {
    return (await import(url)) as TypstCompilerPackage;
  } catch (cause) {
    throw typstUnavailableError(cause);
  }
}

function typstUnavailableError(cause: unknown): WorkcrateError {
  const message = `PDF needs a package that is not installed, or is for another kind of machine. Run: npm install ${typstPackageName}`;
  return new WorkcrateError('documents_unavailable', message, { cause });
}
