import type { Ast, Inline } from './ast.ts';
import { rewrite } from './rewrite.ts';

/** An address, and what ends the sentence behind it. */
const bare = /^(\(?)(https?:\/\/[^\s<>"]+?)([).,;:!?'"”’]*)$/i;

/** Addresses in the text become links. Pandoc can do this while it reads, but then takes twice as long to read. */
export function withBareLinks(ast: Ast): Ast {
  return rewrite(ast, { inlines: (list) => list.flatMap(linkBareUrl) });
}

function linkBareUrl(node: Inline): Inline[] {
  // What stands in a link has been seen before the link itself.
  if (node.t === 'Link') return [{ ...node, c: [node.c[0], node.c[1].flatMap(unlinked), node.c[2]] }];
  const [, opening, url, rest] = (node.t === 'Str' && bare.exec(node.c)) || [];
  if (url === undefined) return [node];
  const link: Inline = { t: 'Link', c: [['', [], []], [{ t: 'Str', c: url }], [url, '']] };
  return [...words(opening!), link, ...words(rest!)];
}

const unlinked = (node: Inline): Inline[] => (node.t === 'Link' ? node.c[1] : [node]);

const words = (text: string): Inline[] => (text === '' ? [] : [{ t: 'Str', c: text }]);
