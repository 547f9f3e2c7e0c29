/** Reads so many bytes from a place in a file; fewer, or none, where it ends before. */
export type ReadAt = (offset: number, length: number) => Buffer;

const mostFaces = 64;
const mostTables = 128;
const mostNames = 512;
const longestName = 64;

/** The name records that tell a family: the one that typographers see goes before that of old systems. */
const familyNames = [16, 1];
const [macintosh, windows, english] = [1, 3, 0x409];

/**
 * The families in a font file (TrueType, OpenType, or a collection), by the names that Typst knows them by. What is no
 * font has none. Nothing in the file is trusted: lengths are bounded, and names hold letters, digits and the like only.
 */
export function familiesIn(read: ReadAt): string[] {
  const names = facesIn(read).map((face) => familyOf(nameTable(read, face)));
  return [...new Set(names.filter((name) => name !== null))];
}

/** Where in the file the faces begin: a collection has several. */
function facesIn(read: ReadAt): number[] {
  const head = read(0, 12);
  const kind = head.toString('latin1', 0, 4);
  if (['\0\x01\0\0', 'OTTO', 'true'].includes(kind)) return [0];
  if (kind !== 'ttcf' || head.length < 12) return [];
  const offsets = read(12, Math.min(head.readUInt32BE(8), mostFaces) * 4);
  return Array.from({ length: Math.floor(offsets.length / 4) }, (_, at) => offsets.readUInt32BE(at * 4));
}

const longestTable = 0x1_00_00 * 2;

function nameTable(read: ReadAt, face: number): Buffer {
  const head = read(face, 12);
  if (head.length < 12) return head;
  const entries = read(face + 12, Math.min(head.readUInt16BE(4), mostTables) * 16);
  for (let at = 0; at + 16 <= entries.length; at += 16)
    if (entries.toString('latin1', at, at + 4) === 'name')
      return read(entries.readUInt32BE(at + 8), Math.min(entries.readUInt32BE(at + 12), longestTable));
  return Buffer.alloc(0);
}

function familyOf(table: Buffer): string | null {
  const candidates = namesIn(table).filter(({ id }) => familyNames.includes(id));
  const [best] = candidates.toSorted((a, b) => rank(a) - rank(b));
  return best === undefined ? null : withoutStyle(best.text);
}

interface Name {
  readonly id: number;
  readonly isEnglish: boolean;
  readonly text: string;
}

/** English names of either kind, before those in other languages. */
const rank = ({ id, isEnglish }: Name): number => familyNames.indexOf(id) + (isEnglish ? 0 : 2);

function namesIn(table: Buffer): Name[] {
  if (table.length < 6) return [];
  const count = Math.min(table.readUInt16BE(2), mostNames);
  const strings = table.readUInt16BE(4);
  const names: Name[] = [];
  for (let at = 6; at + 12 <= table.length && names.length < count; at += 12) {
    const [platform, encoding, language, id, length, offset] = wordsAt(table, at);
    const bytes = table.subarray(strings + offset, strings + offset + length);
    const text = decoded(platform, encoding, bytes);
    const isEnglish = platform === windows ? language === english : language === 0;
    names.push({ id, isEnglish, text: isName(text) ? text : '' });
  }
  return names.filter(({ text }) => text !== '');
}

type Words = [number, number, number, number, number, number];

const wordsAt = (table: Buffer, at: number): Words =>
  [0, 2, 4, 6, 8, 10].map((offset) => table.readUInt16BE(at + offset)) as Words;

function decoded(platform: number, encoding: number, bytes: Buffer): string {
  if (platform === macintosh) return encoding === 0 ? bytes.toString('latin1') : '';
  return new TextDecoder('utf-16be').decode(bytes);
}

/** It will stand in the source of documents. */
const isName = (text: string): boolean =>
  text.length <= longestName && /^[\p{L}\p{N}][\p{L}\p{M}\p{N} ._-]*$/u.test(text);

const style =
  /[ _-](?:(?:extra|semi|demi|ultra)[ _-]?)?(?:thin|hairline|light|normal|regular|medium|bold|black|heavy|italic|oblique|narrow|condensed|compressed|expanded)$/i;

/** Typst takes `Some Sans Light` for the light face of `Some Sans`. */
function withoutStyle(name: string): string {
  let left = name.trim();
  while (style.test(left)) left = left.replace(style, '');
  return left;
}
