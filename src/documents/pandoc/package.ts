import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { WorkcrateError } from '../../errors.ts';

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
export async function packagedVersion({ wasm }: PandocPackage): Promise<string> {
  return (await readFile(new URL('../pandoc-version.txt', `file://${wasm}`), 'utf8')).trim();
}
