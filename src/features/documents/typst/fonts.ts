/**
 * Fonts: finds their files, reads the family names in them, orders families for a language, and words what to do about
 * characters that no font has. It draws nothing and trusts nothing in a font file.
 */
import { closeSync, fstatSync, openSync, readdirSync, readSync, realpathSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { WorkcrateError } from '../../../platform/errors.ts';
import type { Log } from '../../../platform/observability/log.ts';

/** A font file besides those that the compiler has built in. */
export interface FontFile {
  readonly path: string;
  readonly families: readonly string[];
}

const maxFontFiles = 64;
const fontMegabyte = 1024 * 1024;
const maxFontBytes = { each: 64 * fontMegabyte, all: 256 * fontMegabyte };

/** Used if they are installed: one package for each regional form of Chinese characters. */
const fontPackages = ['sc', 'tc', 'jp', 'kr'].map((script) => `@expo-google-fonts/noto-sans-${script}`);
const fontWeights = ['400Regular', '700Bold'];

/** The operator's folders come first. Only a small part of each file is read. */
export function findFonts(folders: readonly string[], log: Log): FontFile[] {
  const candidates = [...folders.flatMap(listFontFiles), ...fontPackages.flatMap(listPackageFontFiles)];
  const found: FontFile[] = [];
  let taken = 0;
  for (const file of new Set(candidates)) {
    const { size, families } = inspectFont(file);
    const fits = size <= maxFontBytes.each && taken + size <= maxFontBytes.all && found.length < maxFontFiles;
    if (!fits || families.length === 0) {
      log.warn('documents.font_left_out', { file, reason: fits ? 'not a font' : 'too large, or too many' });
      continue;
    }
    taken += size;
    found.push({ path: file, families });
  }
  return found;
}

/** Fails at the start if a folder cannot be read: otherwise documents would show boxes. */
function listFontFiles(folder: string): string[] {
  try {
    const names = readdirSync(folder).filter((name) => /\.(?:ttf|otf|ttc|otc)$/i.test(name));
    const files = names.toSorted().map((name) => realpathSync(path.join(folder, name)));
    return files.filter((file) => statSync(file).isFile());
  } catch (cause) {
    const message = `The fonts in ${folder} cannot be read. Check --document-fonts.`;
    throw new WorkcrateError('config_invalid', message, { cause });
  }
}

function listPackageFontFiles(name: string): string[] {
  const folder = findPackageFolder(name);
  return folder === null ? [] : fontWeights.flatMap((weight) => listFontFiles(path.join(folder, weight)));
}

function findPackageFolder(name: string): string | null {
  try {
    return path.dirname(createRequire(import.meta.url).resolve(`${name}/package.json`));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'MODULE_NOT_FOUND') return null;
    throw error;
  }
}

function inspectFont(file: string): { readonly size: number; readonly families: string[] } {
  const descriptor = openSync(file, 'r');
  try {
    const { size } = fstatSync(descriptor);
    return { size, families: readFontFamilies(createFontReader(descriptor)) };
  } finally {
    closeSync(descriptor);
  }
}

const createFontReader =
  (descriptor: number): ReadFontAt =>
  (offset, length) => {
    const bytes = Buffer.alloc(length);
    return bytes.subarray(0, readSync(descriptor, bytes, 0, length, offset));
  };

/** Reads `length` bytes at an offset of a file; fewer, or none, at its end. */
export type ReadFontAt = (offset: number, length: number) => Buffer;

const maxFontFaces = 64;
const maxFontTables = 128;
const maxFontNames = 512;
const maxFamilyNameLength = 64;

/** The name records with a family: the typographic one comes before the one for old systems. */
const familyNameIds = [16, 1];
const [macintosh, windows, english] = [1, 3, 0x409];

/**
 * The families in a font file (TrueType, OpenType, or a collection), by the names that Typst uses; none if it is not a
 * font. Nothing in the file is trusted: lengths are limited, and names contain only letters, digits and a few others.
 */
export function readFontFamilies(read: ReadFontAt): string[] {
  const names = findFontFaces(read).map((face) => readFontFamily(readNameTable(read, face)));
  return [...new Set(names.filter((name) => name !== null))];
}

/** Where the faces begin in the file: a collection has several. */
function findFontFaces(read: ReadFontAt): number[] {
  const head = read(0, 12);
  const kind = head.toString('latin1', 0, 4);
  if (['\0\x01\0\0', 'OTTO', 'true'].includes(kind)) return [0];
  if (kind !== 'ttcf' || head.length < 12) return [];
  const offsets = read(12, Math.min(head.readUInt32BE(8), maxFontFaces) * 4);
  return Array.from({ length: Math.floor(offsets.length / 4) }, (_, at) => offsets.readUInt32BE(at * 4));
}

const maxNameTableBytes = 0x1_00_00 * 2;

function readNameTable(read: ReadFontAt, face: number): Buffer {
  const head = read(face, 12);
  if (head.length < 12) return head;
  const entries = read(face + 12, Math.min(head.readUInt16BE(4), maxFontTables) * 16);
  for (let at = 0; at + 16 <= entries.length; at += 16)
    if (entries.toString('latin1', at, at + 4) === 'name')
      return read(entries.readUInt32BE(at + 8), Math.min(entries.readUInt32BE(at + 12), maxNameTableBytes));
  return Buffer.alloc(0);
}

function readFontFamily(table: Buffer): string | null {
  const candidates = readFontNames(table).filter(({ id }) => familyNameIds.includes(id));
  const [best] = candidates.toSorted((a, b) => rankFontName(a) - rankFontName(b));
  return best === undefined ? null : removeStyleSuffix(best.text);
}

interface FontName {
  readonly id: number;
  readonly isEnglish: boolean;
  readonly text: string;
}

/** English names of either kind, before those in other languages. */
const rankFontName = ({ id, isEnglish }: FontName): number => familyNameIds.indexOf(id) + (isEnglish ? 0 : 2);

function readFontNames(table: Buffer): FontName[] {
  if (table.length < 6) return [];
  const count = Math.min(table.readUInt16BE(2), maxFontNames);
  const strings = table.readUInt16BE(4);
  const names: FontName[] = [];
  for (let at = 6; at + 12 <= table.length && names.length < count; at += 12) {
    const [platform, encoding, language, id, length, offset] = readFontWords(table, at);
    const bytes = table.subarray(strings + offset, strings + offset + length);
    const text = decodeFontName(platform, encoding, bytes);
    const isEnglish = platform === windows ? language === english : language === 0;
    names.push({ id, isEnglish, text: isFamilyName(text) ? text : '' });
  }
  return names.filter(({ text }) => text !== '');
}

type FontNameWords = [number, number, number, number, number, number];

const readFontWords = (table: Buffer, at: number): FontNameWords =>
  [0, 2, 4, 6, 8, 10].map((offset) => table.readUInt16BE(at + offset)) as FontNameWords;

function decodeFontName(platform: number, encoding: number, bytes: Buffer): string {
  if (platform === macintosh) return encoding === 0 ? bytes.toString('latin1') : '';
  return new TextDecoder('utf-16be').decode(bytes);
}

/** The name goes into the source of documents. */
const isFamilyName = (text: string): boolean =>
  text.length <= maxFamilyNameLength && /^[\p{L}\p{N}][\p{L}\p{M}\p{N} ._-]*$/u.test(text);

const fontStyleSuffix =
  /[ _-](?:(?:extra|semi|demi|ultra)[ _-]?)?(?:thin|hairline|light|normal|regular|medium|bold|black|heavy|italic|oblique|narrow|condensed|compressed|expanded)$/i;

/** Typst takes `Some Sans Light` for the light face of `Some Sans`. */
function removeStyleSuffix(name: string): string {
  let left = name.trim();
  while (fontStyleSuffix.test(left)) left = left.replace(fontStyleSuffix, '');
  return left;
}

/** The built-in families: Latin, Greek and Cyrillic; Hebrew and more; code and symbols; maths. */
const [textFamily, widerFamily, codeFamily, mathsFamily] = [
  'Libertinus Serif',
  'New Computer Modern',
  'DejaVu Sans Mono',
  'New Computer Modern Math',
] as const;

/** The order in which fonts are searched for a character. Those for code and maths come last: they are not for reading. */
export const listTextFamilies = (found: readonly string[]): string[] =>
  dropDuplicateNames([textFamily, widerFamily, ...found, codeFamily, mathsFamily]);

export const listCodeFamilies = (families: readonly string[]): string[] =>
  dropDuplicateNames([codeFamily, ...families]);

export const listMathFamilies = (families: readonly string[]): string[] =>
  dropDuplicateNames([mathsFamily, ...families]);

const dropDuplicateNames = (names: readonly string[]): string[] => [...new Set(names)];

/** Suffixes of families for one regional form of Chinese characters. */
const familySuffixesByScript: Readonly<Record<string, string>> = {
  Hans: 'SC',
  Hant: 'TC',
  Jpan: 'JP',
  Kore: 'KR',
};

/** The same character looks different in Beijing, Taipei, Tokyo and Seoul, so the family for the language comes first. */
export function sortFamiliesForLanguage(language: string, families: readonly string[]): string[] {
  const ending = familySuffixesByScript[toLocale(language).maximize().script ?? ''];
  const isOwn = (family: string): boolean => ending !== undefined && family.split(' ').includes(ending);
  const others = Object.values(familySuffixesByScript);
  const isOther = (family: string): boolean => family.split(' ').some((word) => others.includes(word));
  const drawn = families.filter(isOther);
  const ordered = [...drawn.filter(isOwn), ...drawn.filter((family) => !isOwn(family))];
  let next = 0;
  return families.map((family) => (isOther(family) ? ordered[next++]! : family));
}

/** Language and region for Typst, such as `de` and `CH`; English if the tag is invalid. */
export function toTypstLanguage(tag: string): { readonly language: string; readonly region: string | null } {
  const { language, region = null } = toLocale(tag);
  return { language, region: region !== null && /^[A-Z]{2}$/.test(region) ? region : null };
}

function toLocale(tag: string): Intl.Locale {
  try {
    const locale = new Intl.Locale(tag);
    return /^[a-z]{2,3}$/.test(locale.language) ? locale : new Intl.Locale('en');
  } catch (error) {
    if (error instanceof RangeError) return new Intl.Locale('en');
    throw error;
  }
}

/** The error for text that no font can show, in a string that Rust escaped twice. */
const missingGlyphReport = /the text `\\"(.*?)\\"` could not be displayed/gs;

const maxMissingCharacters = 200;

/** The characters in these errors, each once. */
export function findMissingCharacters(message: string): string[] {
  const missing = new Set<string>();
  for (const [, text] of message.matchAll(missingGlyphReport))
    for (const character of unescapeTypst(text!)) {
      if (missing.size >= maxMissingCharacters) return [...missing];
      if (!/\s/.test(character)) missing.add(character);
    }
  return [...missing];
}

const unescapeTypst = (text: string): string =>
  text
    .replaceAll(/\\+u\{([0-9a-f]{1,6})\}/gi, (_, digits: string) => toGlyphText(Number.parseInt(digits, 16)))
    .replaceAll(/\\+/g, '');

const toGlyphText = (code: number): string => (code <= 0x10_ff_ff ? String.fromCodePoint(code) : '');

/** The scripts that each font package is for. */
const fontRemedies: readonly (readonly [RegExp, string])[] = [
  [/\p{Script=Hangul}/u, '@expo-google-fonts/noto-sans-kr'],
  [/[\p{Script=Hiragana}\p{Script=Katakana}]/u, '@expo-google-fonts/noto-sans-jp'],
  [/[\p{Script=Han}\p{Script=Bopomofo}\u3000-\u303f\uff00-\uffef]/u, '@expo-google-fonts/noto-sans-sc'],
];

const maxNamedCharacters = 20;

/** Says which characters are boxes on the page, and what to do about it. */
export function describeMissingGlyphs(missing: readonly string[]): string {
  const named = missing.slice(0, maxNamedCharacters).map(toVisibleCharacter).join(' ');
  const rest = missing.length > maxNamedCharacters ? ` and ${missing.length - maxNamedCharacters} more` : '';
  const what = missing.length === 1 ? '1 character has' : `${missing.length} characters have`;
  return `${what} no glyph in any font: ${named}${rest}. ${suggestFontPackages(missing)}`;
}

/** Combining marks and invisible characters are shown by number. */
const toVisibleCharacter = (character: string): string =>
  /^[\p{L}\p{N}\p{P}\p{S}]/u.test(character)
    ? character
    : `U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}`;

function suggestFontPackages(missing: readonly string[]): string {
  const wanted = fontRemedies.filter(([script]) => missing.some((character) => script.test(character)));
  const folder = 'put a font that has them into a folder and set --document-fonts to it';
  if (wanted.length === 0) return `To show them, ${folder}.`;
  return `To show them, run: npm install ${wanted.map(([, name]) => name).join(' ')} – or ${folder}.`;
}
