import type { Ast, Inline } from './ast.ts';
import { rewrite } from './rewrite.ts';

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
