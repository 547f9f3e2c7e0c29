import type { Ast, Inline } from './ast.ts';
import { rewrite, visit } from './rewrite.ts';

export interface CitedKey {
  readonly key: string;
  readonly count: number;
}

/** Every key that the text cites, in the order in which it first does, and `*` where `nocite` names them all. */
export function citedKeys(ast: Ast): CitedKey[] {
  const counts = new Map<string, number>();
  visit(ast, (node) => {
    if (node.t !== 'Cite') return;
    for (const { citationId } of node.c[0]) counts.set(citationId, (counts.get(citationId) ?? 0) + 1);
  });
  return [...counts].map(([key, count]) => ({ key, count }));
}

/** Citations as the text that they have become: some writers would cite once more. */
export function unwrapCites(ast: Ast): Ast {
  const unwrap = (node: Inline): Inline[] => (node.t === 'Cite' ? node.c[1] : [node]);
  return rewrite(ast, { inlines: (list) => list.flatMap(unwrap) });
}

/** Pictures under the names that they were found under: `picture-1` → `picture-1.png`. */
export function renamePictures(ast: Ast, names: ReadonlyMap<string, string>): Ast {
  const rename = (node: Inline): Inline => {
    if (node.t !== 'Image') return node;
    const [attr, text, [url, title]] = node.c;
    return { t: 'Image', c: [attr, text, [names.get(url) ?? url, title]] };
  };
  return rewrite(ast, { inlines: (list) => list.map(rename) });
}
