import { WorkcrateError } from '../../errors.ts';

export interface Paragraph {
  /** Of its first line, from 1. */
  readonly line: number;
  readonly text: string;
}

/** Quotes and lists within each other. */
const mostLevels = 40;
const mostIndentation = 4 * mostLevels;

const markers =
  /^(?:[ \t]*(?:>|[-+*](?=[ \t]|$)|(?:\(?(?:\d{1,9}|[a-zA-Z]|#)[.)]|\(?@[\w-]*\))(?=[ \t]|$)))*/;
const item = /^[\s>]*(?:[-+*]|\(?(?:\d{1,9}|[a-zA-Z]|#)[.)]|\(?@[\w-]*\)|[:~])[ \t]/;
const heading = /^[\s>]*#{1,6}[ \t]/;
const fence = /^[\s>]*(?:(?:[-+*]|\d{1,9}[.)])[ \t]+)?(`{3,}(?=[^`]*$)|~{3,})/;
const closingFence = /^[\s>]*(`{3,}|~{3,})\s*$/;
const indented = /^(?: {4}|\t)/;

/**
 * The pieces of a text in which marks can belong together, as Pandoc sees them: between empty lines, items of lists,
 * headings and rows of tables. Blocks of code are left out.
 */
export function* paragraphsOf(lines: readonly string[]): Generator<Paragraph> {
  const closers = closersOf(lines);
  let [first, isInList] = [-1, false];
  const cut = (to: number): Paragraph[] => {
    const found = first < 0 ? [] : [{ line: first + 1, text: lines.slice(first, to).join('\n') }];
    first = -1;
    return found;
  };
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at]!;
    demandShallow(line, at + 1);
    const code = line.length < 3 ? undefined : fence.exec(line)?.[1];
    const isCode = first < 0 && !isInList && indented.test(line);
    if (code !== undefined && code.length <= closers(code[0]!, at)) {
      yield* cut(at);
      at = endOfFence(lines, at, code);
    } else if (isCode || isEmpty(line)) yield* cut(at);
    else {
      const isItem = item.test(line);
      if (isItem || heading.test(line) || isRow(lines, first, line)) yield* cut(at);
      if (isItem || (first < 0 && !/^\s/.test(line))) isInList = isItem;
      if (first < 0) first = at;
    }
  }
  yield* cut(lines.length);
}

const isEmpty = (line: string): boolean => /^[\s>]*$/.test(line);

/** Rows of a table, and lines of a poem, of which each stands for itself. */
function isRow(lines: readonly string[], first: number, line: string): boolean {
  return first >= 0 && line.startsWith('|') && lines[first]!.startsWith('|');
}

/** How long the longest closing fence of a kind is that follows a line: without one, a fence opens nothing. */
function closersOf(lines: readonly string[]): (kind: string, at: number) => number {
  const longest = { '`': new Int32Array(lines.length + 1), '~': new Int32Array(lines.length + 1) };
  for (let at = lines.length - 1; at >= 0; at--) {
    const found = lines[at]!.length < 3 ? '' : (closingFence.exec(lines[at]!)?.[1] ?? '');
    for (const kind of ['`', '~'] as const)
      longest[kind][at] = Math.max(longest[kind][at + 1]!, found.startsWith(kind) ? found.length : 0);
  }
  return (kind, at) => longest[kind === '~' ? '~' : '`'][at + 1]!;
}

function endOfFence(lines: readonly string[], from: number, code: string): number {
  let at = from + 1;
  while (!closes(lines[at]!, code)) at++;
  return at;
}

function closes(line: string, code: string): boolean {
  const found = closingFence.exec(line)?.[1] ?? '';
  return found.startsWith(code[0]!) && found.length >= code.length;
}

function demandShallow(line: string, number: number): void {
  if (line.length <= mostLevels) return;
  // The markers of a line that is indented further than this are not looked at any more.
  const start = line.slice(0, 4 * mostIndentation);
  const found = markers.exec(start)![0];
  const columns = found.replaceAll('\t', '    ').length;
  const levels = found.match(/>|[^\s>]+/g)?.length ?? 0;
  if (levels <= mostLevels && (levels === 0 || columns - levels <= mostIndentation)) return;
  throw new WorkcrateError(
    'document_invalid',
    `In line ${number}, quotes or lists stand within each other more than ${mostLevels} deep: flatten them.`,
    { details: { line: number } },
  );
}
