import type { CrateMetadata } from '../crate.ts';
import { readDate } from './dates.ts';
import {
  addressesOf,
  cut,
  textsOf,
  valuesOf,
  versionIn,
  type Graph,
  type IssueCode,
  type Issues,
  type Node,
} from './graph.ts';
import { isAbsolute, isBlank } from './ids.ts';
import {
  firstOf,
  labelOf,
  readAuthors,
  readIdentifiers,
  readKeywords,
  readLicense,
  readProfiles,
} from './lists.ts';

const legacyName = 'ro-crate-metadata.jsonld';
const names = ['ro-crate-metadata.json', legacyName];

/** The entity that stands for the metadata file, by the rules of the specification, or else by what it looks like. */
export function findDescriptor(graph: Graph, issues: Issues): number | null {
  const [exact, legacy] = names.map((name) => graph.find(name));
  const named = [exact, legacy].filter((place) => typeof place === 'number');
  const place =
    named.find((place) => leadsToRoot(graph, place)) ?? named[0] ?? descriptorElsewhere(graph, issues);
  if (place === null) issues.add('no_descriptor');
  else if (place === legacy) issues.add('legacy_descriptor');
  return place;
}

function leadsToRoot(graph: Graph, place: number): boolean {
  return valuesOf(graph.nodes[place]!, 'about').some((about) => 'target' in about);
}

/** Of a crate that is somewhere on the web, or was given a prefix; entities of that name may also be plain files. */
function descriptorElsewhere(graph: Graph, issues: Issues): number | null {
  const candidates = graph.nodes.flatMap((node, place) =>
    node.properties.some(({ name }) => name === 'about') && leadsToRoot(graph, place) ? [place] : [],
  );
  const versioned = candidates.filter((place) => isVersioned(graph, graph.nodes[place]!));
  const named = (place: number): boolean => names.some((name) => graph.nodes[place]!.id!.endsWith(name));
  const byName = versioned.find(named) ?? candidates.find(named);
  const found = byName ?? versioned[0] ?? null;
  if (found !== null)
    issues.add(
      byName === undefined ? 'descriptor_by_profile' : 'descriptor_elsewhere',
      graph.nodes[found]!.id!,
    );
  return found;
}

function isVersioned(graph: Graph, node: Node): boolean {
  return addressesOf(graph, node, 'conformsTo').some((address) => versionIn(address) !== null);
}

/** The entity that stands for the crate, or null where there is none at all. */
export function findRoot(graph: Graph, descriptor: number | null, issues: Issues): number | null {
  const about = descriptor === null ? [] : valuesOf(graph.nodes[descriptor]!, 'about');
  const named = about.find((value) => 'target' in value && value.target !== descriptor);
  const place = named !== undefined && 'target' in named ? named.target : null;
  if (place === null && descriptor !== null)
    issues.add(about.length === 0 ? 'descriptor_without_about' : 'descriptor_about_nothing');
  const root = place ?? guessRoot(graph, descriptor, issues);
  if (root !== null) judgeRoot(graph.nodes[root]!, issues);
  return root;
}

function guessRoot(graph: Graph, descriptor: number | null, issues: Issues): number | null {
  const places = graph.nodes.keys().filter((place) => place !== descriptor);
  const others = Array.from(places);
  const datasets = others.filter((place) => graph.nodes[place]!.types.includes('Dataset'));
  const parts = partsOf(graph);
  const guesses: [IssueCode, number | null | undefined][] = [
    ['root_by_id', graph.find('./')],
    ['root_by_parts', datasets.find((place) => !parts.has(place))],
    ['root_first_dataset', datasets[0]],
    ['root_first_entity', others[0]],
  ];
  const [code, place] = guesses.find(([, place]) => typeof place === 'number') ?? ['root_missing', null];
  issues.add(code as IssueCode, place === null ? undefined : graph.nodes[place as number]!.id!);
  return place ?? null;
}

function partsOf(graph: Graph): Set<number> {
  const parts = new Set<number>();
  for (const { properties } of graph.nodes)
    for (const property of properties)
      if (property.name === 'hasPart' && 'target' in property) parts.add(property.target);
  return parts;
}

function judgeRoot(root: Node, issues: Issues): void {
  const id = root.id!;
  if (id !== './' && !isAbsolute(id)) issues.add('root_id_odd', id);
  if (!root.types.includes('Dataset')) issues.add('root_not_dataset', root.types.join(', '));
}

const longestTitle = 1000;
const longestDescription = 100_000;
const untitled = 'Untitled crate';

/** Stands for the root of a document that has no entity at all. */
const nothing: Node = { id: './', types: [], properties: [] };

/** What the root entity says about the crate as a whole. */
export function readRoot(
  graph: Graph,
  rootPlace: number | null,
  descriptorPlace: number | null,
  contextVersion: string | null,
  issues: Issues,
): Omit<CrateMetadata, 'entities' | 'issues'> {
  const root = rootPlace === null ? nothing : graph.nodes[rootPlace]!;
  const descriptor = descriptorPlace === null ? null : graph.nodes[descriptorPlace]!;
  return {
    title: readTitle(graph, root, issues),
    description: readDescription(graph, root, issues),
    authors: readAuthors(graph, root, issues),
    keywords: readKeywords(graph, root, issues),
    license: readLicense(graph, root, issues),
    ...readPublished(root, issues),
    identifiers: readIdentifiers(graph, root, issues),
    spec: readVersion(graph, descriptor, issues) ?? contextVersion,
    profiles: readProfiles(graph, root, descriptor, issues),
    rootId: root.id!,
  };
}

/** Never empty: what has no name is called by what it is mostly about, by its @id, or untitled. */
function readTitle(graph: Graph, root: Node, issues: Issues): string {
  if (textsOf(root, 'name').length === 0) issues.add('root_without_name');
  const id = ['./', '.'].includes(root.id!) || isBlank(root.id!) ? null : root.id!;
  const title = labelOf(root) ?? mainName(graph, root) ?? id ?? '';
  return cut(title.replaceAll(/\s+/g, ' ').trim() || untitled, longestTitle);
}

function mainName(graph: Graph, root: Node): string | null {
  const main = valuesOf(root, 'mainEntity').find((value) => 'target' in value);
  return main !== undefined && 'target' in main ? labelOf(graph.nodes[main.target]!) : null;
}

function readDescription(graph: Graph, root: Node, issues: Issues): string {
  const texts = valuesOf(root, 'description')
    .values()
    .map((property) =>
      'text' in property ? property.text.trim() : firstOf(graph.nodes[property.target]!, ['text', 'name']),
    );
  const description = joined(texts);
  if (description.length > longestDescription) issues.add('text_too_long', 'description');
  if (description !== '') return cut(description, longestDescription);
  issues.add('root_without_description');
  return firstOf(root, ['abstract', 'summary']) ?? '';
}

/** Paragraphs, as many as are needed to be too long. */
function joined(texts: Iterable<string | null>): string {
  let all = '';
  for (const text of texts) {
    if (text === null || text === '') continue;
    all += all === '' ? text : `\n\n${text}`;
    if (all.length > longestDescription) break;
  }
  return all;
}

function readPublished(root: Node, issues: Issues): Pick<CrateMetadata, 'published' | 'year'> {
  const texts = textsOf(root, 'datePublished');
  if (texts.length === 0) issues.add('root_without_date');
  if (texts.length > 1) issues.add('several_dates');
  const date =
    texts
      .values()
      .map(readDate)
      .find((date) => date !== null) ?? null;
  if (date === null && texts.length > 0) issues.add('date_not_readable', texts[0]!);
  if (date?.isIso === false) issues.add('date_not_iso', texts[0]!);
  return { published: date?.iso ?? null, year: date?.year ?? null };
}

function readVersion(graph: Graph, descriptor: Node | null, issues: Issues): string | null {
  const addresses = descriptor === null ? [] : addressesOf(graph, descriptor, 'conformsTo');
  const version =
    addresses
      .values()
      .map(versionIn)
      .find((version) => version !== null) ?? null;
  if (version === null && descriptor !== null) issues.add('descriptor_without_version');
  return version;
}
