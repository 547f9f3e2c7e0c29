import type { CrateMetadata } from '../crate.ts';
import {
  getReferencedIds,
  truncateMetadataText,
  getFirstText,
  addIfNew,
  getPropertyTexts,
  getPropertyValues,
  parseRoCrateVersion,
  type MetadataGraph,
  type MetadataIssues,
  type GraphNode,
  type NodeProperty,
} from './graph.ts';
import { isAbsoluteIri, isBlankNodeId } from './ids.ts';

const maxMetadataItemLength = 500;
const maxMetadataItems = 10_000;

/** The authors, or if there are none, the creators. */
export function readCrateAuthors(graph: MetadataGraph, root: GraphNode, issues: MetadataIssues): string[] {
  const authors = getPropertyValues(root, 'author');
  const given = authors.length > 0 ? authors : getPropertyValues(root, 'creator');
  return collectDistinctTexts(listAuthorNames(graph, given, issues), issues);
}

function* listAuthorNames(
  graph: MetadataGraph,
  given: readonly NodeProperty[],
  issues: MetadataIssues,
): Iterable<string> {
  // A text may be the id of an entity, in one spelling or another.
  const seen = new Set<number>();
  for (const property of given) {
    const place = 'target' in property ? property.target : graph.find(property.text.trim());
    if (place === null) yield* splitAuthorText('text' in property ? property.text : '', issues);
    else if (addIfNew(seen, place)) yield readAuthorName(graph.nodes[place]!, issues);
  }
}

function splitAuthorText(text: string, issues: MetadataIssues): string[] {
  if (isIriText(text)) issues.add('author_without_name', text);
  return text.split(';');
}

function readAuthorName(node: GraphNode, issues: MetadataIssues): string {
  const name = getNodeLabel(node);
  if (name === null) issues.add('author_without_name', node.id!);
  return name ?? getFirstTextOfAny(node, ['email', 'identifier', 'url']) ?? getMeaningfulId(node);
}

function isIriText(text: string): boolean {
  return isAbsoluteIri(text) && !/\s/.test(text);
}

/** A single text may have several keywords, separated by commas. In a list each text is one, and may have a comma. */
export function readCrateKeywords(graph: MetadataGraph, root: GraphNode, issues: MetadataIssues): string[] {
  const values = getPropertyValues(root, 'keywords');
  const between = values.length === 1 ? /[,;\n]/ : /[;\n]/;
  const words = values.values().flatMap((property) => {
    if ('text' in property) return property.text.split(between);
    const node = graph.nodes[property.target]!;
    return [getNodeLabel(node) ?? getFirstTextOfAny(node, ['termCode']) ?? getMeaningfulId(node)];
  });
  return collectDistinctTexts(words, issues);
}

/** Empty for a blank node, whose id means nothing outside of its document. */
function getMeaningfulId({ id }: GraphNode): string {
  return isBlankNodeId(id!) ? '' : id!;
}

/** What it can be cited by: its identifiers, and its own @id if that is absolute. */
export function readCrateIdentifiers(
  graph: MetadataGraph,
  root: GraphNode,
  issues: MetadataIssues,
): string[] {
  return collectDistinctTexts(listIdentifiers(graph, root), issues);
}

function* listIdentifiers(graph: MetadataGraph, root: GraphNode): Iterable<string> {
  for (const property of getPropertyValues(root, 'identifier')) {
    const node = 'target' in property ? graph.nodes[property.target]! : null;
    if (node !== null) yield getFirstTextOfAny(node, ['value', 'url']) ?? getMeaningfulId(node);
    else if ('text' in property) yield property.text;
  }
  yield* getPropertyTexts(root, 'cite-as');
  if (isAbsoluteIri(root.id!)) yield root.id!;
}

/** Profiles of the root. Crates up to 1.1 may name them at the descriptor. */
export function readCrateProfiles(
  graph: MetadataGraph,
  root: GraphNode,
  descriptor: GraphNode | null,
  issues: MetadataIssues,
): string[] {
  const nodes = descriptor === null ? [root] : [root, descriptor];
  const addresses = nodes.flatMap((node) => getReferencedIds(graph, node, 'conformsTo'));
  return collectDistinctTexts(
    addresses.filter((address) => parseRoCrateVersion(address) === null && !isBlankNodeId(address)),
    issues,
  );
}

/** In order, each once, without blank ones. What is beyond the limit is not even read. */
function collectDistinctTexts(texts: Iterable<string>, issues: MetadataIssues): string[] {
  const found = new Set<string>();
  for (const text of texts) {
    const tidy = truncateMetadataText(text.replaceAll(/\s+/g, ' ').trim(), maxMetadataItemLength);
    if (tidy === '' || found.has(tidy)) continue;
    if (found.size >= maxMetadataItems) {
      issues.add('too_many_values', tidy);
      break;
    }
    found.add(tidy);
  }
  return [...found];
}

/** The name of an entity, or null if it has none. */
export function getNodeLabel(node: GraphNode): string | null {
  return (
    getFirstText(node, 'name') ??
    readPersonName(node) ??
    getFirstTextOfAny(node, ['alternateName', 'headline', 'title'])
  );
}

function readPersonName(node: GraphNode): string | null {
  const parts = ['givenName', 'familyName'].flatMap((name) => getFirstText(node, name) ?? []);
  return parts.length === 0 ? null : parts.join(' ');
}

export function getFirstTextOfAny(node: GraphNode, names: readonly string[]): string | null {
  for (const name of names) {
    const text = getFirstText(node, name);
    if (text !== null) return text;
  }
  return null;
}

type CrateLicense = NonNullable<CrateMetadata['license']>;

const maxLicenseLength = 1000;

export function readCrateLicense(
  graph: MetadataGraph,
  root: GraphNode,
  issues: MetadataIssues,
): CrateLicense | null {
  const given = getPropertyValues(root, 'license').filter(
    (value) => 'target' in value || value.text.trim() !== '',
  );
  if (given.length > 1) issues.add('several_licenses');
  const [first] = given;
  if (first === undefined) {
    issues.add('root_without_license');
    return null;
  }
  return truncateLicense(
    'target' in first ? readLicenseEntity(graph, first.target) : readLicenseText(graph, first.text.trim()),
  );
}

/** Some crates put the whole text of the license there. */
function truncateLicense({ id, name }: CrateLicense): CrateLicense {
  const short = (text: string | null): string | null =>
    text === null ? null : truncateMetadataText(text, maxLicenseLength);
  return { id: short(id), name: short(name) };
}

function readLicenseEntity(graph: MetadataGraph, place: number): CrateLicense {
  const node = graph.nodes[place]!;
  const id = isBlankNodeId(node.id!) ? getFirstTextOfAny(node, ['url', 'identifier']) : node.id!;
  return { id, name: getNodeLabel(node) ?? (id === null ? null : findSpdxName(id)) };
}

function readLicenseText(graph: MetadataGraph, text: string): CrateLicense {
  const place = graph.find(text);
  if (place !== null) return readLicenseEntity(graph, place);
  return isAbsoluteIri(text) && !/\s/.test(text)
    ? { id: text, name: findSpdxName(text) }
    : { id: null, name: text };
}

/** If a crate gives an address but no name, the address often contains the SPDX identifier. */
function findSpdxName(address: string): string | null {
  const listed = /(?:spdx|opensource)\.org\/licenses?\/([\w.+-]+?)(?:\.html|\.json)?\/?$/i.exec(address)?.[1];
  if (listed !== undefined) return listed;
  const [, kind, version] = /creativecommons\.org\/licenses\/([a-z-]+)\/(\d\.\d)/i.exec(address) ?? [];
  if (kind !== undefined) return `CC-${kind.toUpperCase()}-${version}`;
  return /creativecommons\.org\/publicdomain\/zero\/1\.0/i.test(address) ? 'CC0-1.0' : null;
}
