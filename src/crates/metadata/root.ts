import { valuesOf, addressesOf, type Graph, type Node } from './graph.ts';
import { isAbsolute } from './ids.ts';
import type { IssueCode, Issues } from './issues.ts';
import { versionIn } from './version.ts';

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
