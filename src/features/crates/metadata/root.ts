import type { CrateMetadata } from '../crate.ts';
import { parseFreeFormDate } from './dates.ts';
import {
  getReferencedIds,
  truncateMetadataText,
  getPropertyTexts,
  getPropertyValues,
  parseRoCrateVersion,
  type MetadataGraph,
  type MetadataIssueCode,
  type MetadataIssues,
  type GraphNode,
} from './graph.ts';
import { isAbsoluteIri, isBlankNodeId } from './ids.ts';
import {
  getFirstTextOfAny,
  getNodeLabel,
  readCrateAuthors,
  readCrateIdentifiers,
  readCrateKeywords,
  readCrateLicense,
  readCrateProfiles,
} from './lists.ts';

const legacyMetadataName = 'ro-crate-metadata.jsonld';
const descriptorNames = ['ro-crate-metadata.json', legacyMetadataName];

/** The entity of the metadata file: by the rules of the specification, or else by what looks like one. */
export function findDescriptor(graph: MetadataGraph, issues: MetadataIssues): number | null {
  const [exact, legacy] = descriptorNames.map((name) => graph.find(name));
  const named = [exact, legacy].filter((place) => typeof place === 'number');
  const place =
    named.find((place) => hasAboutTarget(graph, place)) ?? named[0] ?? findUnusualDescriptor(graph, issues);
  if (place === null) issues.add('no_descriptor');
  else if (place === legacy) issues.add('legacy_descriptor');
  return place;
}

function hasAboutTarget(graph: MetadataGraph, place: number): boolean {
  return getPropertyValues(graph.nodes[place]!, 'about').some((about) => 'target' in about);
}

/** For crates on the web, or whose ids have a prefix. Entities with such a name may also be plain files. */
function findUnusualDescriptor(graph: MetadataGraph, issues: MetadataIssues): number | null {
  const candidates = graph.nodes.flatMap((node, place) =>
    node.properties.some(({ name }) => name === 'about') && hasAboutTarget(graph, place) ? [place] : [],
  );
  const versioned = candidates.filter((place) => hasRoCrateVersion(graph, graph.nodes[place]!));
  const named = (place: number): boolean =>
    descriptorNames.some((name) => graph.nodes[place]!.id!.endsWith(name));
  const byName = versioned.find(named) ?? candidates.find(named);
  const found = byName ?? versioned[0] ?? null;
  if (found !== null)
    issues.add(
      byName === undefined ? 'descriptor_by_profile' : 'descriptor_elsewhere',
      graph.nodes[found]!.id!,
    );
  return found;
}

function hasRoCrateVersion(graph: MetadataGraph, node: GraphNode): boolean {
  return getReferencedIds(graph, node, 'conformsTo').some((address) => parseRoCrateVersion(address) !== null);
}

/** The entity that describes the crate, or null if there is no entity at all. */
export function findRootEntity(
  graph: MetadataGraph,
  descriptor: number | null,
  issues: MetadataIssues,
): number | null {
  const about = descriptor === null ? [] : getPropertyValues(graph.nodes[descriptor]!, 'about');
  const named = about.find((value) => 'target' in value && value.target !== descriptor);
  const place = named !== undefined && 'target' in named ? named.target : null;
  if (place === null && descriptor !== null)
    issues.add(about.length === 0 ? 'descriptor_without_about' : 'descriptor_about_nothing');
  const root = place ?? guessRootEntity(graph, descriptor, issues);
  if (root !== null) checkRootEntity(graph.nodes[root]!, issues);
  return root;
}

function guessRootEntity(
  graph: MetadataGraph,
  descriptor: number | null,
  issues: MetadataIssues,
): number | null {
  const places = graph.nodes.keys().filter((place) => place !== descriptor);
  const others = Array.from(places);
  const datasets = others.filter((place) => graph.nodes[place]!.types.includes('Dataset'));
  const parts = collectPartTargets(graph);
  const guesses: [MetadataIssueCode, number | null | undefined][] = [
    ['root_by_id', graph.find('./')],
    ['root_by_parts', datasets.find((place) => !parts.has(place))],
    ['root_first_dataset', datasets[0]],
    ['root_first_entity', others[0]],
  ];
  const [code, place] = guesses.find(([, place]) => typeof place === 'number') ?? ['root_missing', null];
  issues.add(code as MetadataIssueCode, place === null ? undefined : graph.nodes[place as number]!.id!);
  return place ?? null;
}

function collectPartTargets(graph: MetadataGraph): Set<number> {
  const parts = new Set<number>();
  for (const { properties } of graph.nodes)
    for (const property of properties)
      if (property.name === 'hasPart' && 'target' in property) parts.add(property.target);
  return parts;
}

function checkRootEntity(root: GraphNode, issues: MetadataIssues): void {
  const id = root.id!;
  if (id !== './' && !isAbsoluteIri(id)) issues.add('root_id_odd', id);
  if (!root.types.includes('Dataset')) issues.add('root_not_dataset', root.types.join(', '));
}

const maxTitleLength = 1000;
const maxReadDescriptionLength = 100_000;
const untitledCrateName = 'Untitled crate';

/** The root of a document without any entity. */
const emptyRootNode: GraphNode = { id: './', types: [], properties: [] };

/** What the root entity says about the crate as a whole. */
export function readRootEntity(
  graph: MetadataGraph,
  rootPlace: number | null,
  descriptorPlace: number | null,
  contextVersion: string | null,
  issues: MetadataIssues,
): Omit<CrateMetadata, 'entities' | 'issues'> {
  const root = rootPlace === null ? emptyRootNode : graph.nodes[rootPlace]!;
  const descriptor = descriptorPlace === null ? null : graph.nodes[descriptorPlace]!;
  return {
    title: readCrateTitle(graph, root, issues),
    description: readCrateDescription(graph, root, issues),
    authors: readCrateAuthors(graph, root, issues),
    keywords: readCrateKeywords(graph, root, issues),
    license: readCrateLicense(graph, root, issues),
    ...readDatePublished(root, issues),
    identifiers: readCrateIdentifiers(graph, root, issues),
    spec: readRoCrateVersion(graph, descriptor, issues) ?? contextVersion,
    profiles: readCrateProfiles(graph, root, descriptor, issues),
    rootId: root.id!,
  };
}

/** Never empty: without a name, it is the name of the main entity, the @id, or untitled. */
function readCrateTitle(graph: MetadataGraph, root: GraphNode, issues: MetadataIssues): string {
  if (getPropertyTexts(root, 'name').length === 0) issues.add('root_without_name');
  const id = ['./', '.'].includes(root.id!) || isBlankNodeId(root.id!) ? null : root.id!;
  const title = getNodeLabel(root) ?? getMainEntityName(graph, root) ?? id ?? '';
  return truncateMetadataText(title.replaceAll(/\s+/g, ' ').trim() || untitledCrateName, maxTitleLength);
}

function getMainEntityName(graph: MetadataGraph, root: GraphNode): string | null {
  const main = getPropertyValues(root, 'mainEntity').find((value) => 'target' in value);
  return main !== undefined && 'target' in main ? getNodeLabel(graph.nodes[main.target]!) : null;
}

function readCrateDescription(graph: MetadataGraph, root: GraphNode, issues: MetadataIssues): string {
  const texts = getPropertyValues(root, 'description')
    .values()
    .map((property) =>
      'text' in property
        ? property.text.trim()
        : getFirstTextOfAny(graph.nodes[property.target]!, ['text', 'name']),
    );
  const description = joinDescriptions(texts);
  if (description.length > maxReadDescriptionLength) issues.add('text_too_long', 'description');
  if (description !== '') return truncateMetadataText(description, maxReadDescriptionLength);
  issues.add('root_without_description');
  return getFirstTextOfAny(root, ['abstract', 'summary']) ?? '';
}

/** Joins paragraphs, and stops once the text is too long. */
function joinDescriptions(texts: Iterable<string | null>): string {
  let all = '';
  for (const text of texts) {
    if (text === null || text === '') continue;
    all += all === '' ? text : `\n\n${text}`;
    if (all.length > maxReadDescriptionLength) break;
  }
  return all;
}

function readDatePublished(
  root: GraphNode,
  issues: MetadataIssues,
): Pick<CrateMetadata, 'published' | 'year'> {
  const texts = getPropertyTexts(root, 'datePublished');
  if (texts.length === 0) issues.add('root_without_date');
  if (texts.length > 1) issues.add('several_dates');
  const date =
    texts
      .values()
      .map(parseFreeFormDate)
      .find((date) => date !== null) ?? null;
  if (date === null && texts.length > 0) issues.add('date_not_readable', texts[0]!);
  if (date?.isIso === false) issues.add('date_not_iso', texts[0]!);
  return { published: date?.iso ?? null, year: date?.year ?? null };
}

function readRoCrateVersion(
  graph: MetadataGraph,
  descriptor: GraphNode | null,
  issues: MetadataIssues,
): string | null {
  const addresses = descriptor === null ? [] : getReferencedIds(graph, descriptor, 'conformsTo');
  const version =
    addresses
      .values()
      .map(parseRoCrateVersion)
      .find((version) => version !== null) ?? null;
  if (version === null && descriptor !== null) issues.add('descriptor_without_version');
  return version;
}
