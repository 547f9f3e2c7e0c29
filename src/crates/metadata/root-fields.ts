import type { CrateMetadata } from '../crate.ts';
import { cut } from './clean.ts';
import { readDate } from './dates.ts';
import { addressesOf, textsOf, valuesOf, type Graph, type Node } from './graph.ts';
import { isBlank } from './ids.ts';
import type { Issues } from './issues.ts';
import { firstOf, labelOf } from './labels.ts';
import { readLicense } from './license.ts';
import { readAuthors, readIdentifiers, readKeywords, readProfiles } from './lists.ts';
import { versionIn } from './version.ts';

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
