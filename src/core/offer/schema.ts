/**
 * Keeps the schemas of arguments short in the list of tools, which every conversation pays for: what is checked need not
 * be listed. It checks nothing itself (zod does), and results are not described here.
 */
import { z } from 'zod';

/**
 * The same schema, listed as this JSON schema. Bounds, patterns and defaults that clients may strip belong into its
 * description, in words.
 */
export function listAs<Schema extends z.ZodType>(
  schema: Schema,
  json: Readonly<Record<string, unknown>>,
): Schema {
  const listed = schema.clone(schema._zod.def);
  listed._zod.toJSONSchema = () => ({ ...json });
  return listed;
}

/** A text of 1 to `most` characters, described by a few words. */
export const makeText = (most: number, description?: string): z.ZodString =>
  listAs(z.string().min(1).max(most), {
    type: 'string',
    ...(description === undefined ? {} : { description }),
  });

/** A whole number, described by a few words that name its bounds and its default. */
export const makeWholeNumber = (least: number, most: number, description: string): z.ZodNumber =>
  listAs(z.number().int().min(least).max(most), { type: 'integer', description });

/** The same schema without some arguments in the list, such as older names, which are taken all the same. */
export function hideArguments<Schema extends z.ZodObject>(
  schema: Schema,
  names: readonly (keyof z.output<Schema> & string)[],
): Schema {
  const hidden: ReadonlySet<string> = new Set(names);
  const listed = Object.entries(schema.shape).filter(([name]) => !hidden.has(name));
  return listAs(schema, z.toJSONSchema(z.strictObject(Object.fromEntries(listed)), { io: 'input' }));
}
