import type { Block, Inline, MetaValue } from './ast.ts';

/** The text of inlines without its marks, as for a title; notes are left out. */
export function plainText(list: readonly Inline[]): string {
  return list.map(textOf).join('');
}

function textOf(node: Inline): string {
  switch (node.t) {
    case 'Str':
      return node.c;
    case 'Space':
    case 'SoftBreak':
    case 'LineBreak':
      return ' ';
    case 'Code':
    case 'Math':
    case 'RawInline':
      return node.c[1];
    case 'Quoted':
      return node.c[0].t === 'SingleQuote' ? `‘${plainText(node.c[1])}’` : `“${plainText(node.c[1])}”`;
    case 'Cite':
    case 'Link':
    case 'Image':
    case 'Span':
      return plainText(node.c[1]);
    case 'Note':
      return '';
    default:
      return plainText(node.c);
  }
}

/** The text of a value of the front matter, as long as it is one: null for lists, maps and several paragraphs. */
export function metaText(value: MetaValue): string | null {
  if (value.t === 'MetaString') return value.c;
  if (value.t === 'MetaBool') return String(value.c);
  if (value.t === 'MetaInlines') return plainText(value.c);
  const [only, ...others] = value.t === 'MetaBlocks' ? value.c : [];
  return only !== undefined && others.length === 0 && isParagraph(only) ? plainText(only.c) : null;
}

export function isParagraph(block: Block): block is Extract<Block, { t: 'Para' | 'Plain' }> {
  return block.t === 'Para' || block.t === 'Plain';
}

/** A text as it is, word by word, so that lines can be broken and every writer escapes what it must. */
export function wordsAsInlines(text: string): Inline[] {
  return text
    .split(/\s+/u)
    .filter((word) => word !== '')
    .flatMap((word, at): Inline[] => [...(at === 0 ? [] : [{ t: 'Space' } as const]), { t: 'Str', c: word }]);
}
