import type { SearchPage } from '../index/reading.ts';
import type { Listing } from '../inside/inside.ts';

/** What a search found, as tools and `--json` tell it. */
export function shownPage(query: string, { mode, total, results, facets, next, notes }: SearchPage) {
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

/** What a crate holds, as tools and `--json` tell it. */
export function shownListing(crateId: string, { locator, count, files, next, unsafe }: Listing) {
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
