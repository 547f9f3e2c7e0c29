/** Parts of schemas that several tools use, and answers that the tools share with `--json` on the command line. */
import { z } from 'zod';
import { toPlainJson } from '../../../platform/text/text.ts';
import { listAs } from '../../../core/offer/schema.ts';
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
export function toListingAnswer(crateId: string, { locator, total, files, next, unsafe }: CrateFileListing) {
  return {
    crate_id: crateId,
    resource_locator: locator,
    count: files.length,
    total,
    files: files.map(toFileAnswer),
    next,
    unsafe_names: unsafe,
  };
}

/** One file of a crate, as tools, `--json` and the list of all files give it. */
export const toFileAnswer = (file: CrateFileListing['files'][number]) => ({
  path: file.path,
  size: file.size,
  compressed_size: file.compressedSize,
  last_modified: file.modified === null ? null : new Date(file.modified).toISOString(),
});

export const crateIdSchema = listAs(
  z
    .string()
    .regex(/^crate_[0-9a-f]{24}$/, 'a crate_id looks like crate_ and 24 hex digits; search_index shows them'),
  { type: 'string' },
);

/** A whole number with a default; the description has to name bounds and default where they matter. */
export const makeCount = (least: number, most: number, fallback: number, description?: string) =>
  listAs(z.number().int().min(least).max(most).default(fallback), {
    type: 'integer',
    ...(description === undefined ? {} : { description }),
  });

/** How many to skip: the tools say with which offset to call again. */
export const offsetSchema = makeCount(0, 1_000_000_000, 0);

/** As it is, unless it could be taken for something else. */
export const formatLocator = (locator: string): string =>
  /^[\x21-\x7e]+$/.test(locator) ? locator : toPlainJson(locator);
