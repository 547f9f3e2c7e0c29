import { createAllowed } from './allowed.ts';
import type { PolicyOptions } from './policy.ts';
import { parseRoot } from './root.ts';

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
export function absoluteAllowed(root: string, paths: readonly string[] | null): string[] {
  const folder = parseRoot(root);
  return createAllowed(paths, folder).paths.map((path) => folder.join(path === '.' ? '' : path));
}
