import { z } from 'zod';
import type { ErrorCode } from '../errors.ts';
import { errorStatus } from './error-status.ts';

export type Json = { readonly [key: string]: unknown };

/** A schema as OpenAPI 3.1 takes it: JSON Schema of 2020-12, without saying so each time. */
export function jsonSchema(shape: z.ZodType, io: 'input' | 'output' = 'output'): Json {
  const { $schema: _dialect, ...schema } = z.toJSONSchema(shape, { io });
  return schema;
}

const ref = (name: string): Json => ({ $ref: `#/components/schemas/${name}` });

export function json(name: string, description: string, headers: Json = {}): Json {
  return {
    description,
    headers: { ...requestId, ...headers },
    content: { 'application/json': { schema: ref(name) } },
  };
}

export const bodiless = (description: string, headers: Json = {}): Json => ({
  description,
  headers: { ...requestId, ...headers },
});

export const text = (description: string): Json => ({
  ...bodiless(description),
  content: { 'text/plain': { schema: { type: 'string' } } },
});

export const header = (description: string, type = 'string', required = true): Json => ({
  description,
  required,
  schema: { type },
});

const requestId = {
  'X-Request-Id': header('As it was sent, or a new one; it is in the log', 'string', false),
};

/** Before any route: Host and Origin, and whatever fails in the server itself. */
const everywhere: ErrorCode[] = ['host_refused', 'origin_refused', 'internal', 'database_failed'];

/** The answers for error codes, by the status that each has. */
export function failures(codes: readonly ErrorCode[], shape = 'Error'): Json {
  const byStatus = Map.groupBy([...codes, ...everywhere], (code) => errorStatus[code]);
  const answers = [...byStatus].map(([status, group]) => [status, json(shape, group.join(', '))]);
  return Object.fromEntries(answers) as Json;
}

/** With auth on, these need a key or token; without, nothing. */
export const signedIn = { security: [{}, { bearer: [] }] };
export const signInFailures = ['unauthorized', 'forbidden', 'too_many_requests'] as const;

/** A right by itself, or nothing that needs one. */
export const open = { security: [] };

export const parameter = (place: 'path' | 'query' | 'header', name: string, more: Json): Json => ({
  name,
  in: place,
  required: place === 'path',
  schema: { type: 'string' },
  ...more,
});
