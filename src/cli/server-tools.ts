/**
 * The tools of a running server, over HTTP, for a replay that calls the real ones. It answers no questions: a tool that
 * asks one fails.
 */
import type { CallToolResult } from '@modelcontextprotocol/server';
import * as z from 'zod';
import { hashDefinition, ownServer, type Toolbox, type ToolDefinition } from '../core/offer/toolbox.ts';
import { requestMcp, type McpServer } from './mcp-request.ts';

const listedSchemaShape = z.record(z.string(), z.unknown());
const listedShape = z.object({
  name: z.string(),
  title: z.string().optional(),
  description: z.string().default(''),
  inputSchema: listedSchemaShape,
  outputSchema: listedSchemaShape.optional(),
  annotations: z.record(z.string(), z.unknown()).default({}),
});
const listedToolsShape = z.object({ tools: z.array(listedShape), nextCursor: z.string().optional() });
const toolResultShape = z.looseObject({
  isError: z.boolean().optional(),
  content: z.array(z.looseObject({ type: z.string() })),
  _meta: z.record(z.string(), z.unknown()).optional(),
});

const maxPages = 50;
const meta = { 'workcrate/structured': true };

export function createServerToolbox(server: McpServer): Toolbox {
  let listing: Promise<ToolDefinition[]> | null = null;
  const list = (): Promise<ToolDefinition[]> => (listing ??= listToolDefinitions(server));
  return {
    list,
    has: async (name) => (await list()).some((tool) => tool.name === name),
    async call(name, input, { signal }) {
      const params = { name, arguments: input };
      const result = await requestMcp(
        { ...server, signal },
        { method: 'tools/call', params, meta },
        toolResultShape,
      );
      return withoutEnvelope(result) as unknown as CallToolResult;
    },
  };
}

const protocolKey = /^io\.modelcontextprotocol\//;

/** What every answer of the protocol has is no part of what the tool gave. */
function withoutEnvelope({ _meta = {}, ...result }: z.output<typeof toolResultShape>) {
  const own = Object.entries(_meta).filter(([key]) => !protocolKey.test(key));
  const given = Object.entries(result).filter(([key]) => key !== 'resultType');
  return Object.fromEntries(own.length === 0 ? given : [...given, ['_meta', Object.fromEntries(own)]]);
}

async function listToolDefinitions(server: McpServer): Promise<ToolDefinition[]> {
  const tools: ToolDefinition[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < maxPages; page++) {
    const params = cursor === undefined ? {} : { cursor };
    const answer = await requestMcp(server, { method: 'tools/list', params, meta }, listedToolsShape);
    tools.push(...answer.tools.map(toListedDefinition));
    cursor = answer.nextCursor;
    if (cursor === undefined) break;
  }
  return tools;
}

/** Hashed as the server itself does. */
function toListedDefinition(listed: z.output<typeof listedShape>): ToolDefinition {
  const { name, title = null, description, inputSchema, outputSchema = null, annotations } = listed;
  const told = { title, description, inputSchema, outputSchema, annotations };
  return { name, server: ownServer, nameThere: name, ...told, hash: hashDefinition({ name, ...told }) };
}
