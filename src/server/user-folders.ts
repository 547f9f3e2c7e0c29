/**
 * What the folders of users take on disk: /workspace, /artifacts and packages. They are walked through `platform/paths/`,
 * since code of users wrote them, and in slices, since they may hold millions of files.
 */
import { BoundedMap } from '../platform/concurrency/bounded-map.ts';
import { runInSlices } from '../platform/concurrency/yield.ts';
import { isWorkcrateError } from '../platform/errors.ts';
import { openBelow } from '../platform/paths/paths.ts';
import type { Workspaces } from '../core/workspaces/workspaces.ts';

/** In bytes; null where something cannot be counted, or there is too much of it. */
export interface FolderSizes {
  readonly workspace: number | null;
  readonly artifacts: number | null;
  readonly packages: number | null;
}

/** What runs left there is walked without following a link of theirs. */
export async function measureFolder(folder: string, mostEntries: number): Promise<number | null> {
  try {
    const { isCut, bytes } = await runInSlices(openBelow(folder).space(mostEntries), {});
    return isCut || bytes === Infinity ? null : bytes;
  } catch (error) {
    if (isWorkcrateError(error, 'path_not_found')) return 0;
    if (isWorkcrateError(error, 'path_refused')) return null;
    throw error;
  }
}

/** Somebody waits for the page. */
const mostEntriesOfFolder = 50_000;
const freshMs = 60_000;

export type MeasureFolders = (user: string) => Promise<FolderSizes>;

/** Measures the folders of a user, at most once a minute. */
export function createFolderMeter({ find }: Pick<Workspaces, 'find'>): MeasureFolders {
  const known = new BoundedMap<string, { readonly at: number; readonly sizes: Promise<FolderSizes> }>({
    mostEntries: 10_000,
  });

  async function measure(user: string): Promise<FolderSizes> {
    const place = await find(user);
    const sizeOf = (folder: string | null | undefined) =>
      typeof folder === 'string' ? measureFolder(folder, mostEntriesOfFolder) : 0;
    return {
      workspace: await sizeOf(place?.workspace),
      artifacts: await sizeOf(place?.artifacts),
      packages: await sizeOf(place?.packages),
    };
  }

  return (user) => {
    const found = known.use(user);
    if (found && performance.now() - found.at < freshMs) return found.sizes;
    const sizes = measure(user);
    known.set(user, { at: performance.now(), sizes });
    sizes.catch(() => known.delete(user));
    return sizes;
  };
}
