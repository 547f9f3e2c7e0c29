import { closeSync, fstatSync, openSync, readdirSync, readSync, realpathSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { WorkcrateError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { familiesIn, type ReadAt } from './font-names.ts';

/** A file of fonts besides those that the compiler brings along. */
export interface FontFile {
  readonly path: string;
  readonly families: readonly string[];
}

const mostFiles = 64;
const megabyte = 1024 * 1024;
const mostBytes = { each: 64 * megabyte, all: 256 * megabyte };

/** Used where they are installed: one package for each way of writing Chinese characters. */
const packages = ['sc', 'tc', 'jp', 'kr'].map((script) => `@expo-google-fonts/noto-sans-${script}`);
const weights = ['400Regular', '700Bold'];

/** Fonts in the folders go first: whoever set them wants them. Of each file little is read. */
export function findFonts(folders: readonly string[], log: Log): FontFile[] {
  const candidates = [...folders.flatMap(filesIn), ...packages.flatMap(filesOfPackage)];
  const found: FontFile[] = [];
  let taken = 0;
  for (const file of new Set(candidates)) {
    const { size, families } = looked(file);
    const fits = size <= mostBytes.each && taken + size <= mostBytes.all && found.length < mostFiles;
    if (!fits || families.length === 0) {
      log.warn('documents.font_left_out', { file, reason: fits ? 'not a font' : 'too large, or too many' });
      continue;
    }
    taken += size;
    found.push({ path: file, families });
  }
  return found;
}

/** A folder that was set and cannot be read is told at the start, and not by boxes in a document. */
function filesIn(folder: string): string[] {
  try {
    const names = readdirSync(folder).filter((name) => /\.(?:ttf|otf|ttc|otc)$/i.test(name));
    const files = names.toSorted().map((name) => realpathSync(path.join(folder, name)));
    return files.filter((file) => statSync(file).isFile());
  } catch (cause) {
    const message = `The fonts in ${folder} cannot be read. Check --document-fonts.`;
    throw new WorkcrateError('config_invalid', message, { cause });
  }
}

function filesOfPackage(name: string): string[] {
  const folder = folderOf(name);
  return folder === null ? [] : weights.flatMap((weight) => filesIn(path.join(folder, weight)));
}

function folderOf(name: string): string | null {
  try {
    return path.dirname(createRequire(import.meta.url).resolve(`${name}/package.json`));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'MODULE_NOT_FOUND') return null;
    throw error;
  }
}

function looked(file: string): { readonly size: number; readonly families: string[] } {
  const descriptor = openSync(file, 'r');
  try {
    const { size } = fstatSync(descriptor);
    return { size, families: familiesIn(readFrom(descriptor)) };
  } finally {
    closeSync(descriptor);
  }
}

const readFrom =
  (descriptor: number): ReadAt =>
  (offset, length) => {
    const bytes = Buffer.alloc(length);
    return bytes.subarray(0, readSync(descriptor, bytes, 0, length, offset));
  };
