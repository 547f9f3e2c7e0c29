/** The facts of a typed answer: its leaves, each with its path in the JSON schema that describes it. */

export interface JsonSchema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly JsonSchema[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly additionalProperties?: boolean | JsonSchema;
  readonly items?: JsonSchema;
}

/** One leaf. In a path `[]` is any element of a list, `*` any value of a record, and `{}` its key. */
export interface Fact {
  readonly path: string;
  readonly value: string | number | boolean | null;
}

const joinPath = (path: string, name: string): string => (path === '' ? name : `${path}.${name}`);

/** A tree is described once, however deep it is. */
const foldTree = (path: string): string => path.replaceAll(/(\.children\[\])+/g, '.children[]');

/** Follows references, and leaves the choice among several schemas to the value. */
function resolveSchema(root: JsonSchema, schema: JsonSchema): readonly JsonSchema[] {
  if (schema.anyOf !== undefined) return schema.anyOf.flatMap((one) => resolveSchema(root, one));
  if (schema.$ref === undefined) return [schema];
  const names = schema.$ref.split('/').slice(1);
  const found = names.reduce<unknown>((at, name) => (at as Record<string, unknown>)[name], root);
  return resolveSchema(root, found as JsonSchema);
}

const allowsType = ({ type }: JsonSchema, name: string): boolean =>
  type === name || (Array.isArray(type) && type.includes(name));

/** Every leaf of a value, and every list, object and text that is empty. */
export function* listFacts(
  schema: JsonSchema,
  value: unknown,
  path = '',
  root: JsonSchema = schema,
): Generator<Fact> {
  const schemas = resolveSchema(root, schema);
  if (Array.isArray(value)) {
    const items = schemas.find((one) => allowsType(one, 'array'))?.items ?? {};
    if (value.length === 0) yield { path: foldTree(`${path}[]`), value: null };
    for (const one of value) yield* listFacts(items, one, `${path}[]`, root);
  } else if (typeof value === 'object' && value !== null) {
    const { properties = {}, additionalProperties } =
      schemas.find((one) => allowsType(one, 'object')) ?? ({} as JsonSchema);
    for (const [name, one] of Object.entries(value)) {
      const known = properties[name];
      if (known !== undefined) yield* listFacts(known, one, joinPath(path, name), root);
      else {
        yield { path: foldTree(`${path}.{}`), value: name };
        yield* listFacts((additionalProperties ?? {}) as JsonSchema, one, `${path}.*`, root);
      }
    }
  } else yield { path: foldTree(path), value: value as Fact['value'] };
}

/** What a schema says can be shown: a path, and with it each value where there are only a few. */
export function listShowable(schema: JsonSchema): string[] {
  return [...new Set(walkSchema(schema, schema, '', new Set()))];
}

function* walkSchema(
  root: JsonSchema,
  schema: JsonSchema,
  path: string,
  above: ReadonlySet<JsonSchema>,
): Generator<string> {
  for (const one of resolveSchema(root, schema)) {
    if (above.has(one)) continue;
    const within = new Set([...above, one]);
    const { properties = {}, additionalProperties: further, items } = one;
    for (const [name, inner] of Object.entries(properties))
      yield* walkSchema(root, inner, joinPath(path, name), within);
    if (typeof further === 'object') {
      yield `${path}.{}`;
      yield* walkSchema(root, further, `${path}.*`, within);
    }
    if (items !== undefined) yield* walkSchema(root, items, `${path}[]`, within);
    else if (!allowsType(one, 'object')) yield* listValues(one).map((value) => `${path}${value}`);
  }
}

function listValues(schema: JsonSchema): string[] {
  const values = schema.enum ?? (isFlag(schema) ? [true, false] : null);
  if (values !== null) return values.map((value) => ` = ${String(value)}`);
  return schema.type === 'null' ? [] : [''];
}

const isFlag = ({ type = [] }: JsonSchema): boolean =>
  [type]
    .flat()
    .filter((name) => name !== 'null')
    .join() === 'boolean';

/** Under which names of `listShowable` a fact counts as shown. Nothing that is empty or zero shows a path. */
export function toShown({ path, value }: Fact): string[] {
  if (typeof value === 'boolean') return [`${path} = ${value}`];
  if (value === null || value === '' || value === 0) return [];
  return [path, `${path} = ${String(value)}`];
}
