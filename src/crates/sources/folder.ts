import type { BigIntStats } from 'node:fs';
import { errnoOf, isWorkcrateError, WorkcrateError } from '../../errors.ts';
import { here, joined, parseName, type Components, type Root } from '../../paths/paths.ts';
import { sourceUnreachable, type SourceObject } from '../../storage/source.ts';

/** A directory that is a source. */
export interface Folder {
  readonly url: string;
  readonly directory: string;
  readonly root: Root;
}

/** Names of files are any that the kernel allows, and mean nothing else than they say. */
export const componentsOf = (name: string): Components =>
  joined(here, ...name.split('/').map((part) => parseName(part)));

export const objectOf = (name: string, stats: BigIntStats): SourceObject => ({
  name,
  size: Number(stats.size),
  modified: Number(stats.mtimeNs / 1_000_000n),
  stamp: stampOf(stats),
});

/** The inode tells of a file that took another's place, the second time of one whose first was set back. */
export const stampOf = ({ size, mtimeNs, ctimeNs, ino }: BigIntStats): string =>
  [size, mtimeNs, ctimeNs, ino].map((part) => part.toString(36)).join('-');

/** Null for what is not there; but where the folder itself is gone, that is what is told. */
export function absentIn({ root }: Folder): null {
  root.stat(here);
  return null;
}

/** Nothing there, or nothing that is to be had: a link, a device, a name that is too long. */
export function isAbsence(error: unknown): boolean {
  if (isWorkcrateError(error, 'path_not_found')) return true;
  return isWorkcrateError(error, 'path_refused') && !passing.has(String(error.details['kind']));
}

const passing = new Set(['denied', 'busy', 'changed']);

/** What a failure means for the source as a whole. */
export function folderFailure({ url }: Folder, error: unknown): unknown {
  if (isWorkcrateError(error, 'path_not_found'))
    return sourceUnreachable(
      url,
      'There is no such folder. See that it is mounted, and check the path.',
      error,
    );
  if (isWorkcrateError(error, 'path_refused') && error.details['kind'] === 'not_folder')
    return sourceUnreachable(url, 'It is no folder. Name the folder that the crates are in.', error);
  if (isWorkcrateError(error, 'path_refused') || isWorkcrateError(error, 'storage_failed'))
    return sourceUnreachable(url, error.message, error);
  return errnoOf(error) === null || error instanceof WorkcrateError
    ? error
    : sourceUnreachable(url, `The filesystem answered ${errnoOf(error)}.`, error);
}
