import { WorkcrateError } from '../../errors.ts';

const mostResults = 100;
export const mostOffset = 10_000;

interface Paging {
  readonly limit: number;
  readonly offset: number;
}

/** A page is found with all that come before it, so there is an end to them. */
export function boundPaging({ limit, offset }: Paging): Paging {
  if (offset >= 0 && offset <= mostOffset) return { limit: Math.min(limit, mostResults), offset };
  throw new WorkcrateError(
    'invalid_input',
    `offset must be from 0 to ${mostOffset}. To see further crates, narrow the search down.`,
  );
}
