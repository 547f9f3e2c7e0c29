import { WorkcrateError } from '../../errors.ts';
import type { CrateMetadata, Entity } from '../crate.ts';
import { isObject, parseDocument, readContext, type Terms } from './document.ts';
import { collectIssues, type Graph, type Issues, type Value } from './graph.ts';
import { findDescriptor, findRoot, readRoot } from './root.ts';
import { walk } from './walk.ts';

/**
 * What the bytes of an `ro-crate-metadata.json` say. Whatever is odd is taken and listed as an issue. Rejects with
 * `metadata_invalid` only where there is no JSON or nothing that describes an entity, and with `too_large` where it
 * would not fit in memory.
 */
export function readMetadata(bytes: Uint8Array): CrateMetadata {
  const issues = collectIssues();
  const document = parseDocument(bytes, issues);
  const terms = readContext(contextOf(document), issues);
  const graph = walk(topsOf(document, terms, issues), terms, issues);
  const descriptor = findDescriptor(graph, issues);
  const root = findRoot(graph, descriptor, issues);
  const fields = readRoot(graph, root, descriptor, terms.version, issues);
  return { ...fields, entities: entitiesOf(graph, descriptor), issues: issues.list() };
}

function contextOf(document: unknown): unknown {
  const parts: unknown[] = Array.isArray(document) ? document : [document];
  return parts.filter(isObject).find((part) => part['@context'] !== undefined)?.['@context'];
}

/** The entities at the top: of the graph, of several graphs in a list, or what stands there without one. */
function topsOf(document: unknown, terms: Terms, issues: Issues): unknown[] {
  const graph = isObject(document) ? terms.valueOf(document, '@graph') : undefined;
  if (Array.isArray(graph)) return graph;
  const parts: unknown[] = Array.isArray(document) ? document : [document];
  const tops = parts.flatMap((part) => entitiesIn(part, terms));
  if (!tops.some(isObject)) throw noCrate();
  issues.add('no_graph');
  return tops;
}

function entitiesIn(part: unknown, terms: Terms): unknown[] {
  if (!isObject(part)) return [part];
  const graph = terms.valueOf(part, '@graph');
  if (graph !== undefined) return Array.isArray(graph) ? graph : [graph];
  const { '@context': _, ...entity } = part;
  return (['@id', '@type'] as const).some((keyword) => terms.valueOf(part, keyword) !== undefined)
    ? [entity]
    : [];
}

function noCrate(): WorkcrateError {
  return new WorkcrateError(
    'metadata_invalid',
    'The metadata is JSON, but describes no crate: it has no @graph list and no entity with an @id or @type.',
  );
}

/** All but the descriptor, which is about the file and not about the crate; its id stays where it was referred to. */
function entitiesOf({ nodes }: Graph, descriptor: number | null): Entity[] {
  if (descriptor !== null) {
    const [left] = nodes.splice(descriptor, 1);
    for (const { properties } of nodes) closeGap(properties, descriptor, left!.id!);
  }
  return nodes as Entity[];
}

/** In place: a copy of everything would cost as much as the walk. */
function closeGap(properties: Value[], gap: number, id: string): void {
  for (const [at, property] of properties.entries()) {
    if ('text' in property || property.target < gap) continue;
    if (property.target === gap) properties[at] = { name: property.name, text: id };
    else property.target--;
  }
}
