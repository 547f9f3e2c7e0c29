import type { Entity } from '../crate.ts';
import { ByteReader, ByteWriter } from './bytes.ts';
import type { Pace } from './pace.ts';

/** The entities of a crate with their types, and which refers to which. */
export interface References {
  readonly types: readonly (readonly string[])[];
  /** By property: pairs of the entity that refers and the one that is referred to. */
  readonly byProperty: ReadonlyMap<string, readonly number[]>;
}

export function encodeReferences(entities: readonly Entity[]): Uint8Array {
  const writer = new ByteWriter(256);
  const names = new Map<string, number>();
  const codeOf = (name: string): number => names.get(name) ?? (names.set(name, names.size), names.size - 1);
  writer.number(entities.length);
  for (const { types } of entities) {
    writer.number(types.length);
    for (const type of types) writer.number(codeOf(type));
  }
  for (const [property, pairs] of pairsOf(entities)) {
    writer.number(codeOf(property));
    writer.number(pairs.length);
    for (const number of pairs) writer.number(number);
  }
  const head = Buffer.from(JSON.stringify([...names.keys()]));
  const whole = new ByteWriter(head.length + writer.length + 8);
  whole.number(head.length);
  whole.bytes(head);
  whole.bytes(writer.view());
  return whole.taken();
}

function pairsOf(entities: readonly Entity[]): Map<string, number[]> {
  const byProperty = new Map<string, number[]>();
  for (const [at, { properties }] of entities.entries())
    for (const property of properties) {
      if (!('target' in property)) continue;
      const pairs = byProperty.get(property.name);
      if (pairs === undefined) byProperty.set(property.name, [at, property.target]);
      else pairs.push(at, property.target);
    }
  return byProperty;
}

export function decodeReferences(bytes: Uint8Array): References {
  const reader = new ByteReader(bytes);
  const head = Buffer.from(reader.take(reader.number())).toString('utf8');
  const names = JSON.parse(head) as string[];
  const types = Array.from({ length: reader.number() }, () =>
    Array.from({ length: reader.number() }, () => names[reader.number()]!),
  );
  const byProperty = new Map<string, number[]>();
  while (!reader.ended) {
    const property = names[reader.number()]!;
    const pairs = Array.from({ length: reader.number() }, () => reader.number());
    byProperty.set(property, pairs);
  }
  return { types, byProperty };
}

/** The entities from which a path of references leads to one of `targets`. */
export async function walkBack(
  { byProperty }: References,
  path: readonly string[],
  targets: Iterable<number>,
  pace: Pace,
): Promise<Set<number>> {
  let reached = new Set(targets);
  for (const property of path.toReversed()) {
    await pace.breathe();
    const from = new Set<number>();
    const pairs = byProperty.get(property) ?? [];
    for (let at = 0; at < pairs.length; at += 2) if (reached.has(pairs[at + 1]!)) from.add(pairs[at]!);
    reached = from;
  }
  return reached;
}
