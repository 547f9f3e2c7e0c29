/** Parts of schemas that several tools use, and answers that the tools share with `--json` on the command line. */
import { z } from 'zod';
import type { CrateFileListing } from '../contents/contents.ts';
import type { SearchPage } from '../index/reading.ts';

/** The result of a search, as tools and `--json` give it. */
export function toSearchAnswer(query: string, { mode, total, results, facets, next, notes }: SearchPage) {
  const shown = results.map((found) => ({
    crate_id: found.crateId,
    title: found.title,
    description: found.description,
    resource_locator: found.locator,
    authors: [...found.authors],
    year: found.year,
    score: found.score,
    snippet: found.snippet,
    matched_in: [...found.matched],
  }));
  return { query, mode, total, count: shown.length, results: shown, facets, next_offset: next, notes };
}

/** The files of a crate, as tools and `--json` give them. */
export function toListingAnswer(crateId: string, { locator, count, files, next, unsafe }: CrateFileListing) {
  const shown = files.map((file) => ({
    path: file.path,
    size: file.size,
    compressed_size: file.compressedSize,
    last_modified: file.modified === null ? null : new Date(file.modified).toISOString(),
  }));
  return {
    crate_id: crateId,
    resource_locator: locator,
    count,
    files: shown,
    next_offset: next,
    unsafe_names: unsafe,
  };
}

export const crateIdSchema = z
  .string()
  .regex(/^crate_[0-9a-f]{24}$/, 'a crate_id looks like crate_ and 24 hex digits; search_index shows them');

export const memberPathSchema = z
  .string()
  .min(1)
  .max(4096)
  .describe('Its path in the crate, exactly as list_crate_files shows it');
