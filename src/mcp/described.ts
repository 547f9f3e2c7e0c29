import type { StandardSchemaWithJSON } from '@modelcontextprotocol/server';
import type { z } from 'zod';

type Described = StandardSchemaWithJSON<Record<string, unknown>, Record<string, unknown>>;
type Validate = Described['~standard']['validate'];
type Validated = Awaited<ReturnType<Validate>>;
type Issue = NonNullable<Validated['issues']>[number];
type Describe = Described['~standard']['jsonSchema']['input'];

/**
 * The schema of a tool as the SDK takes it, described in JSON but once: from 2026-07-28 on every call over HTTP has a
 * server of its own, which has both schemas of its tool described, and that took longer than many a tool.
 */
export function describedOnce(schema: z.ZodObject): Described {
  const standard = schema['~standard'] as Described['~standard'];
  const { input, output } = standard.jsonSchema;
  const validate: Validate = async (value) => withFewIssues(await standard.validate(value));
  return { '~standard': { ...standard, validate, jsonSchema: { input: once(input), output: once(output) } } };
}

const mostIssues = 20;
const mostCharacters = 500;

/** The SDK puts all that is wrong with a call into its answer, and that may be more than what came. */
function withFewIssues(result: Validated): Validated {
  if (result.issues === undefined) return result;
  const more = result.issues.length - mostIssues;
  const told = result.issues.slice(0, mostIssues).map(shorten);
  return { issues: more > 0 ? [...told, { message: `and ${more} more` }] : told };
}

/** Names of keys that are not known are in the message, and those that are known to be wrong in the path. */
const shorten = ({ message, path = [] }: Issue): Issue => ({
  message: cut(message),
  path: path.slice(0, 10).map((part) => (typeof part === 'string' ? cut(part) : part)),
});

const cut = (text: string): string =>
  text.length > mostCharacters ? `${text.slice(0, mostCharacters)}…` : text;

/** The SDK asks for one target only; another would get a description of its own. */
function once(describe: Describe): Describe {
  const made = new Map<string, ReturnType<Describe>>();
  return (options) => {
    const known = made.get(options.target) ?? describe(options);
    made.set(options.target, known);
    return known;
  };
}
