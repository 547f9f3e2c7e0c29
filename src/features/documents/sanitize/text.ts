import { WorkcrateError } from '../../../platform/errors.ts';
import {
  rewriteAst,
  type PandocAst,
  type PandocBlock,
  type PandocInline,
  type PandocMetaValue,
} from './ast.ts';

/** The plain text of inlines, such as for a title, without notes. */
export function toInlineText(list: readonly PandocInline[]): string {
  return list.map(toNodeText).join('');
}

function toNodeText(node: PandocInline): string {
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
      return node.c[0].t === 'SingleQuote' ? `‘${toInlineText(node.c[1])}’` : `“${toInlineText(node.c[1])}”`;
    case 'Cite':
    case 'Link':
    case 'Image':
    case 'Span':
      return toInlineText(node.c[1]);
    case 'Note':
      return '';
    default:
      return toInlineText(node.c);
  }
}

/** The text of a value of the front matter; null for lists, maps and several paragraphs. */
export function toMetaText(value: PandocMetaValue): string | null {
  if (value.t === 'MetaString') return value.c;
  if (value.t === 'MetaBool') return String(value.c);
  if (value.t === 'MetaInlines') return toInlineText(value.c);
  const [only, ...others] = value.t === 'MetaBlocks' ? value.c : [];
  return only !== undefined && others.length === 0 && isParagraph(only) ? toInlineText(only.c) : null;
}

export function isParagraph(block: PandocBlock): block is Extract<PandocBlock, { t: 'Para' | 'Plain' }> {
  return block.t === 'Para' || block.t === 'Plain';
}

/** Splits a text into words, so that lines can break and every writer escapes what it must. */
export function toWordInlines(text: string): PandocInline[] {
  return text
    .split(/\s+/u)
    .filter((word) => word !== '')
    .flatMap((word, at): PandocInline[] => [
      ...(at === 0 ? [] : [{ t: 'Space' } as const]),
      { t: 'Str', c: word },
    ]);
}

/** Before an opening quotation mark: nothing, a space, a bracket, a dash or another mark. */
const beforeOpeningQuote = /[\s([{<\u2010-\u2015\u2018\u201c/=-]/u;
const bareAddressPattern = /:\/\/|^mailto:|^www\./i;

/**
 * Curly quotation marks, dashes and ellipses. Pandoc can do this too, but takes exponential time for marks that are
 * never closed.
 */
export function applyTypography(ast: PandocAst): PandocAst {
  return rewriteAst(ast, { inlines: curlQuotes });
}

function curlQuotes(list: PandocInline[]): PandocInline[] {
  return list.map((node, at) => {
    if (node.t !== 'Str' || !/["'.-]/.test(node.c) || bareAddressPattern.test(node.c)) return node;
    return { t: 'Str', c: curlWord(node.c, isWordBoundary(list[at - 1]), isWordBoundary(list[at + 1])) };
  });
}

/** Whether a word beside this node begins or ends there. */
function isWordBoundary(node: PandocInline | undefined): boolean {
  return node === undefined || node.t === 'Space' || node.t === 'SoftBreak' || node.t === 'LineBreak';
}

function curlWord(word: string, begins: boolean, ends: boolean): string {
  const text = replaceDashes(word, begins);
  let [lastAt, last] = [-2, ''];
  return text.replaceAll(/["']/g, (sign, at: number) => {
    const before = at === 0 ? (begins ? ' ' : 'x') : at === lastAt + 1 ? last : text.charAt(at - 1);
    const isAlone = at === text.length - 1 && ends;
    last = curlQuote(sign, beforeOpeningQuote.test(before) && !isAlone, text.charAt(at + 1));
    lastAt = at;
    return last;
  });
}

function curlQuote(sign: string, opens: boolean, next: string): string {
  if (sign === '"') return opens ? '“' : '”';
  // As in ’90s.
  return opens && !/\d/.test(next) ? '‘' : '’';
}

/** `--flag` at the beginning of a word is the option of a command, and a rule of dashes stays one. */
function replaceDashes(word: string, begins: boolean): string {
  if (/-{4}/.test(word)) return word;
  const ellipses = word.replaceAll(/(?<!\.)\.\.\.(?!\.)/g, '…');
  if (begins && /^--[\p{L}]/u.test(ellipses)) return ellipses;
  return ellipses.replaceAll('---', '—').replaceAll('--', '–');
}

const utf8NewlineByte = 0x0a;

/** Decodes bytes that must be UTF-8, without the byte order mark. `what` names them in the error. */
export function decodeUtf8Text(bytes: Uint8Array, what: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    if (!(cause instanceof TypeError)) throw cause;
    const { offset, line } = findInvalidUtf8(bytes);
    throw new WorkcrateError(
      'document_invalid',
      `${what} is not UTF-8: byte ${offset}, in line ${line}, is not part of a character. Save it as UTF-8.`,
      { cause, details: { offset, line } },
    );
  }
}

/** By binary search, because the decoder does not say where it failed. */
function findInvalidUtf8(bytes: Uint8Array): { offset: number; line: number } {
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
  for (let at = 0; at < offset; at++) if (bytes[at] === utf8NewlineByte) line++;
  return { offset, line };
}
