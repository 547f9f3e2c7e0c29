/** A property while the document is read: places move when the descriptor leaves the list. */
export type Value =
  | { readonly name: string; readonly text: string }
  | { readonly name: string; target: number };

/** An entity while the document is read. */
export interface Node {
  /** Null until all others are known, where the document gives none. */
  id: string | null;
  readonly types: string[];
  readonly properties: Value[];
}

/** All entities of a document in one list, with references as places in it. */
export interface Graph {
  readonly nodes: Node[];
  /** The place of an entity by its id. */
  find(id: string): number | null;
}

/** The values of a property, in order. */
export function valuesOf(node: Node, name: string): Value[] {
  return node.properties.filter((property) => property.name === name);
}

/** The texts of a property, of which blank ones say nothing. */
export function textsOf(node: Node, name: string): string[] {
  return valuesOf(node, name).flatMap((property) => ('text' in property ? property.text.trim() || [] : []));
}

/** Ids that a property refers to, of entities or of anything in the world. */
export function addressesOf(graph: Graph, node: Node, name: string): string[] {
  return valuesOf(node, name).flatMap((property) =>
    'text' in property ? property.text.trim() || [] : (graph.nodes[property.target]?.id ?? []),
  );
}
