import type { PandocAst } from '../sanitize/ast.ts';

interface Node {
  readonly t: string;
  readonly c?: unknown;
}

/** The blocks of a document as lines of plain text; emphasis has its stars, links are only their words. */
export function linesOf({ blocks }: PandocAst): string[] {
  return blocks.flatMap(lines);
}

function lines({ t, c }: Node): string[] {
  if (t === 'Para' || t === 'Plain') return [textOf(c as Node[])];
  if (t === 'Header') return [`# ${textOf((c as [number, unknown, Node[]])[2])}`];
  if (t === 'Div') return (c as [unknown, Node[]])[1].flatMap(lines);
  return [];
}

const signs: Readonly<Record<string, readonly [string, string]>> = {
  Emph: ['*', '*'],
  Strong: ['**', '**'],
  Superscript: ['^', '^'],
  SingleQuote: ['‘', '’'],
  DoubleQuote: ['“', '”'],
};

function textOf(nodes: readonly Node[]): string {
  return nodes.map(({ t, c }) => inline(t, c)).join('');
}

function inline(t: string, c: unknown): string {
  if (t === 'Str') return c as string;
  if (t === 'Space' || t === 'SoftBreak') return ' ';
  if (t === 'Cite' || t === 'Span' || t === 'Link') return textOf((c as Node[][])[1]!);
  if (t === 'Quoted') {
    const [{ t: kind }, inner] = c as [Node, Node[]];
    return `${signs[kind]![0]}${textOf(inner)}${signs[kind]![1]}`;
  }
  const [before, after] = signs[t] ?? ['', ''];
  return Array.isArray(c) ? `${before}${textOf(c as Node[])}${after}` : '';
}
