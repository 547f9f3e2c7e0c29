import { refusal, type RefusalKind } from './faults.ts';
import { hiddenMeaning, meaningOf } from './meanings.ts';

declare const parsed: unique symbol;

/** Names of folders, and of a thing in the last, none of them `.` or `..`. Only parsers make these. */
export type Components = readonly string[] & { readonly [parsed]: true };

const mostNameBytes = 255;
const mostPathBytes = 4096;
export const mostFolders = 256;

/** The root itself. */
export const here = [] as readonly string[] as Components;

/**
 * Parses a path from a stranger. What passes is opened literally, so `100%25.txt` is that very name;
 * a path that would mean another place once something decodes it is refused.
 */
export function parsePath(path: string): Components {
  const kind = refusedBytes(path, mostPathBytes) ?? meaningOf(path) ?? hiddenMeaning(path);
  if (kind !== null) throw refusal(kind, path);
  const names = path.split('/').filter((name) => name !== '' && name !== '.');
  if (names.length > mostFolders) throw refusal('too_deep', path);
  if (names.some((name) => Buffer.byteLength(name) > mostNameBytes)) throw refusal('too_long', path);
  return names as readonly string[] as Components;
}

/** Parses one name, any that the kernel allows: it is never decoded, so only its literal form matters. */
export function parseName(name: string): Components {
  const kind = refusedBytes(name, mostNameBytes) ?? refusedName(name);
  if (kind !== null) throw refusal(kind, name);
  return [name] as readonly string[] as Components;
}

export function joined(...paths: Components[]): Components {
  return paths.flat() as readonly string[] as Components;
}

function refusedBytes(text: string, mostBytes: number): RefusalKind | null {
  if (text === '') return 'empty';
  // Length first: nothing below is asked to work through a megabyte.
  if (text.length > mostBytes || Buffer.byteLength(text) > mostBytes) return 'too_long';
  // Encoded as UTF-8 it would become U+FFFD, which is the name of another file.
  if (!text.isWellFormed()) return 'not_unicode';
  return text.includes('\0') ? 'nul' : null;
}

function refusedName(name: string): RefusalKind | null {
  if (name === '.' || name === '..') return 'traversal';
  return name.includes('/') ? 'separator' : null;
}
