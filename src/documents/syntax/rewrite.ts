import type { Ast, Block, Inline } from './ast.ts';
import { apiVersion, blocks, metaMap, type Walk } from './shapes.ts';

/** What becomes of the parts of a tree; what is not named stays. Lists are given from the inside outwards. */
export type Rewriter = Partial<Pick<Walk, 'attr' | 'inlines' | 'blocks'>>;

const unchanged: Pick<Walk, 'attr' | 'inlines' | 'blocks'> = {
  attr: (attr) => attr,
  inlines: (list) => list,
  blocks: (list) => list,
};

/** A new tree. The depth of the recursion is bounded, as is the count of nodes. */
export function rewrite(ast: Ast, by: Rewriter): Ast {
  const walk: Walk = { ...unchanged, ...by, nodes: 0, cells: 0, depth: 0 };
  return {
    'pandoc-api-version': apiVersion(ast?.['pandoc-api-version'], walk, 'Pandoc') as number[],
    meta: metaMap(ast.meta, walk, 'Meta') as Ast['meta'],
    blocks: blocks(ast.blocks, walk, 'Pandoc') as Ast['blocks'],
  };
}

/** Every block and inline of a tree, from the inside outwards. */
export function visit(ast: Ast, see: (node: Block | Inline) => void): void {
  const each = <T extends Block | Inline>(list: T[]): T[] => {
    list.forEach(see);
    return list;
  };
  rewrite(ast, { inlines: each, blocks: each });
}
