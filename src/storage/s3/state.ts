import { z } from 'zod';
import { namesBelow } from '../remote/remote.ts';
import type { Bucket } from './bucket.ts';
import { mostParts } from './multipart.ts';

/**
 * What is known of an upload that is on its way. It stands in one small object: this in its metadata, and in its body
 * the bytes that follow the parts, too few to be a part. So whoever knows the id can go on with it, and a file below
 * the size of a part is there with a single request.
 */
const stagedForm = z
  .object({
    /** Tells the object made of it from every other. */
    mark: z.string().regex(/^[0-9a-f]{32}$/),
    /** Begun with the first whole part; null before. */
    multipart: z.object({ name: z.string(), upload: z.string().min(1).max(2048) }).nullable(),
    /** How many parts count, and how long they are together. What the store may hold beyond them does not. */
    parts: z.int().min(0).max(mostParts),
    partBytes: z.int().min(0),
  })
  .refine(({ parts, partBytes }) => (parts === 0) === (partBytes === 0))
  .refine(({ multipart, parts }) => multipart !== null || parts === 0);

export type Staged = Readonly<z.infer<typeof stagedForm>>;

/** Where the parts go of an upload that is meant for no key yet. */
export const wholeName = (stateName: string): string => `${stateName}/whole`;

/** What a note says; null where it is none of ours, or leads to where no upload of ours goes. */
export function stagedIn({ options }: Bucket, stateName: string, note: string | null): Staged | null {
  const { data } = stagedForm.safeParse(parsed(note));
  if (data === undefined) return null;
  const name = data.multipart?.name ?? wholeName(stateName);
  return name === wholeName(stateName) || namesBelow(options.prefix).keyOf(name) !== null ? data : null;
}

function parsed(note: string | null): unknown {
  try {
    return JSON.parse(note ?? '');
  } catch {
    return null;
  }
}
