import type { CrateIssue } from '../crate.ts';

/** A property while the document is read. `target` is mutable: indexes shift when the descriptor is removed. */
export type NodeProperty =
  | { readonly name: string; readonly text: string }
  | { readonly name: string; target: number };

/** An entity while the document is read. */
export interface GraphNode {
  /** Null until all others are known, if the document gives none. */
  id: string | null;
  readonly types: string[];
  readonly properties: NodeProperty[];
}

/** All entities of a document in one list, with references as indexes of it. */
export interface MetadataGraph {
  readonly nodes: GraphNode[];
  /** The index of an entity by its id. */
  find(id: string): number | null;
}

/**
 * The values of a property, in order. Each entity is given once, since there may be a million references to the same
 * one.
 */
export function getPropertyValues(node: GraphNode, name: string): NodeProperty[] {
  const targets = new Set<number>();
  return node.properties.filter((property) => {
    if (property.name !== name) return false;
    return 'text' in property || addIfNew(targets, property.target);
  });
}

/** Adds an index to the set; true if it was not in it. */
export function addIfNew(places: Set<number>, place: number): boolean {
  const before = places.size;
  return places.add(place).size > before;
}

/** The texts of a property, without blank ones. */
export function getPropertyTexts(node: GraphNode, name: string): string[] {
  return getPropertyValues(node, name).flatMap((property) =>
    'text' in property ? property.text.trim() || [] : [],
  );
}

/** The first text of a property that is not blank. */
export function getFirstText(node: GraphNode, name: string): string | null {
  for (const property of node.properties) {
    if (property.name !== name || !('text' in property)) continue;
    const text = property.text.trim();
    if (text !== '') return text;
  }
  return null;
}

/** Ids that a property refers to, of entities of the crate or of anything else. */
export function getReferencedIds(graph: MetadataGraph, node: GraphNode, name: string): string[] {
  return getPropertyValues(node, name).flatMap((property) =>
    'text' in property ? property.text.trim() || [] : (graph.nodes[property.target]?.id ?? []),
  );
}

/** All problems that a crate is accepted with, and how each was handled. */
const issueMessages = {
  byte_order_mark: 'The metadata starts with a byte order mark, which was ignored.',
  not_utf8: 'The metadata is not UTF-8. It was decoded as well as possible; some letters may be wrong.',
  no_graph: 'The metadata has no @graph list. Its entities were collected into one.',
  context_missing: 'There is no @context, so names were used as they are.',
  context_not_readable: 'A part of the @context is neither an address nor a list of terms. It was ignored.',
  context_within: 'An entity has a @context of its own, which was ignored.',
  no_descriptor: 'No entity describes the metadata file (ro-crate-metadata.json).',
  legacy_descriptor: 'The descriptor has the old name ro-crate-metadata.jsonld.',
  descriptor_elsewhere:
    'The @id of the descriptor ends in ro-crate-metadata.json, but has something before it.',
  descriptor_by_profile: 'The descriptor has another name. It was recognized by what it conforms to.',
  descriptor_without_about: 'The descriptor does not say which entity is the root.',
  descriptor_about_nothing: 'The descriptor names a root entity that does not exist.',
  descriptor_without_version: 'The descriptor does not say which version of RO-Crate it conforms to.',
  root_by_id: 'The entity ./ was used as the root.',
  root_by_parts: 'The Dataset that is not part of another one was used as the root.',
  root_first_dataset: 'The first Dataset was used as the root.',
  root_first_entity: 'There is no Dataset, so the first entity was used as the root.',
  root_missing: 'There is no entity that could be the root.',
  root_id_odd: 'The @id of the root is neither ./ nor an absolute address.',
  root_not_dataset: 'The root is not a Dataset.',
  root_without_name: 'The root has no name.',
  root_without_description: 'The root has no description.',
  root_without_date: 'The root has no datePublished.',
  root_without_license: 'The root has no license.',
  date_not_iso: 'The datePublished is not in ISO 8601 format. It was read as far as it is unambiguous.',
  date_not_readable: 'The datePublished is not a date.',
  several_dates: 'There are several values of datePublished. The first readable one was used.',
  several_licenses: 'There are several licenses. The first was used.',
  author_without_name: 'An author has no name. The @id is shown instead.',
  duplicate_id: 'An @id is used more than once. The entities were merged.',
  id_missing: 'An entity has no @id and was given one.',
  id_not_text: 'An @id is not text.',
  id_too_long: 'An @id is too long and was shortened.',
  id_with_space: 'An @id contains spaces, which should be written as %20.',
  id_absolute_path: 'An @id is an absolute path on somebody’s machine.',
  id_outside: 'An @id leads outside of the crate with `..`.',
  id_backslash: 'An @id contains a backslash where a slash should be.',
  type_missing: 'An entity has no @type.',
  type_not_text: 'A @type is not text.',
  too_many_types: 'An entity has too many types. The rest were ignored.',
  not_an_entity: 'Something in the @graph is not an entity. It was ignored.',
  nested_entity: 'An entity is nested inside another instead of being referenced. It was moved to the list.',
  nested_list: 'A list is nested inside a list. It was flattened.',
  nested_too_deeply: 'Something is nested too deeply. It was ignored.',
  value_not_readable: 'A @value is neither text, a number nor a boolean. It was ignored.',
  reverse_not_readable: 'A @reverse does not lead to an entity. It was ignored.',
  name_empty: 'A property or type has no name. It was ignored.',
  too_many_names: 'There are too many different names of properties and types. The rest were ignored.',
  name_too_long: 'The name of a property or type is too long and was shortened.',
  text_too_long: 'A text is too long and was shortened.',
  character_replaced: 'A text contains NUL or half of a character, which was replaced.',
  reference_respelt: 'A reference spells the @id differently from the entity.',
  reference_to_nothing: 'A reference leads to no entity of the crate.',
  too_many_values: 'There are too many authors, keywords, identifiers or profiles. The rest were ignored.',
} as const;

export type MetadataIssueCode = keyof typeof issueMessages;

/** The problems of one crate: each kind once, with the first example and a count. */
export interface MetadataIssues {
  add(code: MetadataIssueCode, example?: string): void;
  list(): CrateIssue[];
}

const maxIssueExampleLength = 100;

export function createMetadataIssues(): MetadataIssues {
  const found = new Map<MetadataIssueCode, { example: string | undefined; count: number }>();
  return {
    add(code, example) {
      const known = found.get(code);
      if (known === undefined) found.set(code, { example, count: 1 });
      else known.count++;
    },
    list: () =>
      Array.from(found, ([code, { example, count }]) => ({
        code,
        message: formatIssueMessage(code, example),
        count,
      })),
  };
}

function formatIssueMessage(code: MetadataIssueCode, example: string | undefined): string {
  if (example === undefined || example.trim() === '') return issueMessages[code];
  return `${issueMessages[code]} For example: ${replaceUnstorableCharacters(truncateMetadataText(example, maxIssueExampleLength).replaceAll(/\s+/g, ' '))}`;
}

/** Whether a text can be stored unchanged: PostgreSQL rejects NUL, and a lone surrogate is not UTF-8. */
export function isStorableText(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}

export function replaceUnstorableCharacters(text: string): string {
  return isStorableText(text) ? text : text.toWellFormed().replaceAll('\0', '\u{fffd}');
}

/** The start of a text, without splitting a character; an ellipsis shows that it was shortened. */
export function truncateMetadataText(text: string, most: number): string {
  if (text.length <= most) return text;
  const end = text.codePointAt(most - 2)! > 0xffff ? most - 2 : most - 1;
  return `${text.slice(0, end)}…`;
}

/** `https://w3id.org/ro/crate/1.1`, `https://w3id.org/ro/crate/1.2-DRAFT/context`, `https://…/ro-crate/1.0/`. */
const roCrateVersionPattern =
  /\/ro[/-]crate\/v?(\d{1,3}\.\d{1,3}(?:\.\d{1,3})?(?:-[A-Za-z0-9.]{1,20})?)(?=[/#?]|\s*$)/;

/** The version of RO-Crate that an address names, or null if it is the address of something else. */
export function parseRoCrateVersion(address: string): string | null {
  return roCrateVersionPattern.exec(address.slice(0, 1000))?.[1] ?? null;
}
