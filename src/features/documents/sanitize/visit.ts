import type { PandocAst, PandocBlock, PandocInline } from './ast.ts';

/** Metadata may have a key `t`, but then its value is no string. */
export const isAstNode = (part: object): part is { readonly t: string; readonly c?: unknown } =>
  typeof (part as { readonly t?: unknown }).t === 'string';

/** Visits every node of a tree that was checked before, inner ones first. It makes no copy. */
export function visitAst(ast: PandocAst, see: (node: PandocBlock | PandocInline) => void): void {
  const visit = (part: unknown): void => {
    if (typeof part !== 'object' || part === null) return;
    if (Array.isArray(part)) part.forEach(visit);
    else if (!isAstNode(part)) Object.values(part).forEach(visit);
    else {
      visit(part.c);
      see(part as PandocBlock | PandocInline);
    }
  };
  visit(ast.meta);
  visit(ast.blocks);
}
