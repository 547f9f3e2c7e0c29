import type { StandardSchemaWithJSON } from '@modelcontextprotocol/server';
import type { z } from 'zod';

type Described = StandardSchemaWithJSON<Record<string, unknown>, Record<string, unknown>>;
type Describe = Described['~standard']['jsonSchema']['input'];

/**
 * The schema of a tool as the SDK takes it, described in JSON but once: from 2026-07-28 on every call over HTTP has a
 * server of its own, which has both schemas of its tool described, and that took longer than many a tool.
 */
export function describedOnce(schema: z.ZodObject): Described {
  const standard = schema['~standard'] as Described['~standard'];
  const { input, output } = standard.jsonSchema;
  return { '~standard': { ...standard, jsonSchema: { input: once(input), output: once(output) } } };
}

/** The SDK asks for one target only; another would get a description of its own. */
function once(describe: Describe): Describe {
  const made = new Map<string, ReturnType<Describe>>();
  return (options) => {
    const known = made.get(options.target) ?? describe(options);
    made.set(options.target, known);
    return known;
  };
}
