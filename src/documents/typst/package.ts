import { readdirSync, realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { WorkcrateError } from '../../errors.ts';

const name = '@myriaddreamin/typst-ts-node-compiler';

export type CompilerPackage = typeof import('@myriaddreamin/typst-ts-node-compiler');

/** An optional dependency: where it is, and all that it is made of. The addon for this machine is a package beside it. */
export function findPackage(): { readonly url: string; readonly folders: readonly string[] } {
  const file = resolved();
  const scope = path.dirname(path.dirname(file));
  const folders = readdirSync(scope).map((name) => realpathSync(path.join(scope, name)));
  return { url: pathToFileURL(file).href, folders: [...new Set([scope, ...folders])] };
}

function resolved(): string {
  try {
    return createRequire(import.meta.url).resolve(name);
  } catch (cause) {
    throw unavailable(cause);
  }
}

export async function importPackage(url: string): Promise<CompilerPackage> {
  try {
    return (await import(url)) as CompilerPackage;
  } catch (cause) {
    throw unavailable(cause);
  }
}

function unavailable(cause: unknown): WorkcrateError {
  const message = `PDF needs a package that is not installed, or not for this machine. Run: npm install ${name}`;
  return new WorkcrateError('documents_unavailable', message, { cause });
}
