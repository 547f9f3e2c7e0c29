import { firstText, type Node } from './graph.ts';

/** What an entity is called, where it says so. */
export function labelOf(node: Node): string | null {
  return firstText(node, 'name') ?? personName(node) ?? firstOf(node, ['alternateName', 'headline', 'title']);
}

function personName(node: Node): string | null {
  const parts = ['givenName', 'familyName'].flatMap((name) => firstText(node, name) ?? []);
  return parts.length === 0 ? null : parts.join(' ');
}

export function firstOf(node: Node, names: readonly string[]): string | null {
  for (const name of names) {
    const text = firstText(node, name);
    if (text !== null) return text;
  }
  return null;
}
