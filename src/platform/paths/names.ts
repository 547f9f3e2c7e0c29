import { pathRefusedError, type PathRefusalKind } from './faults.ts';

declare const parsedMark: unique symbol;

/** Names of folders and at last of a file or folder, none of them `.` or `..`. Only the parsers here make these. */
export type Components = readonly string[] & { readonly [parsedMark]: true };

const maxNameBytes = 255;
const maxPathSize = 4096;
export const maxPathFolders = 256;

/** The root itself. */
export const rootPath = [] as readonly string[] as Components;

/**
 * Parses a path that is not trusted. What passes is opened literally, so `100%25.txt` is that very name; a path that
 * would mean another file once something decodes it is refused.
 */
export function parsePath(path: string): Components {
  const kind = findRefusedBytes(path, maxPathSize) ?? findPathMeaning(path) ?? findHiddenMeaning(path);
  if (kind !== null) throw pathRefusedError(kind, path);
  const names = path.split('/').filter((name) => name !== '' && name !== '.');
  if (names.length > maxPathFolders) throw pathRefusedError('too_deep', path);
  if (names.some((name) => Buffer.byteLength(name) > maxNameBytes)) throw pathRefusedError('too_long', path);
  return names as readonly string[] as Components;
}

/** Parses one name, any that the kernel allows: it is never decoded, so only its literal form matters. */
export function parseName(name: string): Components {
  const kind = findRefusedBytes(name, maxNameBytes) ?? findRefusedName(name);
  if (kind !== null) throw pathRefusedError(kind, name);
  return [name] as readonly string[] as Components;
}

export function joinComponents(...paths: Components[]): Components {
  return paths.flat() as readonly string[] as Components;
}

function findRefusedBytes(text: string, mostBytes: number): PathRefusalKind | null {
  if (text === '') return 'empty';
  // Length first, so that nothing below has to process a megabyte.
  if (text.length > mostBytes || Buffer.byteLength(text) > mostBytes) return 'too_long';
  // Encoded as UTF-8 it would become U+FFFD, which is the name of another file.
  if (!text.isWellFormed()) return 'not_unicode';
  return text.includes('\0') ? 'nul' : null;
}

function findRefusedName(name: string): PathRefusalKind | null {
  if (name === '.' || name === '..') return 'traversal';
  return name.includes('/') ? 'separator' : null;
}

const maxPathDecodings = 8;

/** Characters that look like the ASCII ones with a meaning in paths, and that NFKC does not turn into those. */
const lookAlikes: Readonly<Record<string, string>> = {
  '/': '\u2041\u2044\u2215\u2571\u27cb\u29f8\u31d3',
  '\\': '\u2216\u27cd\u29f5\u29f9\u31d4',
  '.': '\u0701\u0702\u3002\ua4f8\ua60e',
  ':': '\u02d0\u2236\ua789',
};
const plainByLookAlike = new Map(
  Object.entries(lookAlikes).flatMap(([plain, alike]) =>
    alike.split('').map((mark) => [mark, plain] as const),
  ),
);
const anyLookAlike = new RegExp(`[${[...plainByLookAlike.keys()].join('')}]`, 'g');

/** Why a path, taken literally, would lead elsewhere, here or on Windows. */
function findPathMeaning(path: string): PathRefusalKind | null {
  if (path.includes('\0')) return 'nul';
  if (/^[/\\]{2}/.test(path)) return 'unc';
  if (path.startsWith('/')) return 'absolute';
  if (/(?:^|[/\\])[a-z]:/i.test(path)) return 'drive';
  if (path.includes('\\')) return 'backslash';
  // Windows drops spaces around a name, so they do not make `.. ` another one.
  return path.split('/').some((name) => name.trim() === '..') ? 'traversal' : null;
}

/** Whether a path that is harmless as it is would lead elsewhere once decoded or normalized. */
function findHiddenMeaning(path: string): 'encoded' | 'look_alike' | null {
  let form = path;
  for (let decodings = 0; decodings <= maxPathDecodings; decodings++) {
    const plain = toPlainCharacters(form);
    if (changesMeaning(plain, path)) return decodings === 0 ? 'look_alike' : 'encoded';
    form = decodePercents(plain);
    if (form === plain) return null;
  }
  return 'encoded';
}

function changesMeaning(form: string, literal: string): boolean {
  return findPathMeaning(form) !== null || form.split('/').length !== literal.split('/').length;
}

function toPlainCharacters(text: string): string {
  return (
    text
      .replace(/\p{Default_Ignorable_Code_Point}/gu, '')
      // NFKC writes ½ with a fraction slash, but nothing opens `½ cup` as `1/2 cup`.
      .replace(/[\u00bc-\u00be\u2150-\u215f\u2189]/g, '#')
      .normalize('NFKC')
      .replace(anyLookAlike, (mark) => plainByLookAlike.get(mark) ?? mark)
  );
}

function decodePercents(text: string): string {
  return text
    .replace(/%u([0-9a-f]{4})/gi, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)))
    .replace(/(?:%[0-9a-f]{2})+/gi, (run) =>
      decodeUtf8Leniently(Buffer.from(run.replaceAll('%', ''), 'hex')),
    );
}

/** UTF-8 as careless decoders read it: `C0 AF` is an overlong `/`. */
function decodeUtf8Leniently(bytes: Buffer): string {
  const shortened = bytes
    .toString('latin1')
    .replace(/(?:\xc0|\xe0\x80|\xf0\x80\x80)([\x80-\xbf])/g, (_, last: string) => toAscii(last, 0))
    .replace(/(?:\xc1|\xe0\x81|\xf0\x80\x81)([\x80-\xbf])/g, (_, last: string) => toAscii(last, 0x40));
  return Buffer.from(shortened, 'latin1').toString('utf8');
}

function toAscii(continuation: string, high: number): string {
  return String.fromCharCode(high | (continuation.charCodeAt(0) & 0x3f));
}
