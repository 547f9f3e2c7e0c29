/**
 * Code with its comments, strings, numbers and keywords told apart, for people who read it. It knows the three languages
 * of runs by one expression each, which goes through hostile code once, and shows the text exactly as it is.
 */
import { html, type Html } from './html.ts';

export type HighlightedLanguage = 'python' | 'node' | 'bash';

/** What follows is shown without colours: each of them costs a browser an element. */
const maxHighlightedTokens = 4000;
const maxHighlighted = 64 * 1024;

const toWordSet = (text: string): ReadonlySet<string> => new Set(text.split(' '));

const keywords: Readonly<Record<HighlightedLanguage, ReadonlySet<string>>> = {
  python: toWordSet(
    'and as assert async await break case class continue def del elif else except finally for from global if import in is lambda match nonlocal not or pass raise return try while with yield True False None',
  ),
  node: toWordSet(
    'async await break case catch class const continue debugger default delete do else export extends finally for from function if import in instanceof let new null of return static super switch this throw true false try typeof undefined using var void while with yield',
  ),
  bash: toWordSet(
    'break case continue declare do done elif else esac eval exec exit export fi for function if in local readonly return select set shift source then trap unset until while',
  ),
};

// Each kind also ends at the end of the text: an expression that fails behind a long start would begin again at every
// character.
const number = String.raw`(?<number>\b(?:0[xXoObB][\da-fA-F_]+|\d[\d_]*(?:\.[\d_]*)?(?:[eE][-+]?\d+)?)n?j?\b)`;
const matchQuotedText = (mark: string, lines: string): string =>
  String.raw`${mark}[^${mark}\\${lines}]*(?:\\[\s\S][^${mark}\\${lines}]*)*${mark}?`;
const oneLine = String.raw`\n`;

const grammars: Readonly<Record<HighlightedLanguage, RegExp>> = {
  python: new RegExp(
    [
      String.raw`(?<comment>#[^\n]*)`,
      String.raw`(?<string>\b[rRbBfFuUtT]{1,2}(?=["'])|"""[\s\S]*?(?:"""|$)|'''[\s\S]*?(?:'''|$)|${matchQuotedText('"', oneLine)}|${matchQuotedText("'", oneLine)})`,
      number,
      String.raw`(?<word>[\p{L}_][\p{L}\p{N}_]*)`,
    ].join('|'),
    'gu',
  ),
  node: new RegExp(
    [
      String.raw`(?<comment>\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$))`,
      `(?<string>${matchQuotedText('"', oneLine)}|${matchQuotedText("'", oneLine)}|${matchQuotedText('`', '')})`,
      number,
      String.raw`(?<word>[\p{L}_$][\p{L}\p{N}_$]*)`,
    ].join('|'),
    'gu',
  ),
  bash: new RegExp(
    [
      String.raw`(?<comment>(?<![^\s;|&()])#[^\n]*)`,
      `(?<string>${matchQuotedText('"', '')}|'[^']*'?)`,
      String.raw`(?<variable>\$(?:\w+|[{(@*#?$!-]))`,
      number,
      String.raw`(?<word>[A-Za-z_][\w-]*)`,
    ].join('|'),
    'gu',
  ),
};

/** The code as it is to stand in a `pre`. Of another language it is plain. */
export function renderCode(code: string, language: string): Html {
  const pattern = Object.hasOwn(grammars, language) ? grammars[language as HighlightedLanguage] : null;
  if (pattern === null) return html`<code>${code}</code>`;
  const own = keywords[language as HighlightedLanguage];
  const pieces: (Html | string)[] = [];
  let [at, tokens] = [0, 0];
  for (const { 0: text, index, groups = {} } of code.slice(0, maxHighlighted).matchAll(pattern)) {
    const kind = findTokenKind(text, groups, own);
    if (kind === null) continue;
    if (++tokens > maxHighlightedTokens) break;
    pieces.push(code.slice(at, index), html`<span class="${kind}">${text}</span>`);
    at = index + text.length;
  }
  return html`<code>${pieces}${code.slice(at)}</code>`;
}

function findTokenKind(
  text: string,
  { comment, string, number: isNumber, variable }: Readonly<Record<string, string | undefined>>,
  own: ReadonlySet<string>,
): string | null {
  if (comment !== undefined) return 'hl-comment';
  if (string !== undefined) return 'hl-string';
  if (isNumber !== undefined) return 'hl-number';
  if (variable !== undefined) return 'hl-variable';
  return own.has(text) ? 'hl-keyword' : null;
}
