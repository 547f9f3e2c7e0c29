import { cut } from './clean.ts';
import { addressesOf, textsOf, valuesOf, type Graph, type Node, type Value } from './graph.ts';
import { isAbsolute, isBlank } from './ids.ts';
import type { Issues } from './issues.ts';
import { firstOf, labelOf } from './labels.ts';
import { versionIn } from './version.ts';

const longestItem = 500;
const mostItems = 10_000;

/** Who made it: authors, or where there are none, creators. */
export function readAuthors(graph: Graph, root: Node, issues: Issues): string[] {
  const authors = valuesOf(root, 'author');
  const given = authors.length > 0 ? authors : valuesOf(root, 'creator');
  return distinct(
    given.flatMap((property) => authorsIn(graph, property, issues)),
    issues,
  );
}

function authorsIn(graph: Graph, property: Value, issues: Issues): string[] {
  if ('text' in property) {
    const place = graph.find(property.text.trim());
    if (place !== null) return [authorName(graph.nodes[place]!, issues)];
    if (isAddress(property.text)) issues.add('author_without_name', property.text);
    return property.text.split(';');
  }
  return [authorName(graph.nodes[property.target]!, issues)];
}

function authorName(node: Node, issues: Issues): string {
  const name = labelOf(node);
  if (name === null) issues.add('author_without_name', node.id!);
  return name ?? firstOf(node, ['email', 'identifier', 'url']) ?? (isBlank(node.id!) ? '' : node.id!);
}

function isAddress(text: string): boolean {
  return isAbsolute(text) && !/\s/.test(text);
}

/** A lone text holds them all; in a list each stands for itself, and may have a comma in it. */
export function readKeywords(graph: Graph, root: Node, issues: Issues): string[] {
  const values = valuesOf(root, 'keywords');
  const between = values.length === 1 ? /[,;\n]/ : /[;\n]/;
  const words = values.flatMap((property) => {
    if ('text' in property) return property.text.split(between);
    const node = graph.nodes[property.target]!;
    return labelOf(node) ?? firstOf(node, ['termCode']) ?? (isBlank(node.id!) ? [] : node.id!);
  });
  return distinct(words, issues);
}

/** What it can be cited by: its identifiers, and its own @id where that is one. */
export function readIdentifiers(graph: Graph, root: Node, issues: Issues): string[] {
  const given = valuesOf(root, 'identifier').flatMap((property) => {
    if ('text' in property) return property.text;
    const node = graph.nodes[property.target]!;
    return firstOf(node, ['value', 'url']) ?? (isBlank(node.id!) ? [] : node.id!);
  });
  const own = isAbsolute(root.id!) ? [root.id!] : [];
  return distinct([...given, ...textsOf(root, 'cite-as'), ...own], issues);
}

/** Profiles of the root; crates of 1.1 and before could name them at the descriptor. */
export function readProfiles(graph: Graph, root: Node, descriptor: Node | null, issues: Issues): string[] {
  const nodes = descriptor === null ? [root] : [root, descriptor];
  const addresses = nodes.flatMap((node) => addressesOf(graph, node, 'conformsTo'));
  return distinct(
    addresses.filter((address) => versionIn(address) === null && !isBlank(address)),
    issues,
  );
}

/** In order, each once, none of them blank. */
function distinct(texts: readonly string[], issues: Issues): string[] {
  const found = new Set<string>();
  for (const text of texts) {
    const tidy = cut(text.replaceAll(/\s+/g, ' ').trim(), longestItem);
    if (tidy === '' || found.has(tidy)) continue;
    if (found.size >= mostItems) issues.add('too_many_values', tidy);
    else found.add(tidy);
  }
  return [...found];
}
