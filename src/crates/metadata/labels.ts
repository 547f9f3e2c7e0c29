import { textsOf, type Node } from './graph.ts';

/** What an entity is called, where it says so. */
export function labelOf(node: Node): string | null {
  return (
    textsOf(node, 'name')[0] ?? personName(node) ?? firstOf(node, ['alternateName', 'headline', 'title'])
  );
}

function personName(node: Node): string | null {
  const parts = ['givenName', 'familyName'].flatMap((name) => textsOf(node, name).slice(0, 1));
  return parts.length === 0 ? null : parts.join(' ');
}

export function firstOf(node: Node, names: readonly string[]): string | null {
  for (const name of names) {
    const [text] = textsOf(node, name);
    if (text !== undefined) return text;
  }
  return null;
}
