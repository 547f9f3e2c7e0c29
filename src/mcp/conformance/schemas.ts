import { fromJsonSchema, type McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { saying } from './samples.ts';

/** Every keyword of JSON Schema 2020-12 that must reach the client as it was written. */
const everyKeyword = fromJsonSchema({
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  $defs: {
    address: {
      $anchor: 'addressDef',
      type: 'object',
      properties: { street: { type: 'string' }, city: { type: 'string' } },
    },
  },
  properties: {
    name: { type: 'string' },
    address: { $ref: '#/$defs/address' },
    contactMethod: { type: 'string', enum: ['phone', 'email'] },
    phone: { type: 'string' },
    email: { type: 'string' },
  },
  allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
  if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
  // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
  then: { required: ['phone'] },
  else: { required: ['email'] },
  additionalProperties: false,
});

/** The parameter that a client must repeat in the HTTP header `Mcp-Param-Region`. */
const inHeader = z.object({ region: z.string().meta({ 'x-mcp-header': 'Region' }) });

/** Tools that are about their input schema. */
export function addSchemaTools(server: McpServer): void {
  server.registerTool(
    'json_schema_2020_12_tool',
    { description: 'Tool with JSON Schema 2020-12 features', inputSchema: everyKeyword },
    (given) => saying(JSON.stringify(given)),
  );
  server.registerTool(
    'test_header_parameter',
    { description: 'Takes a parameter that HTTP repeats in a header', inputSchema: inHeader },
    ({ region }) => saying(region),
  );
}
