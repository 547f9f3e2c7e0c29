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

/**
 * The values of a property, in order; each entity once, since nobody should have to look at the same one for each of
 * a million references to it.
 */
export function valuesOf(node: Node, name: string): Value[] {
  const targets = new Set<number>();
  return node.properties.filter((property) => {
    if (property.name !== name) return false;
    return 'text' in property || isNew(targets, property.target);
  });
}

/** Whether a place was not in the set, where it now is. */
export function isNew(places: Set<number>, place: number): boolean {
  const before = places.size;
  return places.add(place).size > before;
}

/** The texts of a property, of which blank ones say nothing. */
export function textsOf(node: Node, name: string): string[] {
  return valuesOf(node, name).flatMap((property) => ('text' in property ? property.text.trim() || [] : []));
}

/** The first text of a property that is not blank. */
export function firstText(node: Node, name: string): string | null {
  for (const property of node.properties) {
    if (property.name !== name || !('text' in property)) continue;
    const text = property.text.trim();
    if (text !== '') return text;
  }
  return null;
}

/** Ids that a property refers to, of entities or of anything in the world. */
export function addressesOf(graph: Graph, node: Node, name: string): string[] {
  return valuesOf(node, name).flatMap((property) =>
    'text' in property ? property.text.trim() || [] : (graph.nodes[property.target]?.id ?? []),
  );
}
