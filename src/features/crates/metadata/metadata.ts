/**
 * Reads the bytes of an RO-Crate metadata file, tolerantly: what is odd becomes an issue. The steps are in the other
 * files of this folder. It fetches no context, checks no profile and writes no metadata: other features do.
 */
import { WorkcrateError } from '../../../platform/errors.ts';
import type { CrateMetadata, Entity } from '../crate.ts';
import { isJsonObject, parseMetadataJson, readJsonLdContext, type ContextTerms } from './document.ts';
import { createMetadataIssues, type MetadataGraph, type MetadataIssues, type NodeProperty } from './graph.ts';
import { findDescriptor, findRootEntity, readRootEntity } from './root.ts';
import { buildMetadataGraph } from './walk.ts';

// What a validation reads documents with, since it has to see them as they were written.
export { parseFreeFormDate } from './dates.ts';
export {
  isJsonObject,
  parseMetadataJson,
  readJsonLdContext,
  type ContextTerms,
  type JsonObject,
} from './document.ts';
export { entityIdToPath, missingMark, pathToEntityId } from './file-ids.ts';
export { createMetadataIssues, parseRoCrateVersion } from './graph.ts';
export { toEntityKey } from './ids.ts';

/**
 * Reads the bytes of an `ro-crate-metadata.json`. Whatever is odd is accepted and listed as an issue. Throws
 * `metadata_invalid` only if there is no JSON or no entity in it, and `too_large` if it would not fit in memory.
 */
export function readMetadata(bytes: Uint8Array): CrateMetadata {
  const issues = createMetadataIssues();
  const document = parseMetadataJson(bytes, issues);
  const terms = readJsonLdContext(findContext(document), issues);
  const graph = buildMetadataGraph(findTopLevelEntities(document, terms, issues), terms, issues);
  const descriptor = findDescriptor(graph, issues);
  const root = findRootEntity(graph, descriptor, issues);
  const fields = readRootEntity(graph, root, descriptor, terms.version, issues);
  return { ...fields, entities: takeEntitiesWithoutDescriptor(graph, descriptor), issues: issues.list() };
}

function findContext(document: unknown): unknown {
  const parts: unknown[] = Array.isArray(document) ? document : [document];
  return parts.filter(isJsonObject).find((part) => part['@context'] !== undefined)?.['@context'];
}

/** The top-level entities: of the graph, of several graphs in a list, or of a document without a graph. */
function findTopLevelEntities(document: unknown, terms: ContextTerms, issues: MetadataIssues): unknown[] {
  const graph = isJsonObject(document) ? terms.valueOf(document, '@graph') : undefined;
  if (Array.isArray(graph)) return graph;
  const parts: unknown[] = Array.isArray(document) ? document : [document];
  const tops = parts.flatMap((part) => listEntitiesOfPart(part, terms));
  if (!tops.some(isJsonObject)) throw noCrateError();
  issues.add('no_graph');
  return tops;
}

function listEntitiesOfPart(part: unknown, terms: ContextTerms): unknown[] {
  if (!isJsonObject(part)) return [part];
  const graph = terms.valueOf(part, '@graph');
  if (graph !== undefined) return Array.isArray(graph) ? graph : [graph];
  const { '@context': _, ...entity } = part;
  return (['@id', '@type'] as const).some((keyword) => terms.valueOf(part, keyword) !== undefined)
    ? [entity]
    : [];
}

function noCrateError(): WorkcrateError {
  return new WorkcrateError(
    'metadata_invalid',
    'The metadata is JSON, but describes no crate: it has no @graph list and no entity with an @id or @type.',
  );
}

/** All but the descriptor, which is about the file and not the crate. References to it become texts with its id. */
function takeEntitiesWithoutDescriptor({ nodes }: MetadataGraph, descriptor: number | null): Entity[] {
  if (descriptor !== null) {
    const [left] = nodes.splice(descriptor, 1);
    for (const { properties } of nodes) shiftReferencesAfter(properties, descriptor, left!.id!);
  }
  return nodes as Entity[];
}

/** In place: a copy of everything would cost as much as the walk. */
function shiftReferencesAfter(properties: NodeProperty[], gap: number, id: string): void {
  for (const [at, property] of properties.entries()) {
    if ('text' in property || property.target < gap) continue;
    if (property.target === gap) properties[at] = { name: property.name, text: id };
    else property.target--;
  }
}
