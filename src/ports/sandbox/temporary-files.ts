/**
 * Files that code left in its home or temporary folder, which go with it: what a backend tells of them. Where a process of
 * ours is inside, that looks (`temporary.py`); where there is none, `listTemporaryFiles` does.
 */
import { isWorkcrateError } from '../../platform/errors.ts';
import { openBelow, rootPath, type TreeEnd, type TreeEntry } from '../../platform/paths/paths.ts';

/** `/tmp` and `~` as they are inside; `$TMPDIR` where `/tmp` is that of the machine. */
export interface TemporaryFiles {
  readonly files: readonly { readonly path: string; readonly size: number }[];
  /** How many there were beside these. */
  readonly more: number;
  /** False where there may be more still. */
  readonly complete: boolean;
}

const noTemporaryFiles: TemporaryFiles = { files: [], more: 0, complete: true };

const maxTemporaryEntries = 2000;
const maxTemporaryDepth = 16;
const maxNamedTemporaryFiles = 20;
const maxTemporaryPathLength = 300;

type ToldFile = TemporaryFiles['files'][number];

const isAmount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

function isToldFile(value: unknown): value is ToldFile {
  const { path, size } = (value ?? {}) as Partial<Record<keyof ToldFile, unknown>>;
  return typeof path === 'string' && path.length <= maxTemporaryPathLength && isAmount(size);
}

/** What was told inside, which is not to be trusted. Null is told where there are none. */
export function readToldTemporaryFiles(told: unknown): TemporaryFiles | null {
  if (told === null) return noTemporaryFiles;
  const { files, more, complete } = (told ?? {}) as Partial<Record<keyof TemporaryFiles, unknown>>;
  if (!Array.isArray(files) || files.length > maxNamedTemporaryFiles || !files.every(isToldFile)) return null;
  if (!isAmount(more) || typeof complete !== 'boolean') return null;
  return { files: files.map(({ path, size }) => ({ path, size })), more, complete };
}

/** What interpreters and their libraries keep for themselves, and what is hidden, as in temporary.py. */
const cacheName = /(?:^|\/)(?:\.|__pycache__|matplotlib-|node-compile-cache|pymp-|v8-compile-cache)[^/]*$/;

/** Looks into the folders of a run that has ended, by how they are called. Null where they cannot be read. */
export function listTemporaryFiles(folders: Readonly<Record<string, string>>): TemporaryFiles | null {
  const found: { path: string; size: number }[] = [];
  let complete = true;
  for (const [shown, folder] of Object.entries(folders)) {
    const end = listTemporaryFolder(folder, (path, size) => found.push({ path: `${shown}/${path}`, size }));
    if (end === null) return null;
    complete &&= !end.cut && end.unreadable + end.unentered === 0;
  }
  const files = found.toSorted((a, b) => (a.path < b.path ? -1 : 1)).slice(0, maxNamedTemporaryFiles);
  return {
    files: files.map(({ path, size }) => ({ path: path.slice(0, maxTemporaryPathLength), size })),
    more: found.length - files.length,
    complete,
  };
}

function listTemporaryFolder(folder: string, tell: (path: string, size: number) => void): TreeEnd | null {
  const enters = (name: string): boolean => !cacheName.test(name);
  try {
    const steps: Generator<TreeEntry, TreeEnd> = openBelow(folder).tree(rootPath, {
      mostEntries: maxTemporaryEntries,
      mostDepth: maxTemporaryDepth,
      enters,
    });
    for (;;) {
      const step = steps.next();
      if (step.done === true) return step.value;
      const { path, stats } = step.value;
      if (path !== null && stats.isFile() && !cacheName.test(path)) tell(path, Number(stats.size));
    }
  } catch (error) {
    if (isWorkcrateError(error, 'path_refused') || isWorkcrateError(error, 'path_not_found')) return null;
    throw error;
  }
}
