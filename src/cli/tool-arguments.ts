/**
 * Turns `key=value` words into the arguments of a tool, each of the type that the tool's input schema names. It does not
 * validate them: the server does, and says more.
 */
import * as z from 'zod';
import { WorkcrateError } from '../platform/errors.ts';
import { didYouMean, usageError } from '../platform/command-line/usage-error.ts';

/** The part of a JSON schema that says of which type a value is. */
interface ValueSchema {
  readonly type?: string | readonly string[] | undefined;
  readonly description?: string | undefined;
  readonly enum?: readonly unknown[] | undefined;
  readonly items?: ValueSchema | undefined;
  readonly anyOf?: readonly ValueSchema[] | undefined;
}

const valueShape: z.ZodType<ValueSchema> = z.lazy(() =>
  z.object({
    type: z.union([z.string(), z.array(z.string())]).optional(),
    description: z.string().optional(),
    enum: z.array(z.unknown()).optional(),
    items: valueShape.optional(),
    anyOf: z.array(valueShape).optional(),
  }),
);

/** A tool as `tools/list` describes it. */
export const toolShape = z.object({
  name: z.string(),
  description: z.string().default(''),
  inputSchema: z.object({
    properties: z.record(z.string(), valueShape).default({}),
    required: z.array(z.string()).default([]),
  }),
});

export type NamedTool = z.infer<typeof toolShape>;

/** Reads what a value refers to: `@FILE`, or `-` for standard input. */
export type ReadReference = (reference: string) => Promise<string>;

export async function toToolArguments(
  tool: NamedTool,
  words: readonly string[],
  read: ReadReference,
): Promise<Record<string, unknown>> {
  const found: Record<string, unknown> = {};
  for (const word of words) {
    const [, key, given] = /^([^=]+)=(.*)$/s.exec(word) ?? [];
    if (key === undefined || given === undefined)
      throw usageError(`${JSON.stringify(word)} is no key=value`, 'call');
    const schema = checkArgumentKey(tool, key);
    const value = toValue(`${tool.name} ${key}`, schema, await resolveText(given, read));
    const before = found[key];
    found[key] =
      Array.isArray(before) && Array.isArray(value)
        ? [...(before as unknown[]), ...(value as unknown[])]
        : value;
  }
  const missing = tool.inputSchema.required.filter((key) => !Object.hasOwn(found, key));
  if (missing.length > 0)
    throw new WorkcrateError(
      'config_invalid',
      `${tool.name} needs ${missing.join(' and ')}. Its keys:\n${describeArgumentKeys(tool)}`,
    );
  return found;
}

function checkArgumentKey({ name, inputSchema: { properties } }: NamedTool, key: string): ValueSchema {
  if (Object.hasOwn(properties, key)) return properties[key]!;
  const known = Object.keys(properties);
  throw usageError(
    `${name} has no key ${JSON.stringify(key)}.${didYouMean(key, known)} ` +
      (known.length === 0 ? 'It takes none' : `It takes ${known.join(', ')}`),
    'call',
  );
}

/** `@@` is a value that begins with `@`. */
async function resolveText(given: string, read: ReadReference): Promise<string> {
  if (given.startsWith('@@')) return given.slice(1);
  return given === '-' || given.startsWith('@') ? read(given) : given;
}

/** A value of a type that the schema allows. Text stays text wherever text is allowed, unless it is a list or an object. */
function toValue(where: string, schema: ValueSchema, text: string): unknown {
  const types = listValueTypes(schema);
  const takesText = types.length === 0 || types.includes('string');
  if (/^\s*[[{]/.test(text) && (types.includes('array') || types.includes('object')))
    return parseJsonArgument(where, text);
  if (takesText) return text;
  if (types.includes('array')) return [toValue(where, schema.items ?? {}, text)];
  if (
    (types.includes('number') || types.includes('integer')) &&
    text.trim() !== '' &&
    Number.isFinite(Number(text))
  )
    return Number(text);
  if (types.includes('boolean') && /^(?:true|false)$/.test(text)) return text === 'true';
  if (types.includes('null') && text === 'null') return null;
  throw usageError(`${where} takes ${types.join(' or ')}, not ${JSON.stringify(text.slice(0, 100))}`, 'call');
}

function listValueTypes({ type, anyOf = [], enum: choices }: ValueSchema): string[] {
  const own = type === undefined ? [] : [type].flat();
  if (own.length === 0 && choices?.some((choice) => typeof choice === 'string')) return ['string'];
  return [...own, ...anyOf.flatMap(listValueTypes)];
}

function parseJsonArgument(where: string, text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw usageError(`${where} is no JSON: ${error.message}`, 'call');
  }
}

/** One line for each key, those that are required first. */
function describeArgumentKeys({ inputSchema: { properties, required } }: NamedTool): string {
  const keys = Object.entries(properties).map(([key, schema]) => {
    const types = schema.enum?.map(String).join('|') ?? listValueTypes(schema).join('|');
    const shown = required.includes(key) ? `${key}=${types}` : `[${key}=${types}]`;
    return { isRequired: required.includes(key), line: `  ${shown}  ${schema.description ?? ''}`.trimEnd() };
  });
  return keys
    .toSorted((a, b) => Number(b.isRequired) - Number(a.isRequired))
    .map(({ line }) => line)
    .join('\n');
}
