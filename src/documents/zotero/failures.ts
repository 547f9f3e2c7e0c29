import { WorkcrateError } from '../../errors.ts';
import type { Address } from './address.ts';

/** `retryAfter` in seconds, where the library said when to come back. */
export function unreachable(why: string, retryAfter: number | null = null): WorkcrateError {
  const when = retryAfter === null ? 'Try again later' : `Try again in ${retryAfter} seconds`;
  return new WorkcrateError(
    'library_unreachable',
    `The Zotero library could not be read: ${why}. ${when}, or give the references as bibliographyContent.`,
    { details: retryAfter === null ? {} : { retryAfter } },
  );
}

export function refused({ isLocal, library, key }: Address, status: number): WorkcrateError {
  const advice = isLocal
    ? 'In Zotero, under Settings, Advanced, allow other applications on this computer to communicate with Zotero.'
    : `The operator is to give --zotero-key a key that may read ${library}${key === null ? '; none is set' : ''}.`;
  return new WorkcrateError('library_refused', `Zotero does not let us in (${status}). ${advice}`);
}

export const noLibrary = ({ library }: Address): WorkcrateError =>
  new WorkcrateError(
    'not_found',
    `Zotero knows no library ${library}, or not this collection of it. The operator can look at --zotero-library.`,
  );

export const notTaken = ({ isLocal }: Address): WorkcrateError =>
  new WorkcrateError(
    'invalid_input',
    `Zotero does not take this search. Types of items are named such as journalArticle, book or webpage.${
      isLocal ? ' On this computer only the library of who is signed in can be read: users/0.' : ''
    }`,
  );

export const tooMany = (what: string, most: number): WorkcrateError =>
  new WorkcrateError('too_large', `${what}: at most ${most} can be had at once. Ask for fewer.`);
