/** The table of requests: what a person asks for, and the tools that do it. How it was made is in README.md. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';

const requestSchema = z.strictObject({
  request: z.string().min(1),
  /** Each of these would do, written `server/tool`. */
  expected: z.array(z.string().regex(/^[a-z][a-z0-9]*\/.+$/)).min(1),
});

export type ToolRequest = z.infer<typeof requestSchema>;

export type Part = 'tuned' | 'held-out';

const files: Record<Part, string> = { tuned: 'requests.json', 'held-out': 'requests-held-out.json' };

/** The requests that may be looked at while the search is made, or the third that is only measured. */
export const readRequests = (part: Part): ToolRequest[] =>
  z.array(requestSchema).parse(JSON.parse(readFileSync(join(import.meta.dirname, files[part]), 'utf8')));

/** In which part a request belongs, by its text alone: nobody chooses. */
export function partOf({ request }: ToolRequest): Part {
  const hash = createHash('sha256').update(request).digest();
  return hash.readUInt32BE(0) % 3 === 0 ? 'held-out' : 'tuned';
}
