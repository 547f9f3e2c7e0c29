/** What a run did to the files of its folders, as it is recorded and told. How that is found out is in `folder-diff.ts`. */
import { z } from 'zod';
import { formatBytes } from '../text.ts';

/** Which files changed. Not `complete` where there were too many to compare or to name. */
export interface Difference {
  readonly created: readonly string[];
  readonly modified: readonly string[];
  readonly deleted: readonly string[];
  readonly complete: boolean;
  /** Where the run was stopped for the disk space that it took; else null. */
  readonly removed: RemovedSpace | null;
}

/** Files that a run had made, and that the server removed. Not `complete` where some may be left. */
export interface RemovedSpace {
  readonly files: number;
  readonly bytes: number;
  readonly complete: boolean;
}

export const noDifference: Difference = {
  created: [],
  modified: [],
  deleted: [],
  complete: true,
  removed: null,
};

/** Of a run at whose end nobody looked. */
export const unseenDifference: Difference = { ...noDifference, complete: false };

export const differenceShape = z.object({
  created: z.array(z.string()),
  modified: z.array(z.string()),
  deleted: z.array(z.string()),
  complete: z.boolean().describe('False where there may be more changes than are named'),
  removed: z
    .object({ files: z.number().int(), bytes: z.number(), complete: z.boolean() })
    .nullable()
    .describe('What it had made and was removed since it took too much of the disk'),
});

export function showDifference({ created, modified, deleted, complete, removed }: Difference) {
  return {
    created: [...created],
    modified: [...modified],
    deleted: [...deleted],
    complete,
    removed: removed && { ...removed },
  };
}

/** In a sentence or two; none where nothing had to be removed. */
export function describeRemoved({ removed }: Pick<Difference, 'removed'>): string[] {
  if (removed === null) return [];
  const { files, bytes, complete } = removed;
  if (files === 0) return ['Nothing that it made was removed. Delete what you do not need.'];
  const some = files === 1 ? '1 file' : `${files} files`;
  return [
    `Removed, so that the disk is free again: ${some} that it had made (${formatBytes(bytes)}).`,
    ...(complete ? [] : ['Not all that it made was removed. Delete what you do not need.']),
  ];
}
