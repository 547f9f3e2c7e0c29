/**
 * The path policy: an allow-list of what may be asked of a client's project, and the check of what the client sends
 * back. Paths are text here, about a machine of any system. It opens nothing and follows no links:
 * `requests/direct.ts` does.
 */
import type { ClientPath } from '../client-file.ts';
import { createAllowList, findMissingAllowed, toRelativePath } from './allowed.ts';
import {
  checkAnswer,
  filterListing,
  type PathBase,
  type FilteredListing,
  type ListingOptions,
  type RawEntries,
} from './listing.ts';
import { pathNotAllowedError, parseRoot, oddPathError, type PathPurpose } from './refusal.ts';

export { checkAllowedSetting } from './allowed.ts';
export type { PathBase, FilteredListing, ListingOptions, RawEnd, RawEntries } from './listing.ts';
export { mayBeShortName, type PolicyKind, type PathPurpose } from './refusal.ts';

export interface PolicyOptions {
  /** The project's folder on the client's machine, as that writes it; null where nobody knows. */
  readonly root: string | null;
  /** What may be read, from the project's folder or absolute; null for the usual folders. */
  readonly read: readonly string[] | null;
  /** What may be listed; null for what may be read. */
  readonly list: readonly string[] | null;
}

/** The allow-list of a project: which of the client's paths may be asked for. */
export interface PathPolicy {
  /** The project's folder, without a slash at its end. */
  readonly root: string | null;
  /**
   * Takes a path from the project's folder, or an absolute one below it. One that leads out is `path_refused`, a
   * violation; one inside that is not allowed is `path_not_allowed`, a mistake.
   */
  judge(path: string, purpose: PathPurpose): ClientPath;
  /**
   * Takes a path that a client gave back; absolute ones are known as such. Null unless it is what was asked for, or
   * below it, and allowed.
   */
  judgeAnswer(asked: ClientPath, answered: string, purpose: PathPurpose, from?: PathBase): ClientPath | null;
  /** Filters what a client listed, and yields to other work meanwhile. */
  judgeListing(asked: ClientPath, entries: RawEntries, options: ListingOptions): Promise<FilteredListing>;
  /** Allowed paths that are not in this folder of this machine, to be warned of. */
  missingAllowed(root: string): string[];
}

const readSetting = 'filesystem.allowed_paths in its config file, or --client-paths';

/** Fails with `invalid_input` for a root that is none, and with `config_invalid` for an allowed path that is none. */
export function createPathPolicy(options: PolicyOptions): PathPolicy {
  const root = options.root === null ? null : parseRoot(options.root);
  const read = createAllowList(options.read, root);
  const allowed = { read, list: options.list === null ? read : createAllowList(options.list, root) };
  const settings = { read: readSetting, list: options.list === null ? readSetting : '--client-list-paths' };
  const placed = (relative: string) => ({ relative, absolute: root?.join(relative) ?? null });
  return {
    root: root?.text ?? null,
    judge(path, purpose) {
      const relative = toRelativePath(root, path);
      const kind = allowed[purpose].refuses(relative);
      if (kind === 'not_allowed')
        throw pathNotAllowedError(path, purpose, {
          allowed: allowed[purpose].paths,
          setting: settings[purpose],
        });
      if (kind === 'hidden') throw oddPathError(kind, path);
      return placed(relative);
    },
    judgeAnswer(asked, answered, purpose, from = 'root') {
      const verdict = checkAnswer({ root, allowed: allowed[purpose] }, asked, answered, from);
      return verdict.is === 'seen' ? placed(verdict.relative) : null;
    },
    judgeListing: (asked, entries, how) =>
      filterListing({ root, allowed: allowed.list }, asked, entries, how),
    missingAllowed: (folder) => findMissingAllowed(folder, [allowed.read, allowed.list]),
  };
}

/** What may be read and listed; null for the usual folders, and for what may be read. */
export type AllowedPaths = Pick<PolicyOptions, 'read' | 'list'>;

/** A project for which other paths are allowed than for the rest. */
export interface ProjectPaths {
  readonly root: string;
  readonly read: readonly string[];
}

/** Finds what is allowed in a project: what was set for its folder, else what was set for all. */
export function createPathsByProject(
  usual: AllowedPaths,
  projects: readonly ProjectPaths[],
): (root: string | null) => AllowedPaths {
  const byRoot = new Map(projects.map(({ root, read }) => [parseRoot(root).text, { read, list: null }]));
  return (root) => (root === null ? undefined : byRoot.get(parseRoot(root).text)) ?? usual;
}

/** The paths that may be read in a project, absolute and without a slash at their ends. */
export function listAbsoluteAllowed(root: string, paths: readonly string[] | null): string[] {
  const folder = parseRoot(root);
  return createAllowList(paths, folder).paths.map((path) => folder.join(path === '.' ? '' : path));
}
