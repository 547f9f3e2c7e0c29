import type { Ast, Block } from './tree.ts';

/** The abstract as text before all other, for writers that leave it out or do not make a paragraph of it. */
export function abstractFirst({ meta, ...tree }: Ast, style: string | null): Ast {
  const { abstract, ...others } = meta;
  const blocks = abstract === undefined ? [] : blocksOf(abstract);
  if (blocks.length === 0) return { ...tree, meta };
  const styled: Block[] =
    style === null ? blocks : [{ t: 'Div', c: [['', [], [['custom-style', style]]], blocks] }];
  return { ...tree, meta: others, blocks: [...styled, ...tree.blocks] };
}

function blocksOf(value: Ast['meta'][string]): Block[] {
  if (value.t === 'MetaBlocks') return value.c;
  if (value.t === 'MetaInlines') return [{ t: 'Para', c: value.c }];
  return value.t === 'MetaString' ? [{ t: 'Para', c: [{ t: 'Str', c: value.c }] }] : [];
}
