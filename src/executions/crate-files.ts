import { z } from 'zod';
import { WorkcrateError } from '../errors.ts';
import type { ToolContext } from '../mcp/tool.ts';
import type { OtherFile } from './given-files.ts';

/** A file in a crate that a run is to be given, and its name there. */
export interface WantedCrateFile {
  readonly crateId: string;
  readonly path: string;
  readonly name: string;
}

/** Finds files in crates, in the order asked for. Rejects where the caller may not have one of them. */
export type FindCrateFiles = (
  context: ToolContext,
  wanted: readonly WantedCrateFile[],
) => Promise<readonly OtherFile[]>;

export const crateFiles = z
  .array(
    z.strictObject({
      crate_id: z.string().regex(/^crate_[0-9a-f]{24}$/, 'a crate_id looks like crate_ and 24 hex digits'),
      path: z.string().min(1).max(4096),
      as: z.string().min(1).max(255).optional().describe('Its name there; default: the end of its path'),
    }),
  )
  .max(100)
  .optional()
  .describe('Files in crates to put into the working directory first');

/** Nothing is opened yet: a file is read while it is copied. */
export async function findCrateFiles(
  find: FindCrateFiles | undefined,
  context: ToolContext,
  asked: z.output<typeof crateFiles>,
): Promise<readonly OtherFile[]> {
  if (asked === undefined || asked.length === 0) return [];
  if (find === undefined)
    throw new WorkcrateError('unsupported', 'This server has no crates. Leave crate_files out.');
  if (!context.mayUse('crates'))
    throw new WorkcrateError(
      'forbidden',
      'Files of crates need the scope crates, which this key or token lacks. Ask the operator for one that has it.',
      { details: { scope: 'crates' } },
    );
  return find(
    context,
    asked.map(({ crate_id: crateId, path, as }) => ({
      crateId,
      path,
      name: as ?? path.slice(path.lastIndexOf('/') + 1),
    })),
  );
}
