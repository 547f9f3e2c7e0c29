import { WorkcrateError } from '../../../platform/errors.ts';
import { checkNoYamlAliases } from './front-matter.ts';

// oxlint-disable-next-line eslint/no-control-regex -- they are what is looked for
const controlCharacter = /[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/;

/** Pandoc takes a minute for a table of this size. */
const maxTableBars = 300_000;

/**
 * Refuses a text for which Pandoc would take exponential time, or which no document can contain. The check itself takes
 * linear time. A text that only takes long is left to the deadline.
 */
export function checkBoundedText(text: string, most: number): void {
  const bytes = Buffer.byteLength(text);
  if (bytes > most)
    throw new WorkcrateError(
      'document_invalid',
      `The text has ${bytes} bytes; at most ${most} are allowed. Split it, or provide large data as files.`,
      { details: { bytes, most } },
    );
  checkValidCharacters(text);
  checkFewTableBars(text);
  const lines = text.split(/\r\n|\n|\r/);
  checkNoYamlAliases(lines);
  for (const paragraph of splitIntoParagraphs(lines)) checkFewMarks(paragraph);
}

function checkFewTableBars(text: string): void {
  let count = 0;
  for (let at = text.indexOf('|'); at >= 0 && count <= maxTableBars; at = text.indexOf('|', at + 1)) count++;
  if (count <= maxTableBars) return;
  throw new WorkcrateError(
    'document_invalid',
    `The text has more than ${maxTableBars} bars (|): a table of that size belongs in a file of its own. Show its beginning, and share the rest by link.`,
  );
}

function checkValidCharacters(text: string): void {
  if (!text.isWellFormed())
    throw new WorkcrateError(
      'document_invalid',
      'The text contains half of a character (a lone surrogate): remove it.',
    );
  const at = text.search(controlCharacter);
  if (at < 0) return;
  const line = text.slice(0, at).split('\n').length;
  const code = text.charCodeAt(at).toString(16).padStart(4, '0').toUpperCase();
  throw new WorkcrateError(
    'document_invalid',
    `Line ${line} contains the control character U+${code}, which no document can contain: remove it.`,
    { details: { line } },
  );
}

/** Nested brackets that are closed. Measured: 6 deep 0.5 s, 8 deep 3.4 s, 10 deep 22 s. */
const maxBracketDepth = 6;
/** Together with brackets that are never closed: 7 of them 0.4 s, 12 of them 5 s. */
const maxOpenBrackets = 7;
/** `_a ~~b _a ~~b`: 10 times 0.4 s, 14 times more than 5 s. */
const maxOpenStrikeouts = 8;

/** Refuses brackets and marks that Pandoc would try to match in exponentially many ways. */
function checkFewMarks({ text, line }: MarkdownParagraph): void {
  if (!/[[~]/.test(text)) return;
  const plain = blankNonMarkup(text);
  checkFewBrackets(plain, line);
  checkFewStrikeouts(plain, line);
}

function checkFewBrackets(text: string, line: number): void {
  /** For each open bracket: how deep the closed brackets in it are nested. */
  const open: number[] = [];
  let deepest = 0;
  for (let at = 0; at < text.length; at++) {
    const sign = text[at];
    if (sign === '[') open.push(0);
    else if (sign === ']' && open.length > 0) {
      const depth = open.pop()! + 1;
      deepest = Math.max(deepest, depth);
      if (open.length > 0) open.push(Math.max(open.pop()!, depth));
    }
    if (deepest > maxBracketDepth)
      throw markupLimitError(findParagraphLine(text, at, line), nestedBracketsMessage);
  }
  if (open.length + deepest > maxOpenBrackets)
    throw markupLimitError(line, open.length > deepest ? unclosedBracketsMessage : nestedBracketsMessage);
}

function checkFewStrikeouts(text: string, line: number): void {
  const struck = countUnclosed(text, /(?<=^|[\s([{*_])~~(?=[^\s~])/gu, /(?<=[^\s~])~~(?!~)/gu);
  if (struck <= maxOpenStrikeouts) return;
  if (
    countUnclosed(text, /(?<![\p{L}\p{N}_])_{1,2}(?=[^\s_])/gu, /(?<=[^\s_])_{1,2}(?![\p{L}\p{N}_])/gu) >
    maxOpenStrikeouts
  )
    throw markupLimitError(
      line,
      'there are too many “~~” and “_” that are not closed: close them, or write “\\~” and “\\_”',
    );
}

function countUnclosed(text: string, opens: RegExp, closes: RegExp): number {
  return countFormMatches(text, opens) - countFormMatches(text, closes);
}

function countFormMatches(text: string, form: RegExp): number {
  let found = 0;
  for (const _ of text.matchAll(form)) found++;
  return found;
}

const nestedBracketsMessage = `square brackets are nested more than ${maxBracketDepth} deep: flatten them, write those that are text as “\\[”, or put them between backticks`;
const unclosedBracketsMessage = `there are more than ${maxOpenBrackets} square brackets that are not closed: write those that are text as “\\[”, or put formulas between dollar signs`;

function findParagraphLine(text: string, at: number, first: number): number {
  return first + text.slice(0, at).split('\n').length - 1;
}

function markupLimitError(line: number, what: string): WorkcrateError {
  return new WorkcrateError('document_invalid', `In the paragraph at line ${line}, ${what}.`, {
    details: { line },
  });
}

export interface MarkdownParagraph {
  /** Of its first line, from 1. */
  readonly line: number;
  readonly text: string;
}

/** Of quotes and lists within each other. */
const maxNestingLevels = 40;
const maxIndentation = 4 * maxNestingLevels;

const listMarkersPattern =
  /^(?:[ \t]*(?:>|[-+*](?=[ \t]|$)|(?:\(?(?:\d{1,9}|[a-zA-Z]|#)[.)]|\(?@[\w-]*\))(?=[ \t]|$)))*/;
const listItemPattern = /^[\s>]*(?:[-+*]|\(?(?:\d{1,9}|[a-zA-Z]|#)[.)]|\(?@[\w-]*\)|[:~])[ \t]/;
const headingLinePattern = /^[\s>]*#{1,6}[ \t]/;
const openingFencePattern = /^[\s>]*(?:(?:[-+*]|\d{1,9}[.)])[ \t]+)?(`{3,}(?=[^`]*$)|~{3,})/;
const closingFencePattern = /^[\s>]*(`{3,}|~{3,})\s*$/;
const indentedCodePattern = /^(?: {4}|\t)/;

/**
 * The pieces of a text in which marks can belong together, as Pandoc sees them: between empty lines, items of lists,
 * headings and rows of tables. Blocks of code are left out.
 */
function* splitIntoParagraphs(lines: readonly string[]): Generator<MarkdownParagraph> {
  const closers = indexClosingFences(lines);
  let [first, isInList] = [-1, false];
  const cut = (to: number): MarkdownParagraph[] => {
    const found = first < 0 ? [] : [{ line: first + 1, text: lines.slice(first, to).join('\n') }];
    first = -1;
    return found;
  };
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at]!;
    checkShallowNesting(line, at + 1);
    const code = line.length < 3 ? undefined : openingFencePattern.exec(line)?.[1];
    const isCode = first < 0 && !isInList && indentedCodePattern.test(line);
    if (code !== undefined && code.length <= closers(code[0]!, at)) {
      yield* cut(at);
      at = findFenceEnd(lines, at, code);
    } else if (isCode || isEmptyQuoteLine(line)) yield* cut(at);
    else {
      const isItem = listItemPattern.test(line);
      if (isItem || headingLinePattern.test(line) || isTableRow(lines, first, line)) yield* cut(at);
      if (isItem || (first < 0 && !/^\s/.test(line))) isInList = isItem;
      if (first < 0) first = at;
    }
  }
  yield* cut(lines.length);
}

const isEmptyQuoteLine = (line: string): boolean => /^[\s>]*$/.test(line);

/** Rows of a table and lines of a line block: marks do not continue from one to the next. */
function isTableRow(lines: readonly string[], first: number, line: string): boolean {
  return first >= 0 && line.startsWith('|') && lines[first]!.startsWith('|');
}

/** The length of the longest closing fence after a line: without one, a fence opens nothing. */
function indexClosingFences(lines: readonly string[]): (kind: string, at: number) => number {
  const longest = { '`': new Int32Array(lines.length + 1), '~': new Int32Array(lines.length + 1) };
  for (let at = lines.length - 1; at >= 0; at--) {
    const found = lines[at]!.length < 3 ? '' : (closingFencePattern.exec(lines[at]!)?.[1] ?? '');
    for (const kind of ['`', '~'] as const)
      longest[kind][at] = Math.max(longest[kind][at + 1]!, found.startsWith(kind) ? found.length : 0);
  }
  return (kind, at) => longest[kind === '~' ? '~' : '`'][at + 1]!;
}

function findFenceEnd(lines: readonly string[], from: number, code: string): number {
  let at = from + 1;
  while (!isClosingFence(lines[at]!, code)) at++;
  return at;
}

function isClosingFence(line: string, code: string): boolean {
  const found = closingFencePattern.exec(line)?.[1] ?? '';
  return found.startsWith(code[0]!) && found.length >= code.length;
}

function checkShallowNesting(line: string, number: number): void {
  if (line.length <= maxNestingLevels) return;
  // Markers behind a deeper indentation are not looked at.
  const start = line.slice(0, 4 * maxIndentation);
  const found = listMarkersPattern.exec(start)![0];
  const columns = found.replaceAll('\t', '    ').length;
  const levels = found.match(/>|[^\s>]+/g)?.length ?? 0;
  if (levels <= maxNestingLevels && (levels === 0 || columns - levels <= maxIndentation)) return;
  throw new WorkcrateError(
    'document_invalid',
    `In line ${number}, quotes or lists are nested more than ${maxNestingLevels} deep: flatten them.`,
    { details: { line: number } },
  );
}

/** Finds the next end at or after a position. Positions must grow, so that all calls together take linear time. */
type NextFinder = (from: number) => number;

/**
 * Replaces what is not markup by spaces: code, maths and escaped characters. Line breaks stay, so that lines can be
 * counted.
 */
function blankNonMarkup(text: string): string {
  if (!/[`$\\]/.test(text)) return text;
  const ends = { ...indexCodeEnds(text), ...indexMathEnds(text) };
  let [done, from] = ['', 0];
  for (let at = 0; at < text.length;) {
    const [end, width] = findSpanEnd(text, at, ends);
    if (end > at + width || text[at] === '\\') {
      done += text.slice(from, at) + blankText(text.slice(at, end));
      from = end;
    }
    at = end;
  }
  return done + text.slice(from);
}

interface SpanEnds {
  readonly code: (length: number) => NextFinder;
  readonly dollar: NextFinder;
  readonly dollars: NextFinder;
  readonly round: NextFinder;
  readonly square: NextFinder;
}

/** Where the span that begins here ends, and the length of its opening mark. */
function findSpanEnd(text: string, at: number, ends: SpanEnds): [end: number, width: number] {
  const sign = text[at];
  if (sign === '`') {
    const length = countBackticks(text, at);
    return [ends.code(length)(at + length), length];
  }
  if (text.startsWith('$$', at)) return [ends.dollars(at + 2), 2];
  if (sign === '$') return [/\S/.test(text[at + 1] ?? ' ') ? ends.dollar(at + 1) : at + 1, 1];
  if (text.startsWith('\\(', at)) return [Math.max(ends.round(at + 2), at + 2), 2];
  if (text.startsWith('\\[', at)) return [Math.max(ends.square(at + 2), at + 2), 2];
  return sign === '\\' ? [Math.min(at + 2, text.length), 2] : [at + 1, 1];
}

function indexCodeEnds(text: string): Pick<SpanEnds, 'code'> {
  const places = new Map<number, number[]>();
  for (const { 0: run, index } of text.matchAll(/`+/g)) {
    const known = places.get(run.length) ?? [];
    known.push(index + run.length);
    places.set(run.length, known);
  }
  const nexts = new Map([...places].map(([length, ends]) => [length, createNextFinder(ends, length)]));
  return { code: (length) => nexts.get(length) ?? ((from) => from) };
}

function indexMathEnds(text: string): Omit<SpanEnds, 'code'> {
  const after = (form: RegExp): number[] =>
    Array.from(text.matchAll(form), ({ 0: sign, index }) => index + sign.length);
  return {
    dollar: createNextFinder(after(/(?<=[^\s\\])\$(?!\d)/g), 1),
    dollars: createNextFinder(after(/(?<!\\)\$\$/g), 2),
    round: createNextFinder(after(/\\\)/g), 2),
    square: createNextFinder(after(/\\\]/g), 2),
  };
}

/** Returns the end of the next mark that begins at `from` or later; `from` if there is none. */
function createNextFinder(ends: readonly number[], width: number): NextFinder {
  let at = 0;
  return (from) => {
    while (at < ends.length && ends[at]! - width < from) at++;
    return ends[at] ?? from;
  };
}

function countBackticks(text: string, at: number): number {
  let end = at;
  while (text[end] === '`') end++;
  return end - at;
}

const blankText = (text: string): string => text.replaceAll(/[^\n]/g, ' ');
