import type { CrateMetadata } from '../crate.ts';
import {
  addressesOf,
  cut,
  firstText,
  isNew,
  textsOf,
  valuesOf,
  versionIn,
  type Graph,
  type Issues,
  type Node,
  type Value,
} from './graph.ts';
import { isAbsolute, isBlank } from './ids.ts';

const longestItem = 500;
const mostItems = 10_000;

/** Who made it: authors, or where there are none, creators. */
export function readAuthors(graph: Graph, root: Node, issues: Issues): string[] {
  const authors = valuesOf(root, 'author');
  const given = authors.length > 0 ? authors : valuesOf(root, 'creator');
  return distinct(authorsIn(graph, given, issues), issues);
}

function* authorsIn(graph: Graph, given: readonly Value[], issues: Issues): Iterable<string> {
  // A text may be the id of an entity, in one spelling or another.
  const seen = new Set<number>();
  for (const property of given) {
    const place = 'target' in property ? property.target : graph.find(property.text.trim());
    if (place === null) yield* writtenAuthors('text' in property ? property.text : '', issues);
    else if (isNew(seen, place)) yield authorName(graph.nodes[place]!, issues);
  }
}

function writtenAuthors(text: string, issues: Issues): string[] {
  if (isAddress(text)) issues.add('author_without_name', text);
  return text.split(';');
}

function authorName(node: Node, issues: Issues): string {
  const name = labelOf(node);
  if (name === null) issues.add('author_without_name', node.id!);
  return name ?? firstOf(node, ['email', 'identifier', 'url']) ?? ownId(node);
}

function isAddress(text: string): boolean {
  return isAbsolute(text) && !/\s/.test(text);
}

/** A lone text holds them all; in a list each stands for itself, and may have a comma in it. */
export function readKeywords(graph: Graph, root: Node, issues: Issues): string[] {
  const values = valuesOf(root, 'keywords');
  const between = values.length === 1 ? /[,;\n]/ : /[;\n]/;
  const words = values.values().flatMap((property) => {
    if ('text' in property) return property.text.split(between);
    const node = graph.nodes[property.target]!;
    return [labelOf(node) ?? firstOf(node, ['termCode']) ?? ownId(node)];
  });
  return distinct(words, issues);
}

/** Nothing where the id means nothing to anybody else. */
function ownId({ id }: Node): string {
  return isBlank(id!) ? '' : id!;
}

/** What it can be cited by: its identifiers, and its own @id where that is one. */
export function readIdentifiers(graph: Graph, root: Node, issues: Issues): string[] {
  return distinct(identifiersIn(graph, root), issues);
}

function* identifiersIn(graph: Graph, root: Node): Iterable<string> {
  for (const property of valuesOf(root, 'identifier')) {
    const node = 'target' in property ? graph.nodes[property.target]! : null;
    if (node !== null) yield firstOf(node, ['value', 'url']) ?? ownId(node);
    else if ('text' in property) yield property.text;
  }
  yield* textsOf(root, 'cite-as');
  if (isAbsolute(root.id!)) yield root.id!;
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

/** In order, each once, none of them blank. What is beyond the bound is not even looked at. */
function distinct(texts: Iterable<string>, issues: Issues): string[] {
  const found = new Set<string>();
  for (const text of texts) {
    const tidy = cut(text.replaceAll(/\s+/g, ' ').trim(), longestItem);
    if (tidy === '' || found.has(tidy)) continue;
    if (found.size >= mostItems) {
      issues.add('too_many_values', tidy);
      break;
    }
    found.add(tidy);
  }
  return [...found];
}

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

type License = NonNullable<CrateMetadata['license']>;

const longest = 1000;

export function readLicense(graph: Graph, root: Node, issues: Issues): License | null {
  const given = valuesOf(root, 'license').filter((value) => 'target' in value || value.text.trim() !== '');
  if (given.length > 1) issues.add('several_licenses');
  const [first] = given;
  if (first === undefined) {
    issues.add('root_without_license');
    return null;
  }
  return shortened('target' in first ? fromEntity(graph, first.target) : fromText(graph, first.text.trim()));
}

/** Some put the whole text of the license there. */
function shortened({ id, name }: License): License {
  const short = (text: string | null): string | null => (text === null ? null : cut(text, longest));
  return { id: short(id), name: short(name) };
}

function fromEntity(graph: Graph, place: number): License {
  const node = graph.nodes[place]!;
  const id = isBlank(node.id!) ? firstOf(node, ['url', 'identifier']) : node.id!;
  return { id, name: labelOf(node) ?? (id === null ? null : wellKnownName(id)) };
}

function fromText(graph: Graph, text: string): License {
  const place = graph.find(text);
  if (place !== null) return fromEntity(graph, place);
  return isAbsolute(text) && !/\s/.test(text)
    ? { id: text, name: wellKnownName(text) }
    : { id: null, name: text };
}

/** Where a crate gives an address and no name, the address often says it: the identifier of SPDX. */
function wellKnownName(address: string): string | null {
  const listed = /(?:spdx|opensource)\.org\/licenses?\/([\w.+-]+?)(?:\.html|\.json)?\/?$/i.exec(address)?.[1];
  if (listed !== undefined) return listed;
  const [, kind, version] = /creativecommons\.org\/licenses\/([a-z-]+)\/(\d\.\d)/i.exec(address) ?? [];
  if (kind !== undefined) return `CC-${kind.toUpperCase()}-${version}`;
  return /creativecommons\.org\/publicdomain\/zero\/1\.0/i.test(address) ? 'CC0-1.0' : null;
}
