/**
 * Which files a run changed, in its working directory and in /artifacts: what to compare, and how the results are
 * merged within a limit. The comparison itself is in `artifacts/changes.ts`, which `server/` hands in.
 */
import { rootPath, type Components } from '../paths/paths.ts';
import type { Workspace } from '../sandbox/sandbox.ts';
import type { Difference } from './fields.ts';
import { isTemporary, type InsideFolder } from './working-dir.ts';

const changeKinds = ['created', 'modified', 'deleted'] as const;

/** How the files of a folder are compared (artifacts/changes.ts). */
export interface Changes {
  /** `directory` is trusted, the way from there is not. */
  snapshot(directory: string, below: Components): unknown;
  difference(
    before: unknown,
    after: unknown,
  ): Difference & { readonly omitted: Readonly<Record<(typeof changeKinds)[number], number>> };
}

/** Names of each kind in a result, and the bytes that all of them take as JSON. */
const maxDiffNames = 1000;
const maxDiffBytes = 64 * 1024;

interface ComparedFolder {
  readonly base: string;
  readonly below: Components;
  /** The prefix of the names of its files. */
  readonly prefix: string;
}

/** Looks at the working folder and at /artifacts, and gives a function that tells what has changed since. */
export async function startComparison(
  changes: Changes,
  place: Workspace,
  folder: InsideFolder,
): Promise<() => Promise<Difference>> {
  const compared = listComparedFolders(place, folder);
  const look = (): Promise<unknown[]> =>
    Promise.all(compared.map(({ base, below }) => changes.snapshot(base, below)));
  const before = await look();
  return async () => {
    const after = await look();
    return mergeDifferences(
      compared.map(({ prefix }, at) => prefixNames(changes.difference(before[at], after[at]), prefix)),
    );
  };
}

/** /artifacts is looked at too, unless the working folder is in it; /tmp and the home folder are gone with the run. */
function listComparedFolders(place: Workspace, folder: InsideFolder): ComparedFolder[] {
  const { root, below } = folder;
  const working = isTemporary(root) ? [] : [{ base: place[root], below, prefix: '' }];
  if (root === 'artifacts') return working;
  return [...working, { base: place.artifacts, below: rootPath, prefix: '/artifacts/' }];
}

function prefixNames(found: ReturnType<Changes['difference']>, prefix: string): Difference {
  const names = (kind: (typeof changeKinds)[number]): string[] => found[kind].map((name) => prefix + name);
  const omitted = changeKinds.some((kind) => found.omitted[kind] > 0);
  return {
    created: names('created'),
    modified: names('modified'),
    deleted: names('deleted'),
    complete: found.complete && !omitted,
  };
}

function mergeDifferences(parts: readonly Difference[]): Difference {
  let left = maxDiffBytes;
  const fits = (name: string): boolean => (left -= Buffer.byteLength(JSON.stringify(name))) >= 0;
  const listed = (kind: (typeof changeKinds)[number]): string[] => {
    const names = parts.flatMap((part) => part[kind]).slice(0, maxDiffNames);
    return names.slice(0, countWhile(names, fits));
  };
  const names = { created: listed('created'), modified: listed('modified'), deleted: listed('deleted') };
  const isWhole = changeKinds.every(
    (kind) => names[kind].length === parts.reduce((count, part) => count + part[kind].length, 0),
  );
  return { ...names, complete: isWhole && parts.every((part) => part.complete) };
}

function countWhile(names: readonly string[], holds: (name: string) => boolean): number {
  const end = names.findIndex((name) => !holds(name));
  return end === -1 ? names.length : end;
}
