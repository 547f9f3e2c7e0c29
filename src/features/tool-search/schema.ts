/** What the tools for tools take and answer, in JSON. */
import { z } from 'zod';
import { listAs, makeText, makeWholeNumber } from '../../core/offer/schema.ts';
import type { ToolDefinition } from '../../core/offer/toolbox.ts';
import { toPlainJson } from '../../platform/text/text.ts';
import { describeArguments } from './arguments.ts';

export const usualLimit = 5;
const maxLimit = 50;
const maxBriefLength = 300;
const maxAnsweredDescription = 4000;
const maxAnsweredSchema = 16_000;
const maxServerLength = 100;

const details = ['names', 'brief', 'full'] as const;
export type Detail = (typeof details)[number];

export const toolSearchInput = z.strictObject({
  query: makeText(2000, 'What you want to do'),
  detail: z.enum(details).optional().describe('Default: brief. full has the input schemas'),
  limit: makeWholeNumber(1, maxLimit, `1 to ${maxLimit}, default ${usualLimit}`).optional(),
});

export const callInput = z.strictObject({
  name: makeText(200, 'As search_tools says it'),
  arguments: listAs(z.record(z.string(), z.unknown()), { type: 'object' }).optional(),
});

const effects = ['reads', 'changes', 'may_destroy', 'unknown'] as const;
export type Effect = (typeof effects)[number];

const foundShape = z.object({
  name: z.string(),
  server: z.string(),
  effect: z.enum(effects).describe('As its server says'),
  description: z.string().nullable(),
  arguments: z.string().nullable(),
  input_schema: z.string().nullable().describe('JSON, with detail: full'),
});

export const searchShape = z.object({
  tools: z.array(foundShape).describe('Best first'),
  searched: z.number().describe('How many tools there are'),
});

export const callShape = z.object({
  tool: z.string(),
  server: z.string(),
  result: z.record(z.string(), z.unknown()).nullable().describe('The structured content of the tool'),
});

export type FoundTool = z.output<typeof foundShape>;
export type SearchAnswer = z.output<typeof searchShape>;

export function showFound(tool: ToolDefinition, detail: Detail): FoundTool {
  const isFull = detail === 'full';
  const longest = isFull ? maxAnsweredDescription : maxBriefLength;
  return {
    name: tool.name,
    server: tool.server.slice(0, maxServerLength),
    effect: readEffect(tool),
    description: detail === 'names' ? null : toShortLine(tool.description, longest),
    arguments: detail === 'brief' ? describeArguments(tool.inputSchema) : null,
    input_schema: isFull ? showSchema(tool) : null,
  };
}

/** By the defaults of MCP: what is not read-only may destroy, unless it says that it does not. */
function readEffect({ annotations: { readOnlyHint, destructiveHint } }: ToolDefinition): Effect {
  if (readOnlyHint === true) return 'reads';
  if (destructiveHint === undefined) return readOnlyHint === undefined ? 'unknown' : 'may_destroy';
  return destructiveHint ? 'may_destroy' : 'changes';
}

/** On one line, and not longer than a conversation can take. */
function toShortLine(text: string, most: number): string {
  const line = text.replaceAll(/\s+/gu, ' ').trim();
  return line.length <= most ? line : `${line.slice(0, most - 1).trimEnd()}…`;
}

/** A schema that is cut would be read as another one, so its names and types have to do. */
function showSchema({ inputSchema }: ToolDefinition): string {
  const whole = toPlainJson(inputSchema);
  return whole.length <= maxAnsweredSchema
    ? whole
    : toPlainJson({ too_long: whole.length, arguments: describeArguments(inputSchema) });
}
