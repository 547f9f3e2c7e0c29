import type { Ast, Attr, Inline } from './ast.ts';
import { rewrite } from './rewrite.ts';
import { plainText } from './text.ts';

/** Nodes whose ids every writer makes a place of that a link can lead to. */
const anchored = new Set(['Header', 'Div', 'Span', 'Figure', 'Table']);
/** The bibliography is found by it. */
const bibliography = 'refs';

export const canBeAnchor = (of: string): boolean => anchored.has(of);

/** Typst can mark neither nothing, nor the same thing twice. */
export function withoutLostAnchor(node: Inline): Inline {
  if (node.t !== 'Span' || node.c[0][0] === '') return node;
  const [[, classes, pairs], inside] = node.c;
  const [only, ...others] = inside;
  const isMarked = only?.t === 'Span' && only.c[0][0] !== '' && others.length === 0;
  return isMarked || plainText(inside).trim() === ''
    ? { t: 'Span', c: [['', classes, pairs], inside] }
    : node;
}

/**
 * Every id once, and no link to one that is not there: Typst would set nothing at all. `lost` is told of links that
 * became text.
 */
export function withAnchors(ast: Ast, lost: (target: string) => void): Ast {
  const [ids, numbers] = [new Set<string>(), new Map<string, number>()];
  const hasBibliography = ast.blocks.some((block) => block.t === 'Div' && block.c[0][0] === bibliography);
  const unique = ([id, classes, pairs]: Attr, of: string): Attr => {
    const isTaken = ids.has(id) || (id === bibliography && of !== 'Div' && hasBibliography);
    const own = id === '' || !isTaken ? id : freeId(id, ids, numbers);
    if (own !== '') ids.add(own);
    return [own, classes, pairs];
  };
  return dropLostLinks(rewrite(ast, { attr: unique }), lost);
}

/** After so many rounds no link within the document is left, so that no document takes long. */
const mostRounds = 10;

/**
 * A link that becomes text may leave a span around another one, which then loses its id, and with it the links to it;
 * hence in rounds, until none is lost.
 */
function dropLostLinks(ast: Ast, lost: (target: string) => void): Ast {
  let current = ast;
  for (let round = 1; ; round++) {
    const ids = round < mostRounds ? findIds(current) : new Set<string>();
    let hasLost = false;
    const tell = (target: string): void => {
      hasLost = true;
      lost(target);
    };
    current = rewrite(current, {
      inlines: (list) => list.flatMap((node) => linked(node, ids, tell)).map(withoutLostAnchor),
    });
    if (!hasLost) return current;
  }
}

function findIds(ast: Ast): Set<string> {
  const ids = new Set<string>();
  const attr = (each: Attr): Attr => {
    ids.add(each[0]);
    return each;
  };
  rewrite(ast, { attr });
  return ids;
}

/** Numbers go on from the last one, so that many nodes of one name take no quadratic time. */
function freeId(id: string, ids: ReadonlySet<string>, numbers: Map<string, number>): string {
  let number = numbers.get(id) ?? 2;
  while (ids.has(`${id}-${number}`)) number++;
  numbers.set(id, number + 1);
  return `${id}-${number}`;
}

function linked(node: Inline, ids: ReadonlySet<string>, lost: (target: string) => void): Inline[] {
  if (node.t !== 'Link') return [node];
  const [, text, [url]] = node.c;
  if (!url.startsWith('#') || ids.has(url.slice(1))) return [node];
  lost(url);
  return text;
}
