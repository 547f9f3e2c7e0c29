import type { Ast } from './ast.ts';
import { visit } from './rewrite.ts';

/**
 * Latin, Greek, Cyrillic, punctuation, arrows, maths, boxes: what Libertinus Serif, New Computer Modern (Math) and
 * DejaVu Sans Mono have between them, without the edges of their ranges.
 */
const rare =
  /[^\t\n\r -~\u00a0-\u0477\u0488-\u04f9\u1e00-\u20c0\u2100-\u2151\u2153-\u2184\u2190-\u23ff\u2500-\u262f\u27c0-\u2aff]/u;

/** Whether the text may have characters that the usual fonts lack, so that it pays to look for them. */
export function hasRareCharacters(ast: Ast): boolean {
  let found = false;
  visit(ast, (node) => {
    if (found) return;
    if (node.t === 'Str') found = rare.test(node.c);
    else if (node.t === 'Code' || node.t === 'CodeBlock' || node.t === 'Math') found = rare.test(node.c[1]);
  });
  return found;
}
