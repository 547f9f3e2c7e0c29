/**
 * Splits Python into logical lines of tokens, as far as documentation needs it: strings, names, brackets. It runs and
 * imports nothing, and takes time in proportion to the text, whatever that is.
 */

import type { SourceProblem } from './docstring.ts';

export interface PythonToken {
  readonly kind: 'string' | 'name' | 'other';
  /** Of a string, its whole literal. */
  readonly text: string;
  readonly start: number;
  readonly end: number;
  /** How many brackets are open around it; a bracket itself is inside of none of its own. */
  readonly depth: number;
}

export interface LogicalLine {
  /** The column at which it begins. */
  readonly indent: number;
  readonly tokens: readonly PythonToken[];
}

const stringStart = /[A-Za-z]{0,3}(?:"""|'''|"|')/y;
const stringPrefix = /^(?:[rbuft]|[rb]{2}|[rf]{2}|[rt]{2})?$/i;
const nameForm = /[\p{L}_][\p{L}\p{N}_]*/uy;
const blank = /(?:[ \t\f\r]|\\\r?\n)+/y;
const comment = /#[^\n]*/y;

/** Of one logical line, which an open bracket makes as long as the file; no signature has as many. */
const maxTokens = 5000;

/** Yields logical lines; returns the first problem, or null. */
export function* readLogicalLines(text: string): Generator<LogicalLine, SourceProblem | null> {
  const budget = { steps: 4 * text.length };
  const open: number[] = [];
  let tokens: PythonToken[] = [];
  let problem: SourceProblem | null = null;
  let lineStart = text.startsWith('\ufeff') ? 1 : 0;
  let at = lineStart;
  const match = (form: RegExp): number => {
    form.lastIndex = at;
    return form.test(text) ? form.lastIndex : -1;
  };
  const push = (kind: PythonToken['kind'], end: number): void => {
    if (tokens.length < maxTokens)
      tokens.push({ kind, text: text.slice(at, end), start: at, end, depth: open.length });
    at = end;
  };
  const takeLine = (): LogicalLine => {
    const line = { indent: measureIndent(text, lineStart, tokens[0]!.start), tokens };
    tokens = [];
    return line;
  };

  while (at < text.length) {
    const character = text[at]!;
    const skipped = Math.max(match(blank), match(comment));
    if (skipped > at) at = skipped;
    else if (character === '\n') {
      if (open.length === 0 && tokens.length > 0) yield takeLine();
      at++;
      if (tokens.length === 0) lineStart = at;
    } else if (isStringAt(text, at, match(stringStart))) {
      const end = findStringEnd(text, at, 0, budget);
      if (end.isOpen) problem ??= { what: 'a string is not closed', at };
      push('string', end.at);
    } else if (match(nameForm) > at) push('name', match(nameForm));
    else {
      if (')]}'.includes(character)) {
        if (open.pop() === undefined) problem ??= { what: 'a bracket is closed that was not opened', at };
      }
      push('other', at + (text.codePointAt(at)! > 0xffff ? 2 : 1));
      if ('([{'.includes(character)) open.push(at - 1);
    }
  }
  if (tokens.length > 0) yield takeLine();
  if (open.length > 0) problem ??= { what: 'a bracket is not closed', at: open[0]! };
  return problem;
}

/** Tabs go to the next multiple of eight, as in Python. */
function measureIndent(text: string, from: number, to: number): number {
  let column = 0;
  for (const character of text.slice(from, to)) {
    if (character === '\t') column += 8 - (column % 8);
    else if (character === ' ') column++;
    else if (character === '\n') column = 0;
  }
  return column;
}

function isStringAt(text: string, at: number, end: number): boolean {
  if (end === -1) return false;
  const prefix = text.slice(at, end).replace(/["']+$/, '');
  return stringPrefix.test(prefix);
}

/** Deeper f-strings in f-strings are taken as they come. */
const maxStringDepth = 20;

/** What is left for looking into f-strings. When it is used up they are read as plain ones, so that none takes long. */
interface Budget {
  steps: number;
}

/** The end of the string that begins at `at`, with its prefix. One that is not closed ends with its line, or with the text. */
function findStringEnd(
  text: string,
  at: number,
  depth: number,
  budget: Budget,
): { at: number; isOpen: boolean } {
  stringStart.lastIndex = at;
  stringStart.test(text);
  const start = stringStart.lastIndex;
  const whole = text.slice(at, start);
  const quote = /["']+$/.exec(whole)![0];
  const isFormatted = /[ft]/i.test(whole.slice(0, -quote.length)) && depth < maxStringDepth;
  for (let i = start; i < text.length;) {
    const character = text[i]!;
    if (depth > 0) budget.steps--;
    if (character === '\\') i += 2;
    else if (text.startsWith(quote, i)) return { at: i + quote.length, isOpen: false };
    else if (character === '\n' && quote.length === 1) return { at: i, isOpen: true };
    else if (isFormatted && text.startsWith('{{', i)) i += 2;
    else if (isFormatted && character === '{' && budget.steps > 0)
      i = skipExpression(text, i + 1, quote, depth + 1, budget);
    else i++;
  }
  return { at: text.length, isOpen: true };
}

/** Skips what is between braces in an f-string, where since Python 3.12 the same quotes may be used again. */
function skipExpression(text: string, from: number, quote: string, depth: number, budget: Budget): number {
  let braces = 1;
  for (let i = from; i < text.length;) {
    const character = text[i]!;
    if (budget.steps-- <= 0) return i;
    if (character === '{') braces++;
    if (character === '}' && --braces === 0) return i + 1;
    if (character === '\n' && quote.length === 1) return i;
    if (character !== '"' && character !== "'") {
      i++;
      continue;
    }
    const inner = findStringEnd(text, i, depth, budget);
    // A quote that nothing closes is the end of the string around it.
    if (inner.isOpen) return i;
    i = inner.at;
  }
  return text.length;
}
