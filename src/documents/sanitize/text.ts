import { WorkcrateError } from '../../errors.ts';
import { rewrite, type Ast, type Block, type Inline, type MetaValue } from './ast.ts';

/** The text of inlines without its marks, as for a title; notes are left out. */
export function plainText(list: readonly Inline[]): string {
  return list.map(textOf).join('');
}

function textOf(node: Inline): string {
  switch (node.t) {
    case 'Str':
      return node.c;
    case 'Space':
    case 'SoftBreak':
    case 'LineBreak':
      return ' ';
    case 'Code':
    case 'Math':
    case 'RawInline':
      return node.c[1];
    case 'Quoted':
      return node.c[0].t === 'SingleQuote' ? `‘${plainText(node.c[1])}’` : `“${plainText(node.c[1])}”`;
    case 'Cite':
    case 'Link':
    case 'Image':
    case 'Span':
      return plainText(node.c[1]);
    case 'Note':
      return '';
    default:
      return plainText(node.c);
  }
}

/** The text of a value of the front matter, as long as it is one: null for lists, maps and several paragraphs. */
export function metaText(value: MetaValue): string | null {
  if (value.t === 'MetaString') return value.c;
  if (value.t === 'MetaBool') return String(value.c);
  if (value.t === 'MetaInlines') return plainText(value.c);
  const [only, ...others] = value.t === 'MetaBlocks' ? value.c : [];
  return only !== undefined && others.length === 0 && isParagraph(only) ? plainText(only.c) : null;
}

export function isParagraph(block: Block): block is Extract<Block, { t: 'Para' | 'Plain' }> {
  return block.t === 'Para' || block.t === 'Plain';
}

/** A text as it is, word by word, so that lines can be broken and every writer escapes what it must. */
export function wordsAsInlines(text: string): Inline[] {
  return text
    .split(/\s+/u)
    .filter((word) => word !== '')
    .flatMap((word, at): Inline[] => [...(at === 0 ? [] : [{ t: 'Space' } as const]), { t: 'Str', c: word }]);
}

/** Before an opening quotation mark: nothing, a space, a bracket, a dash or another mark. */
const beforeOpening = /[\s([{<\u2010-\u2015\u2018\u201c/=-]/u;
const address = /:\/\/|^mailto:|^www\./i;

/**
 * Curly quotation marks, dashes and ellipses. Pandoc can do this while it reads, but then takes exponential time over
 * marks that are never closed.
 */
export function withTypography(ast: Ast): Ast {
  return rewrite(ast, { inlines: curled });
}

function curled(list: Inline[]): Inline[] {
  return list.map((node, at) => {
    if (node.t !== 'Str' || !/["'.-]/.test(node.c) || address.test(node.c)) return node;
    return { t: 'Str', c: curledWord(node.c, isApart(list[at - 1]), isApart(list[at + 1])) };
  });
}

/** Whether a word that stands beside this begins or ends there. */
function isApart(node: Inline | undefined): boolean {
  return node === undefined || node.t === 'Space' || node.t === 'SoftBreak' || node.t === 'LineBreak';
}

function curledWord(word: string, begins: boolean, ends: boolean): string {
  const text = dashed(word, begins);
  let [lastAt, last] = [-2, ''];
  return text.replaceAll(/["']/g, (sign, at: number) => {
    const before = at === 0 ? (begins ? ' ' : 'x') : at === lastAt + 1 ? last : text.charAt(at - 1);
    const isAlone = at === text.length - 1 && ends;
    last = mark(sign, beforeOpening.test(before) && !isAlone, text.charAt(at + 1));
    lastAt = at;
    return last;
  });
}

function mark(sign: string, opens: boolean, next: string): string {
  if (sign === '"') return opens ? '“' : '”';
  // As in ’90s.
  return opens && !/\d/.test(next) ? '‘' : '’';
}

/** `--flag` at the beginning of a word is the option of a command, and a rule of dashes stays one. */
function dashed(word: string, begins: boolean): string {
  if (/-{4}/.test(word)) return word;
  const ellipses = word.replaceAll(/(?<!\.)\.\.\.(?!\.)/g, '…');
  if (begins && /^--[\p{L}]/u.test(ellipses)) return ellipses;
  return ellipses.replaceAll('---', '—').replaceAll('--', '–');
}

const newline = 0x0a;

/** The text of bytes that have to be UTF-8, without its byte order mark. `what` is whose bytes they are. */
export function decodeText(bytes: Uint8Array, what: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    if (!(cause instanceof TypeError)) throw cause;
    const { offset, line } = firstWrong(bytes);
    throw new WorkcrateError(
      'document_invalid',
      `${what} is not UTF-8: byte ${offset}, in line ${line}, belongs to no character. Save it as UTF-8.`,
      { cause, details: { offset, line } },
    );
  }
}

/** Replaced bytes are longer or shorter than what they were, so the place is found by halving. */
function firstWrong(bytes: Uint8Array): { offset: number; line: number } {
  const isFine = (end: number): boolean => {
    try {
      // A character that is cut off at the end is no error in a stream.
      new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(0, end), { stream: true });
      return true;
    } catch {
      return false;
    }
  };
  let [fine, wrong] = [0, bytes.byteLength + 1];
  while (wrong - fine > 1) {
    const middle = (fine + wrong) >> 1;
    if (isFine(middle)) fine = middle;
    else wrong = middle;
  }
  // Cut off at the very end, it is no error before the stream ends.
  const offset = Math.min(wrong, bytes.byteLength) - 1;
  let line = 1;
  for (let at = 0; at < offset; at++) if (bytes[at] === newline) line++;
  return { offset, line };
}
