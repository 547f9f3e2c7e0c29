import type { ClientEntry } from '../bridge.ts';

/** An entry in its place in the tree. */
export interface TreeNode extends ClientEntry {
  readonly name: string;
  /** What is in it, where folders were gone into. */
  children?: TreeNode[];
}

/** What is in a folder follows it at once: `a`, `a/b`, `a.md`. */
export function inTreeOrder(entries: readonly ClientEntry[]): ClientEntry[] {
  return entries
    .map((entry) => ({ entry, key: entry.path.replaceAll('/', '\0') }))
    .sort((a, b) => (a.key < b.key ? -1 : 1))
    .map(({ entry }) => entry);
}

/**
 * Every entry, in the order of a tree, with the folders above it before the first of what is in them: also those that a
 * pattern left out, since a name alone does not tell where it is.
 */
export function* withFolders(folder: string, entries: readonly ClientEntry[]): Generator<ClientEntry> {
  const seen = new Set<string>();
  const start = folder === '' ? 0 : folder.length + 1;
  for (const entry of entries) {
    for (let at = entry.path.indexOf('/', start); at > 0; at = entry.path.indexOf('/', at + 1)) {
      const path = entry.path.slice(0, at);
      if (!seen.has(path)) yield { path, type: 'folder', size: null, mtime: null };
      seen.add(path);
    }
    seen.add(entry.path);
    yield entry;
  }
}

/** The same as a tree. Takes entries as `withFolders` gives them. */
export function buildTree(entries: readonly ClientEntry[]): TreeNode[] {
  const top: TreeNode[] = [];
  const nodes = new Map<string, TreeNode>();
  for (const entry of entries) {
    const above = nodes.get(entry.path.slice(0, Math.max(0, entry.path.lastIndexOf('/'))));
    const node: TreeNode = { ...entry, name: nameOf(entry) };
    if (above === undefined) top.push(node);
    else (above.children ??= []).push(node);
    nodes.set(entry.path, node);
  }
  return top;
}

export const nameOf = ({ path }: ClientEntry): string => path.slice(path.lastIndexOf('/') + 1);
