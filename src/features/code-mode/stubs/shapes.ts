/**
 * Reads JSON schemas as types that both languages have. Schemas come from other servers: references are followed only
 * within the schema and never twice on one way, and depth, width and the whole work are bounded. What cannot be told is
 * `any`. It checks no values.
 */
import type { JsonSchema } from '../../../core/offer/toolbox.ts';

export type LiteralValue = string | number | boolean | null;

export type Shape =
  | { readonly kind: 'any' | 'string' | 'integer' | 'number' | 'boolean' | 'null' | 'list' | 'object' }
  | { readonly kind: 'literals'; readonly values: readonly LiteralValue[] }
  | { readonly kind: 'items'; readonly item: Shape }
  | { readonly kind: 'record'; readonly value: Shape }
  | { readonly kind: 'fields'; readonly fields: readonly Field[] }
  | { readonly kind: 'union'; readonly members: readonly Shape[] };

export interface Field {
  readonly name: string;
  readonly isRequired: boolean;
  readonly shape: Shape;
}

/** The arguments of a tool, or why they are not told one by one. */
export interface ArgumentsShape {
  readonly fields: readonly Field[];
  /** Whether it takes others beside them: the schema says so, or not all could be read. */
  readonly takesMore: boolean;
}

const maxShapeDepth = 8;
/** Of all that is looked at for one schema. */
const maxSchemaNodes = 2000;
const maxFields = 100;
const maxMembers = 12;
const maxLiterals = 24;
/** Longer names and literals are not worth their place, and may be megabytes. */
const maxStubNameLength = 100;

const anyShape: Shape = { kind: 'any' };

interface Reading {
  readonly root: unknown;
  nodesLeft: number;
}

type SchemaPart = Readonly<Record<string, unknown>>;

const isPart = (value: unknown): value is SchemaPart =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const getPart = (part: SchemaPart, name: string): unknown =>
  Object.hasOwn(part, name) ? part[name] : undefined;

/** The type of a value that fits a schema. */
export function readStubShape(schema: JsonSchema): Shape {
  return read({ root: schema, nodesLeft: maxSchemaNodes }, schema, new Set(), 0);
}

/** The arguments of a tool, required ones first, in the order of the schema. */
export function readArguments(schema: JsonSchema): ArgumentsShape {
  const shape = readStubShape(schema);
  const isOpen = isPart(schema) && isOpenObject(schema);
  if (shape.kind !== 'fields')
    return { fields: [], takesMore: shape.kind !== 'object' || isOpen || !hasNoProperties(schema) };
  const fields = shape.fields.toSorted((one, other) => Number(other.isRequired) - Number(one.isRequired));
  return { fields, takesMore: isOpen || countProperties(schema) !== fields.length };
}

/** Said outright: most schemas leave it open, and mean nothing by it. */
const isOpenObject = (schema: SchemaPart): boolean => {
  const more = getPart(schema, 'additionalProperties');
  return more === true || (isPart(more) && Object.keys(more).length > 0);
};

const hasNoProperties = (schema: JsonSchema): boolean =>
  ['properties', '$ref', 'allOf', 'anyOf', 'oneOf', 'patternProperties'].every(
    (name) => !isPart(getPart(schema, name)) || Object.keys(getPart(schema, name) as SchemaPart).length === 0,
  ) && getPart(schema, 'type') === 'object';

function countProperties(schema: JsonSchema): number {
  const properties = getPart(schema, 'properties');
  return isPart(properties) && getPart(schema, 'allOf') === undefined ? Object.keys(properties).length : -1;
}

function read(reading: Reading, schema: unknown, seen: ReadonlySet<unknown>, depth: number): Shape {
  if (!isPart(schema) || depth > maxShapeDepth || --reading.nodesLeft < 0) return anyShape;
  if (seen.has(schema)) return { kind: 'object' };
  const within = new Set([...seen, schema]);
  const reference = getPart(schema, '$ref');
  if (reference !== undefined) return read(reading, resolve(reading, reference), within, depth + 1);
  const literals = readLiterals(schema);
  if (literals !== null) return literals;
  const all = getPart(schema, 'allOf');
  if (Array.isArray(all)) return readAll(reading, schema, all, within, depth);
  for (const name of ['anyOf', 'oneOf']) {
    const some = getPart(schema, name);
    if (Array.isArray(some)) return readUnion(reading, some, within, depth);
  }
  const type = getPart(schema, 'type');
  if (Array.isArray(type)) {
    const members = type.map((one: unknown) => ({ ...schema, type: one }));
    return readUnion(reading, members, within, depth);
  }
  return readType(reading, schema, type, within, depth);
}

function readType(
  reading: Reading,
  schema: SchemaPart,
  type: unknown,
  seen: ReadonlySet<unknown>,
  depth: number,
): Shape {
  switch (type) {
    case 'string':
    case 'integer':
    case 'number':
    case 'boolean':
    case 'null':
      return { kind: type };
    case 'array':
      return readItems(reading, schema, seen, depth);
    case 'object':
      return readObject(reading, schema, seen, depth);
    default:
      return isPart(getPart(schema, 'properties')) ? readObject(reading, schema, seen, depth) : anyShape;
  }
}

function readItems(reading: Reading, schema: SchemaPart, seen: ReadonlySet<unknown>, depth: number): Shape {
  const items = getPart(schema, 'items');
  if (!isPart(items)) return { kind: 'list' };
  const item = read(reading, items, seen, depth + 1);
  return item.kind === 'any' ? { kind: 'list' } : { kind: 'items', item };
}

function readObject(reading: Reading, schema: SchemaPart, seen: ReadonlySet<unknown>, depth: number): Shape {
  const properties = getPart(schema, 'properties');
  const names = isPart(properties) ? Object.keys(properties) : [];
  if (names.length === 0) {
    const more = getPart(schema, 'additionalProperties');
    const value = isPart(more) ? read(reading, more, seen, depth + 1) : anyShape;
    return value.kind === 'any' ? { kind: 'object' } : { kind: 'record', value };
  }
  const required = getPart(schema, 'required');
  const isRequired = new Set(Array.isArray(required) ? required.slice(0, 10 * maxFields) : []);
  // Required ones must not be crowded out by others.
  const kept = names
    .filter((name) => name.length <= maxStubNameLength && name.isWellFormed())
    .toSorted((one, other) => Number(isRequired.has(other)) - Number(isRequired.has(one)))
    .slice(0, maxFields);
  const fields = kept.map((name) => ({
    name,
    isRequired: isRequired.has(name),
    shape: read(reading, (properties as SchemaPart)[name], seen, depth + 1),
  }));
  return fields.length === 0 ? { kind: 'object' } : { kind: 'fields', fields };
}

/** Only objects can be joined; of anything else the first that says something counts. */
function readAll(
  reading: Reading,
  schema: SchemaPart,
  all: readonly unknown[],
  seen: ReadonlySet<unknown>,
  depth: number,
): Shape {
  const { allOf: _, ...own } = schema;
  const parts = [own, ...all.slice(0, maxMembers)].map((part) => read(reading, part, seen, depth + 1));
  const fields = new Map<string, Field>();
  for (const part of parts)
    if (part.kind === 'fields')
      for (const field of part.fields) if (fields.size < maxFields) fields.set(field.name, field);
  if (fields.size > 0) return { kind: 'fields', fields: [...fields.values()] };
  return parts.find(({ kind }) => kind !== 'any') ?? anyShape;
}

function readUnion(
  reading: Reading,
  members: readonly unknown[],
  seen: ReadonlySet<unknown>,
  depth: number,
): Shape {
  if (members.length > maxMembers) return anyShape;
  const shapes = members.map((member) => read(reading, member, seen, depth + 1));
  const flat = shapes.flatMap((shape) => (shape.kind === 'union' ? shape.members : [shape]));
  const distinct = [...new Map(flat.map((shape) => [JSON.stringify(shape), shape])).values()];
  if (distinct.length === 0 || distinct.some(({ kind }) => kind === 'any')) return anyShape;
  return distinct.length === 1 ? distinct[0]! : { kind: 'union', members: distinct };
}

function readLiterals(schema: SchemaPart): Shape | null {
  const values = Object.hasOwn(schema, 'const') ? [schema['const']] : getPart(schema, 'enum');
  if (!Array.isArray(values) || values.length === 0) return null;
  return values.length <= maxLiterals && values.every(isLiteralValue)
    ? { kind: 'literals', values: [...new Set(values)] }
    : null;
}

/** Python has no literals of fractions. */
const isLiteralValue = (value: unknown): value is LiteralValue =>
  value === null ||
  typeof value === 'boolean' ||
  (typeof value === 'number' && Number.isSafeInteger(value)) ||
  (typeof value === 'string' && value.length <= maxStubNameLength && value.isWellFormed());

/** A reference to a part of the same schema, such as `#/$defs/Point`. Others are not followed. */
function resolve({ root }: Reading, reference: unknown): unknown {
  if (typeof reference !== 'string' || !/^#(?:\/|$)/.test(reference) || reference.length > 500)
    return undefined;
  const steps = reference
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
  let found: unknown = root;
  for (const step of steps) {
    if (Array.isArray(found)) found = found[Number(step)];
    else found = isPart(found) ? getPart(found, step) : undefined;
  }
  return found;
}

/** The shape down to a depth: what is deeper is a list or an object of anything. */
export function limitDepth(shape: Shape, depth: number): Shape {
  switch (shape.kind) {
    case 'items':
      return depth <= 0 ? { kind: 'list' } : { kind: 'items', item: limitDepth(shape.item, depth - 1) };
    case 'record':
      return depth <= 0 ? { kind: 'object' } : { kind: 'record', value: limitDepth(shape.value, depth - 1) };
    case 'fields':
      return depth <= 0
        ? { kind: 'object' }
        : {
            kind: 'fields',
            fields: shape.fields.map((field) => ({ ...field, shape: limitDepth(field.shape, depth - 1) })),
          };
    case 'union':
      return depth <= 0
        ? anyShape
        : { kind: 'union', members: shape.members.map((member) => limitDepth(member, depth)) };
    case 'literals':
      return depth < 0 ? anyShape : shape;
    default:
      return shape;
  }
}
