import { rewrite } from '../syntax/rewrite.ts';
import { wordsAsInlines } from '../syntax/syntax.ts';
import { mathsEnvironments, mathsSymbols, mathsWords } from './tex-words.ts';
import type { Ast, Inline } from './tree.ts';

/** Formats in which a formula could be code: the first two hold its TeX as it is, Pandoc translates it for the third. */
export type MathsFormat = 'latex' | 'markdown' | 'typst';

export interface SafeMaths {
  readonly tree: Ast;
  readonly warnings: readonly string[];
}

/** Writes every formula as text that could be code in the format, and says why. */
export function withSafeMaths(tree: Ast, format: MathsFormat): SafeMaths {
  const reasons = new Set<string>();
  const judge = format === 'typst' ? judgeForTypst : (formula: string) => judgeTex(formula, format);
  const inlines = (list: Inline[]): Inline[] =>
    list.flatMap((node): Inline[] => {
      if (node.t !== 'Math') return [node];
      const judged = judge(node.c[1]);
      if ('formula' in judged) return [{ t: 'Math', c: [node.c[0], judged.formula] }];
      reasons.add(judged.reason);
      return wordsAsInlines(`$${node.c[1]}$`);
    });
  return { tree: rewrite(tree, { inlines }), warnings: warningsFrom(reasons) };
}

const mostNamed = 10;
const longestName = 30;

function warningsFrom(reasons: ReadonlySet<string>): string[] {
  if (reasons.size === 0) return [];
  const few = [...reasons].slice(0, mostNamed).map((reason) => reason.slice(0, longestName).toWellFormed());
  const more = reasons.size > mostNamed ? ` and ${reasons.size - mostNamed} more` : '';
  return [
    `Maths is written as text where it has what no formula needs: ${few.join(', ')}${more}. Leave that out, and it is a formula again.`,
  ];
}

type Judged = { readonly formula: string } | { readonly reason: string };

/** The parts of a formula that mean something to TeX beyond a character. */
const parts = /\\(begin|end)\s*\{([^{}]*)\}|\\([A-Za-z]+)|\\([\s\S]|$)|[{}$#&]/gu;

/** TeX in which all commands are known, all groups are closed, and nothing is spelt in another way. */
function judgeTex(given: string, format: 'latex' | 'markdown'): Judged {
  const formula = withoutComments(given);
  // TeX reads `^^5c` as a backslash, even within the name of a command.
  if (formula.includes('^^')) return { reason: '^^' };
  const open: string[] = [];
  for (const [part, edge, environment, word, symbol] of formula.matchAll(parts)) {
    const isKnown =
      environment !== undefined
        ? mathsEnvironments.has(environment.replace(/\*$/, '')) && nest(open, edge!, environment)
        : word !== undefined
          ? mathsWords.has(word)
          : symbol !== undefined
            ? mathsSymbols.has(symbol)
            : isPlaced(part, open, format);
    if (!isKnown) return { reason: part };
  }
  return open.length === 0 ? { formula } : { reason: `${open.at(-1)!} that is not closed` };
}

/** A comment would hide the end of the formula. An empty line ends it, as TeX and Markdown have it. */
function withoutComments(formula: string): string {
  return formula
    .replaceAll(/\\[\s\S]|%[^\n]*/g, (part) => (part.startsWith('%') ? '' : part))
    .replaceAll(/\n\s*\n/g, '\n');
}

/** Whether a brace, a dollar sign or a mark of tables is in a place where it does not end or break the formula. */
function isPlaced(mark: string, open: string[], format: 'latex' | 'markdown'): boolean {
  if (mark === '{' || mark === '}') return nest(open, mark === '{' ? 'begin' : 'end', '{');
  if (mark === '&') return open.some((name) => mathsEnvironments.has(name.replace(/\*$/, '')));
  if (mark === '#' || format === 'markdown') return false;
  // A formula in a text in a formula: \text{if $x$}.
  if (open.includes('$')) return nest(open, 'end', '$');
  return open.at(-1) === '{' && nest(open, 'begin', '$');
}

/** Opens or closes a group; false where another one has to be closed first. */
function nest(open: string[], edge: string, name: string): boolean {
  if (edge === 'begin') return open.push(name) > 0;
  return open.pop() === name;
}

/** Pandoc writes the name of an operator into Typst's strings as it is, and text in a phantom into its markup. */
const operator = /\\(?:operatorname|mathop)(?![A-Za-z])/;
const endsString = /"|\\(?:textbackslash|backslash|char)(?![A-Za-z])/;
const phantom = /\\phantom(?![A-Za-z])/;
const textual = /\\(?:text[a-z]*|mbox|operatorname|mathop)(?![A-Za-z])/;
/** With commands of its own, a formula can spell any of these in another way. */
const definition =
  /\\(?:(?:re)?newcommand|providecommand|DeclareMathOperator|(?:re)?newenvironment|let|[gex]?def)(?![A-Za-z])/;

function judgeForTypst(formula: string): Judged {
  const defined = definition.exec(formula)?.[0];
  if (defined !== undefined) return { reason: defined };
  if (operator.test(formula) && endsString.test(formula))
    return { reason: `${endsString.exec(formula)![0]} beside ${operator.exec(formula)![0]}` };
  if (phantom.test(formula) && textual.test(formula))
    return { reason: `${textual.exec(formula)![0]} beside \\phantom` };
  return { formula };
}
