/**
 * Keeps plain words and repeated formulas out of a conversion to Typst. Pandoc spends most of its time on characters, and
 * plain words are the same in Typst's markup. It writes no markup: it takes out what needs none, puts marks there, and
 * puts it back into what Pandoc wrote.
 */
import { makeSecretWord } from '../marks.ts';
import { rewriteAst } from '../sanitize/ast.ts';
import { visitAst } from '../sanitize/markdown.ts';
import type { PandocAst, PandocInline } from './tree.ts';

export interface ProseSetAside {
  /** With a mark, a word that nobody can guess, for each run of plain words and each repeated formula. */
  readonly tree: PandocAst;
  /** Puts everything back; null if the markup has damaged marks, so that the whole tree has to be converted. */
  restore(markup: string): string | null;
}

/** Shorter runs are not worth a mark. */
const minProseRun = 30;

/** Means nothing in Typst: not a dash, a quotation mark, two dots, the number of an item or a sign of markup. */
const plainWord = /^(?:\p{L}[\p{L}\p{N}]*[,.;]?|\p{N}+[,;]?)$/u;
const startsWithLetter = /^\p{L}/u;

export function setProseAside(tree: PandocAst): ProseSetAside {
  const nonce = makeSecretWord();
  const kept: string[] = [];
  const formulas = createFormulaMarks(tree, nonce);
  const mark = (text: string): PandocInline => ({ t: 'Str', c: `${nonce}${kept.push(text) - 1}r` });
  const inlines = (list: PandocInline[]): PandocInline[] => formulas.replace(joinPlainWords(list, mark));
  const marks = new RegExp(`${nonce}(\\d+)r`, 'g');

  return {
    tree: rewriteAst(tree, { inlines }),
    restore(markup) {
      const whole = formulas.restore(markup).replaceAll(marks, (_, at: string) => kept[Number(at)]!);
      return whole.includes(nonce) ? null : whole;
    },
  };
}

/** Replaces runs of plain words by what `mark` makes of them. A run begins and ends with a word. */
function joinPlainWords(list: readonly PandocInline[], mark: (text: string) => PandocInline): PandocInline[] {
  const result: PandocInline[] = [];
  let run: PandocInline[] = [];
  const end = (): void => {
    const spaces = run.at(-1)?.t === 'Space' ? run.splice(-1) : [];
    const text = run.map((node) => (node.t === 'Str' ? node.c : ' ')).join('');
    result.push(...(text.length < minProseRun ? run : [mark(text)]), ...spaces);
    run = [];
  };
  for (const node of list) {
    const isWord = node.t === 'Str' && plainWord.test(node.c);
    const fits = run.length === 0 ? isWord && startsWithLetter.test(node.c) : isWord || node.t === 'Space';
    const alternates = run.length === 0 || run.at(-1)!.t !== node.t;
    if (fits && alternates) run.push(node);
    else {
      end();
      result.push(node);
    }
  }
  end();
  return result;
}

/** A formula that is there more than once is translated once: the first stands between marks, the others are one. */
function createFormulaMarks(tree: PandocAst, nonce: string) {
  const counts = new Map<string, number>();
  const toKey = (node: Extract<PandocInline, { t: 'Math' }>): string => `${node.c[0].t} ${node.c[1]}`;
  visitAst(tree, (node) => {
    if (node.t === 'Math') counts.set(toKey(node), (counts.get(toKey(node)) ?? 0) + 1);
  });
  const numbers = new Map<string, number>();
  const toMark = (number: number, letter: string): PandocInline => ({
    t: 'Str',
    c: `${nonce}${number}${letter}`,
  });

  function replaceFormula(node: PandocInline): PandocInline[] {
    if (node.t !== 'Math' || counts.get(toKey(node)) === 1) return [node];
    const known = numbers.get(toKey(node));
    if (known !== undefined) return [toMark(known, 'm')];
    const number = numbers.size;
    numbers.set(toKey(node), number);
    return [toMark(number, 'b'), node, toMark(number, 'e')];
  }

  return {
    replace: (list: PandocInline[]): PandocInline[] => list.flatMap(replaceFormula),
    restore(markup: string): string {
      const written = new Map<string, string>();
      const first = new RegExp(`${nonce}(\\d+)b([^]*?)${nonce}\\1e`, 'g');
      const others = new RegExp(`${nonce}(\\d+)m`, 'g');
      return markup
        .replaceAll(first, (_, number: string, text: string) => {
          written.set(number, text);
          return text;
        })
        .replaceAll(others, (mark, number: string) => written.get(number) ?? mark);
    },
  };
}
