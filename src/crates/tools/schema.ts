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
  return {
    crate_id: crateId,
    resource_locator: locator,
    count,
    files: files.map(toFileAnswer),
    next_offset: next,
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

/*
 * The checks below are not in the JSON schemas: patterns and lengths cost tokens in every conversation, and several
 * clients drop them. Their messages say what is wanted.
 */

export const crateIdSchema = z
  .string()
  .refine(
    (id) => /^crate_[0-9a-f]{24}$/.test(id),
    'a crate_id looks like crate_ and 24 hex digits; search_index shows them',
  );

/** Text of at least one character. */
export const textSchema = (most: number) =>
  z.string().refine(({ length }) => length >= 1 && length <= most, `takes text of 1 to ${most} characters`);

export const memberPathSchema = textSchema(4096).describe('Exactly as list_crate_files shows it');

/** A whole number within bounds, which the description of its field has to name where they matter. */
export const wholeNumberSchema = (least: number, most: number, fallback: number) =>
  z
    .number()
    .refine(
      (number) => Number.isInteger(number) && number >= least && number <= most,
      `takes a whole number from ${least} to ${most}`,
    )
    .default(fallback);

/** How many to skip: the tools say with which offset to call again. */
export const offsetSchema = wholeNumberSchema(0, 1_000_000_000, 0);
