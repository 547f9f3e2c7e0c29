/**
 * What is kept of a tool that code could call: all of its definition if it was called, so that a replay gives the code
 * the same functions, else its names.
 */
import { z } from 'zod';
import type { JsonSchema, ToolDefinition } from '../../core/offer/toolbox.ts';

const offeredSchemaShape: z.ZodType<JsonSchema> = z.record(z.string(), z.unknown());

/** Crates of others have them too, so they are parsed. */
export const offeredToolShape = z.object({
  name: z.string().max(200),
  server: z.string().max(200),
  nameThere: z.string().max(200),
  hash: z.string().max(200),
  description: z.string().optional(),
  /** Left out where it was not called, or is too large. */
  inputSchema: offeredSchemaShape.optional(),
  outputSchema: offeredSchemaShape.nullable().optional(),
});

export type RecordedTool = z.output<typeof offeredToolShape>;

/** In JSON, of one run. */
const maxSchemaBytes = 64 * 1024;
const maxOfferedToolBytes = 1024 ** 2;
export const maxOfferedTools = 3000;
const maxOfferedDescription = 2000;

/** Those that were called come first, and with their schemas. */
export function shortenDefinitions(
  definitions: readonly ToolDefinition[],
  called: ReadonlySet<string>,
): RecordedTool[] {
  let bytesLeft = maxOfferedToolBytes;
  const byUse = definitions.toSorted(
    (one, other) => Number(called.has(other.name)) - Number(called.has(one.name)),
  );
  return byUse.slice(0, maxOfferedTools).map((definition) => {
    const { name, server, nameThere, hash, description, inputSchema, outputSchema } = definition;
    const short = { name, server, nameThere, hash };
    if (!called.has(name)) return short;
    const schemas = { inputSchema, outputSchema };
    const bytes = Buffer.byteLength(JSON.stringify(schemas));
    if (bytes > Math.min(maxSchemaBytes, bytesLeft)) return short;
    bytesLeft -= bytes;
    return { ...short, description: description.slice(0, maxOfferedDescription), ...schemas };
  });
}

/** As a definition again; what was not kept is open. */
export function toOfferedDefinition(tool: RecordedTool): ToolDefinition {
  const { name, server, nameThere, hash } = tool;
  return {
    name,
    server,
    nameThere,
    title: null,
    description: tool.description ?? '',
    inputSchema: tool.inputSchema ?? { type: 'object', additionalProperties: true },
    outputSchema: tool.outputSchema ?? null,
    // A recorded answer changes nothing.
    annotations: { readOnlyHint: true },
    hash,
  };
}
