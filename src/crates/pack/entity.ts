/** A reference to another entity, in the one form that RO-Crate knows. */
export interface Reference {
  readonly '@id': string;
}

type Value = string | number | Reference | readonly (string | Reference)[];

/** An entity of the flat graph. What is null is left out when it is made. */
export interface GraphEntity {
  readonly '@id': string;
  readonly '@type': string | readonly string[];
  readonly [property: string]: Value;
}

export function entity(
  id: string,
  type: string | readonly string[],
  properties: Readonly<Record<string, Value | null>>,
): GraphEntity {
  const stated = Object.entries(properties).filter(([, value]) => value !== null) as [string, Value][];
  return { '@id': id, '@type': type, ...Object.fromEntries(stated) };
}

export const reference = (id: string): Reference => ({ '@id': id });

/** Compacted form: nothing is null, and one alone stands without a list. */
export function references(ids: readonly string[]): Reference | Reference[] | null {
  if (ids.length <= 1) return ids[0] === undefined ? null : reference(ids[0]);
  return ids.map(reference);
}

export function iso(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}
