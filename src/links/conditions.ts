import type { IncomingHttpHeaders } from 'node:http';

/** What a response can be compared with: a strong ETag, and when the content was made. */
export interface Validators {
  readonly etag: string;
  readonly modified: number;
}

export type Verdict = 'send' | 'not_modified' | 'failed';

/** Judges the conditions of a GET or HEAD in the order of RFC 9110, 13.2.2. */
export function judgeConditions(headers: IncomingHttpHeaders, { etag, modified }: Validators): Verdict {
  const match = headers['if-match'];
  if (match !== undefined) {
    if (!listsTag(match, etag, 'strong')) return 'failed';
  } else {
    const unmodifiedSince = httpDate(headers['if-unmodified-since']);
    if (unmodifiedSince !== null && seconds(modified) > unmodifiedSince) return 'failed';
  }
  const noneMatch = headers['if-none-match'];
  if (noneMatch !== undefined) return listsTag(noneMatch, etag, 'weak') ? 'not_modified' : 'send';
  const modifiedSince = httpDate(headers['if-modified-since']);
  return modifiedSince !== null && seconds(modified) <= modifiedSince ? 'not_modified' : 'send';
}

/** Whether the content is still the one that an If-Range means. Without If-Range it is. */
export function rangeStillApplies(headers: IncomingHttpHeaders, { etag, modified }: Validators): boolean {
  const condition = headers['if-range'];
  if (condition === undefined) return true;
  if (typeof condition !== 'string') return false;
  if (/^\s*(?:W\/)?"/.test(condition)) return condition.trim() === etag;
  return httpDate(condition) === seconds(modified);
}

function listsTag(list: string, etag: string, comparison: 'strong' | 'weak'): boolean {
  if (list.trim() === '*') return true;
  const tags = list.match(/(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"/g) ?? [];
  return tags.some((tag) => (comparison === 'weak' ? tag.replace(/^W\//, '') : tag) === etag);
}

const seconds = (milliseconds: number): number => Math.floor(milliseconds / 1000) * 1000;

/** A date in a header; one that cannot be read counts as absent, as the RFC has it. */
function httpDate(value: string | undefined): number | null {
  if (value === undefined || !/^[A-Z][a-z]{2,8},? /.test(value)) return null;
  const time = Date.parse(value);
  return Number.isNaN(time) ? null : time;
}
