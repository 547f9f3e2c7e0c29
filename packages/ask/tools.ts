/**
 * The tools of the server as the model gets them: which ones, with schemas that check its arguments, and which of them
 * need somebody's consent. It calls none of them.
 */
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/client/validators/ajv';
import type { Tool } from '@modelcontextprotocol/client';
import type { ToolSet } from 'ai';
import type { ModelPackages } from './packages.ts';

type JsonSchema = Tool['inputSchema'];

/** What endpoints take as the name of a function. */
const namePattern = /^[a-zA-Z0-9_-]{1,64}$/;

/** The tools of a server that can be offered. The others can only be called by `call_tool`. */
export const listOfferableTools = (tools: readonly Tool[]): Tool[] =>
  tools.filter(({ name }) => namePattern.test(name));

/** As the AI SDK wants them. They have no handler, so that it calls none by itself. */
export function toToolSet({ sdk }: ModelPackages, tools: readonly Tool[], isPlain: boolean): ToolSet {
  const validator = new AjvJsonSchemaValidator();
  const entries = tools.map(({ name, description = '', inputSchema }) => {
    const check = createCheck(validator, inputSchema);
    const shown = isPlain ? toPlainSchema(inputSchema) : inputSchema;
    const schema = sdk.jsonSchema(shown as Parameters<typeof sdk.jsonSchema>[0], { validate: check });
    return [name, sdk.tool({ description, inputSchema: schema })];
  });
  return Object.fromEntries(entries) as ToolSet;
}

type Check = (value: unknown) => { success: true; value: unknown } | { success: false; error: Error };

/** A schema that cannot be compiled checks nothing here: the server knows what it meant, and checks too. */
function createCheck(validator: AjvJsonSchemaValidator, schema: JsonSchema): Check {
  const validate = compileSchema(validator, schema);
  return (value) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      return { success: false, error: new Error('they are no JSON object') };
    const result = validate?.(value);
    if (result === undefined || result.valid) return { success: true, value };
    return { success: false, error: new Error(result.errorMessage) };
  };
}

function compileSchema(validator: AjvJsonSchemaValidator, schema: JsonSchema) {
  try {
    return validator.getValidator(schema as Parameters<typeof validator.getValidator>[0]);
  } catch {
    return null;
  }
}

/** The keywords that every endpoint takes. */
const plainKeywords = new Set(['type', 'description', 'properties', 'required', 'items', 'enum']);
const maxDepth = 12;

/** The same schema with the usual keywords alone, for an endpoint that refuses others. The arguments are still checked. */
function toPlainSchema(schema: unknown, depth = 0): unknown {
  if (typeof schema !== 'object' || schema === null || depth > maxDepth) return {};
  const entries = Object.entries(schema).filter(([key]) => plainKeywords.has(key));
  return Object.fromEntries(
    entries.map(([key, value]) => {
      if (key === 'items') return [key, toPlainSchema(value, depth + 1)];
      return [key, key === 'properties' ? mapValues(value, (one) => toPlainSchema(one, depth + 1)) : value];
    }),
  );
}

const mapValues = (value: unknown, change: (one: unknown) => unknown): unknown =>
  typeof value === 'object' && value !== null
    ? Object.fromEntries(Object.entries(value).map(([key, one]) => [key, change(one)]))
    : {};

/**
 * Whether a person should agree first: it destroys something, or changes something beyond this server. A tool that does
 * not say is taken at the worst, as MCP has it.
 */
export function isSensitive({ annotations = {} }: Tool): boolean {
  const { readOnlyHint = false, destructiveHint = true, openWorldHint = true } = annotations;
  return !readOnlyHint && (destructiveHint || openWorldHint);
}
