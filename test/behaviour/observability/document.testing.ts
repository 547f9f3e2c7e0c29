import assert from 'node:assert/strict';
import { z } from 'zod';

type Json = { readonly [key: string]: unknown };

export interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly security?: Json[];
  readonly parameters?: { name: string; in: string; required?: boolean }[];
  readonly responses: Record<string, Answer>;
}

interface Answer {
  readonly description: string;
  readonly headers?: Record<string, { required?: boolean }>;
  readonly content?: Record<string, { schema: Json }>;
}

export interface OpenApi {
  readonly openapi: string;
  readonly info: { title: string; version: string };
  readonly servers: { url: string }[];
  readonly paths: Record<string, Record<string, Operation> & { parameters?: Operation['parameters'] }>;
  readonly components: { schemas: Record<string, Json>; securitySchemes: Record<string, Json> };
}

const methods = ['get', 'head', 'put', 'post', 'patch', 'delete', 'options'];

export function operationsOf({ paths }: OpenApi): { path: string; method: string; operation: Operation }[] {
  return Object.entries(paths).flatMap(([path, item]) =>
    methods.filter((method) => method in item).map((method) => ({ path, method, operation: item[method]! })),
  );
}

/** Every `$ref` replaced by what it names. There are no circles. */
export function resolved(document: OpenApi, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => resolved(document, item));
  if (typeof value !== 'object' || value === null) return value;
  const { $ref } = value as { $ref?: string };
  if ($ref === undefined)
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, resolved(document, item)]));
  const name = /^#\/components\/schemas\/(\w+)$/.exec($ref)?.[1];
  assert.ok(name !== undefined && name in document.components.schemas, `${$ref} names nothing`);
  return resolved(document, document.components.schemas[name]);
}

/** What is wrong with the body by the schema of the document; null where nothing is. */
function fault(document: OpenApi, schema: Json, body: unknown): string | null {
  const judged = z.fromJSONSchema(resolved(document, schema) as Parameters<typeof z.fromJSONSchema>[0]);
  const { error } = judged.safeParse(body);
  return error === undefined ? null : z.prettifyError(error);
}

/** The answer that the document foresees for an operation and a status. */
function foreseen(operation: Operation, status: number): Answer | undefined {
  return operation.responses[status] ?? operation.responses[`${String(status)[0]}XX`];
}

/** Fails unless a real answer is one that the document foresees: status, headers, type and body. */
export async function demandForeseen(
  document: OpenApi,
  path: string,
  method: string,
  answer: Response,
): Promise<void> {
  const operation = document.paths[path]?.[method];
  const where = `${method} ${path} ${answer.status}`;
  const text = await answer.text();
  assert.ok(operation !== undefined, `${where}: no such operation`);
  const expected = foreseen(operation, answer.status);
  assert.ok(expected !== undefined, `${where} is not foreseen: ${text}`);
  for (const [name, { required }] of Object.entries(expected.headers ?? {}))
    if (required === true) assert.ok(answer.headers.has(name), `${where} has no ${name}`);
  if (expected.content === undefined) return assert.equal(text, '', `${where} has a body`);
  const type = (answer.headers.get('content-type') ?? '').split(';', 1)[0]!;
  const media = expected.content[type] ?? expected.content['*/*'];
  assert.ok(media !== undefined, `${where}: ${type} is not foreseen`);
  if (type === 'application/json' && method !== 'head')
    assert.equal(fault(document, media.schema, JSON.parse(text)), null, where);
}
