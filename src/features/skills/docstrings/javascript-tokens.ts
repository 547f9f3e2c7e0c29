/**
 * Splits JavaScript and TypeScript into tokens, as far as documentation needs it: comments, strings, templates, regular
 * expressions, names, brackets. It runs nothing, and takes time in proportion to the text.
 */
import type { SourceProblem } from './docstring.ts';

export interface JsToken {
  readonly kind: 'name' | 'mark' | 'text';
  readonly text: string;
  readonly start: number;
  readonly end: number;
  /** The last documenting comment, with two stars at its start, between the token before and this one. */
  readonly doc: string | null;
  /** Whether it is the first on its line. */
  readonly isFirst: boolean;
}

export interface JsTokens {
  readonly tokens: readonly JsToken[];
  /** For each bracket that opens, where it closes: by the numbers of the tokens. */
  readonly closings: ReadonlyMap<number, number>;
  readonly problem: SourceProblem | null;
}

const spaces = /\s+/y;
const lineComment = /\/\/[^\n]*/y;
const nameForm = /[#@]?[\p{L}_$][\p{L}\p{N}_$]*/uy;
const numberForm = /\d[\w.]*/y;
const longMarks = /=>|\.\.\.|\?\.|\*\*|[=!<>]=+|&&|\|\||\?\?|\+\+|--/y;

/** Behind these a slash begins a regular expression, and does not divide. */
const beforeRegex = /^(?:return|typeof|case|in|of|delete|void|throw|new|else|do|await|yield|instanceof)$/;

/** More are not read: a file of a megabyte has at most half of it. */
const maxTokens = 200_000;

export function readJsTokens(text: string): JsTokens {
  const tokens: JsToken[] = [];
  const closings = new Map<number, number>();
  const open: { readonly mark: string; readonly token: number; readonly isTemplate: boolean }[] = [];
  let problem: SourceProblem | null = null;
  let doc: string | null = null;
  let isFirst = true;
  let at = /^(?:\ufeff)?(?:#![^\n]*)?/.exec(text)![0].length;
  const match = (form: RegExp): number => {
    form.lastIndex = at;
    return form.test(text) ? form.lastIndex : -1;
  };
  const push = (kind: JsToken['kind'], end: number): void => {
    tokens.push({ kind, text: text.slice(at, end), start: at, end, doc, isFirst });
    [at, doc, isFirst] = [end, null, false];
  };

  function readTemplate(from: number): void {
    const { end, isHole } = findTemplateEnd(text, from);
    if (end === -1) problem ??= { what: 'a template is not closed', at };
    push('text', end === -1 ? text.length : end);
    if (isHole) open.push({ mark: '{', token: tokens.length - 1, isTemplate: true });
  }

  function close(): void {
    const last = open.pop();
    if (last === undefined) problem ??= { what: 'a bracket is closed that was not opened', at };
    else if (last.isTemplate) return readTemplate(at + 1);
    else closings.set(last.token, tokens.length);
    push('mark', at + 1);
  }

  while (at < text.length && tokens.length < maxTokens) {
    const character = text[at]!;
    const space = match(spaces);
    if (space > at) {
      isFirst ||= text.slice(at, space).includes('\n');
      at = space;
    } else if (match(lineComment) > at) at = match(lineComment);
    else if (text.startsWith('/*', at)) {
      const end = text.indexOf('*/', at + 2);
      if (end === -1) problem ??= { what: 'a comment is not closed', at };
      const comment = text.slice(at, end === -1 ? text.length : end + 2);
      if (comment.startsWith('/**') && comment.length > 4) doc = comment;
      isFirst ||= comment.includes('\n');
      at += comment.length;
    } else if (character === '"' || character === "'") {
      const end = findQuoteEnd(text, at);
      if (end === -1) problem ??= { what: 'a string is not closed', at };
      push('text', end === -1 ? findLineEnd(text, at) : end);
    } else if (character === '`') readTemplate(at + 1);
    else if (character === '/' && mayBeRegex(tokens.at(-1)) && findRegexEnd(text, at) !== -1)
      push('text', findRegexEnd(text, at));
    else if (match(nameForm) > at) push('name', match(nameForm));
    else if (match(numberForm) > at) push('text', match(numberForm));
    else if ('([{'.includes(character)) {
      open.push({ mark: character, token: tokens.length, isTemplate: false });
      push('mark', at + 1);
    } else if (')]}'.includes(character)) close();
    else if (match(longMarks) > at) push('mark', match(longMarks));
    else push('mark', at + (text.codePointAt(at)! > 0xffff ? 2 : 1));
  }
  const unclosed = open.at(0);
  if (unclosed !== undefined)
    problem ??= { what: 'a bracket is not closed', at: tokens[unclosed.token]!.start };
  return { tokens, closings, problem };
}

function mayBeRegex(last: JsToken | undefined): boolean {
  if (last === undefined) return true;
  if (last.kind === 'mark') return !/^[)\]}]$/.test(last.text);
  return last.kind === 'name' && beforeRegex.test(last.text);
}

/** Longer ones are read as divisions, so that a line of slashes does not take long. */
const maxRegexLength = 500;

/** Behind the slash that closes a regular expression; -1 where there is none. */
function findRegexEnd(text: string, at: number): number {
  let isInClass = false;
  for (let i = at + 1; i < at + maxRegexLength && i < text.length; i++) {
    const character = text[i]!;
    if (character === '\n') return -1;
    if (character === '\\') i++;
    else if (character === '[') isInClass = true;
    else if (character === ']') isInClass = false;
    else if (character === '/' && !isInClass) return i === at + 1 ? -1 : i + 1;
  }
  return -1;
}

const findLineEnd = (text: string, at: number): number => {
  const end = text.indexOf('\n', at);
  return end === -1 ? text.length : end;
};

/** Behind the closing quote; -1 where the line ends before. */
function findQuoteEnd(text: string, at: number): number {
  const quote = text[at]!;
  for (let i = at + 1; i < text.length; i++) {
    if (text[i] === '\\') i++;
    else if (text[i] === quote) return i + 1;
    else if (text[i] === '\n') return -1;
  }
  return -1;
}

/** Behind the closing quote of a template, or behind the `${` of a hole in it; -1 where neither comes. */
function findTemplateEnd(text: string, from: number): { end: number; isHole: boolean } {
  for (let i = from; i < text.length; i++) {
    if (text[i] === '\\') i++;
    else if (text[i] === '`') return { end: i + 1, isHole: false };
    else if (text.startsWith('${', i)) return { end: i + 2, isHole: true };
  }
  return { end: -1, isHole: false };
}
