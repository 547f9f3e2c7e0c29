import type { CrateIssue } from '../crate.ts';

/** A property while the document is read: places move when the descriptor leaves the list. */
export type NodeProperty =
  | { readonly name: string; readonly text: string }
  | { readonly name: string; target: number };

/** An entity while the document is read. */
export interface GraphNode {
  /** Null until all others are known, where the document gives none. */
  id: string | null;
  readonly types: string[];
  readonly properties: NodeProperty[];
}

/** All entities of a document in one list, with references as places in it. */
export interface MetadataGraph {
  readonly nodes: GraphNode[];
  /** The place of an entity by its id. */
  find(id: string): number | null;
}

/**
 * The values of a property, in order; each entity once, since nobody should have to look at the same one for each of
 * a million references to it.
 */
export function getPropertyValues(node: GraphNode, name: string): NodeProperty[] {
  const targets = new Set<number>();
  return node.properties.filter((property) => {
    if (property.name !== name) return false;
    return 'text' in property || addIfNew(targets, property.target);
  });
}

/** Whether a place was not in the set, where it now is. */
export function addIfNew(places: Set<number>, place: number): boolean {
  const before = places.size;
  return places.add(place).size > before;
}

/** The texts of a property, of which blank ones say nothing. */
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

/** Ids that a property refers to, of entities or of anything in the world. */
export function getReferencedIds(graph: MetadataGraph, node: GraphNode, name: string): string[] {
  return getPropertyValues(node, name).flatMap((property) =>
    'text' in property ? property.text.trim() || [] : (graph.nodes[property.target]?.id ?? []),
  );
}

/** Everything odd that a crate can be taken with, and what was made of it. */
const issueMessages = {
  byte_order_mark: 'The metadata starts with a byte order mark, which was passed over.',
  not_utf8: 'The metadata is not UTF-8. It was read as well as could be; some letters may be wrong.',
  no_graph: 'The metadata has no @graph list. What stands there was flattened into one.',
  context_missing: 'There is no @context, so names were taken as they stand.',
  context_not_readable: 'A part of the @context is no address and no list of terms. It was passed over.',
  context_within: 'An entity has a @context of its own, which was passed over.',
  no_descriptor: 'No entity describes the metadata file (ro-crate-metadata.json).',
  legacy_descriptor: 'The descriptor has the old name ro-crate-metadata.jsonld.',
  descriptor_elsewhere: 'The @id of the descriptor is not ro-crate-metadata.json but only ends so.',
  descriptor_by_profile: 'The descriptor has another name and was known by what it conforms to.',
  descriptor_without_about: 'The descriptor does not say which entity is the root.',
  descriptor_about_nothing: 'The descriptor names a root that is not there.',
  descriptor_without_version: 'The descriptor does not say which version of RO-Crate it conforms to.',
  root_by_id: 'The root was taken to be the entity ./',
  root_by_parts: 'The root was taken to be the Dataset that is part of no other.',
  root_first_dataset: 'The root was taken to be the first Dataset.',
  root_first_entity: 'The root was taken to be the first entity, since there is no Dataset.',
  root_missing: 'There is no entity that could be the root.',
  root_id_odd: 'The @id of the root is neither ./ nor an absolute address.',
  root_not_dataset: 'The root is not a Dataset.',
  root_without_name: 'The root has no name.',
  root_without_description: 'The root has no description.',
  root_without_date: 'The root has no datePublished.',
  root_without_license: 'The root has no license.',
  date_not_iso: 'The datePublished is not in the form of ISO 8601. It was read as far as it is clear.',
  date_not_readable: 'The datePublished is no date.',
  several_dates: 'There are several values of datePublished. The first that can be read was taken.',
  several_licenses: 'There are several licenses. The first was taken.',
  author_without_name: 'An author has no name, and the @id stands for it.',
  duplicate_id: 'An @id is used more than once. The entities were merged.',
  id_missing: 'An entity has no @id and was given one.',
  id_not_text: 'An @id is not a text.',
  id_too_long: 'An @id is too long and was cut.',
  id_with_space: 'An @id has spaces, which should be written %20.',
  id_absolute_path: 'An @id is a path on somebody’s machine.',
  id_outside: 'An @id leads out of the crate with `..`.',
  id_backslash: 'An @id has a backslash where a slash should be.',
  type_missing: 'An entity has no @type.',
  type_not_text: 'A @type is not a text.',
  too_many_types: 'An entity has too many types. The rest was passed over.',
  not_an_entity: 'Something in the @graph is no entity and was passed over.',
  nested_entity: 'An entity stands within another instead of being referred to. It was moved to the list.',
  nested_list: 'A list stands within a list. It was flattened.',
  nested_too_deeply: 'Something is nested too deeply and was passed over.',
  value_not_readable: 'A @value is neither text, number nor truth value. It was passed over.',
  reverse_not_readable: 'A @reverse does not lead to an entity. It was passed over.',
  name_empty: 'A property or type has no name and was passed over.',
  too_many_names:
    'There are too many different names of properties and types. Further ones were passed over.',
  name_too_long: 'The name of a property or type is too long and was cut.',
  text_too_long: 'A text is too long and was cut.',
  character_replaced: 'A text holds NUL or half a character, which was replaced.',
  reference_respelt: 'A reference spells the @id in another way than the entity does.',
  reference_to_nothing: 'A reference leads to no entity of the crate.',
  too_many_values: 'There are too many authors, keywords, identifiers or profiles. The rest was passed over.',
} as const;

export type MetadataIssueCode = keyof typeof issueMessages;

/** What is odd about one crate, each kind once, with the first example and a count. */
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
  return `${issueMessages[code]} Such as: ${replaceUnstorableCharacters(truncateMetadataText(example, maxIssueExampleLength).replaceAll(/\s+/g, ' '))}`;
}

/** Whether a text can be stored as it is: PostgreSQL refuses NUL, and half a character is no UTF-8. */
export function isStorableText(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}

export function replaceUnstorableCharacters(text: string): string {
  return isStorableText(text) ? text : text.toWellFormed().replaceAll('\0', '\u{fffd}');
}

/** The start of a text, splitting no character; an ellipsis shows that it was cut. */
export function truncateMetadataText(text: string, most: number): string {
  if (text.length <= most) return text;
  const end = text.codePointAt(most - 2)! > 0xffff ? most - 2 : most - 1;
  return `${text.slice(0, end)}…`;
}

/** `https://w3id.org/ro/crate/1.1`, `https://w3id.org/ro/crate/1.2-DRAFT/context`, `https://…/ro-crate/1.0/`. */
const roCrateVersionPattern =
  /\/ro[/-]crate\/v?(\d{1,3}\.\d{1,3}(?:\.\d{1,3})?(?:-[A-Za-z0-9.]{1,20})?)(?=[/#?]|\s*$)/;

/** The version of RO-Crate that an address names, or null where it is the address of something else. */
export function parseRoCrateVersion(address: string): string | null {
  return roCrateVersionPattern.exec(address.slice(0, 1000))?.[1] ?? null;
}
