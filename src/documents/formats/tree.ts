import type { Ast, Attr, Block, Inline } from '../syntax/ast.ts';

export type { Ast, Attr, Block, Inline } from '../syntax/ast.ts';

export type Heading = Extract<Block, { t: 'Header' }>;
export type Division = Extract<Block, { t: 'Div' }>;

export const noAttributes: Attr = ['', [], []];

/** It was judged before: nothing of it is doubted here. */
export function treeOf(ast: Uint8Array): Ast {
  return JSON.parse(Buffer.from(ast).toString('utf8')) as Ast;
}

export function bytesOf(tree: Ast): Uint8Array {
  return Buffer.from(JSON.stringify(tree));
}

export function isHeading(block: Block): block is Heading {
  return block.t === 'Header';
}

export function isDivision(block: Block): block is Division {
  return block.t === 'Div';
}

export function hasClass({ c: [[, classes]] }: Division, name: string): boolean {
  return classes.includes(name);
}

/** Each block by what `change` makes of it, also those within divisions; null leaves it as it is. */
export function changed(
  blocks: readonly Block[],
  change: (block: Block) => readonly Block[] | null,
): Block[] {
  return blocks.flatMap((block) => {
    const found = change(block);
    if (found !== null) return found;
    if (!isDivision(block)) return [block];
    return [{ t: 'Div', c: [block.c[0], changed(block.c[1], change)] }];
  });
}

/** The words of a node and of all below it, without its notes. */
export function textOf(node: unknown): string {
  if (Array.isArray(node)) return node.map(textOf).join('');
  if (typeof node !== 'object' || node === null || !('t' in node)) return '';
  const { t, c } = node as { t: string; c?: unknown };
  if (t === 'Str') return String(c);
  if (t === 'Space' || t === 'SoftBreak' || t === 'LineBreak') return ' ';
  if (t === 'Code' || t === 'Math' || t === 'CodeBlock') return String((c as readonly unknown[])[1]);
  return t === 'Note' ? '' : textOf(c);
}

/** Text that is to stand within a link can have no link or note of its own. */
export function unlinked(inlines: readonly Inline[]): Inline[] {
  return inlines.flatMap(withoutLinks);
}

function withoutLinks(inline: Inline): Inline[] {
  switch (inline.t) {
    case 'Note':
      return [];
    case 'Link':
      return unlinked(inline.c[1]);
    case 'Span':
      return [{ t: 'Span', c: [inline.c[0], unlinked(inline.c[1])] }];
    case 'Quoted':
      return [{ t: 'Quoted', c: [inline.c[0], unlinked(inline.c[1])] }];
    case 'Emph':
    case 'Strong':
    case 'Underline':
    case 'Strikeout':
    case 'Superscript':
    case 'Subscript':
    case 'SmallCaps':
      return [{ t: inline.t, c: unlinked(inline.c) }];
    default:
      return [inline];
  }
}
